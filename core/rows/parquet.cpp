#include "rows/parquet.hpp"

#include "rows/thrift.hpp"

namespace maxmargin {

namespace {

using Type = ThriftReader;

constexpr std::int32_t kByteArray = 6, kFixedLengthByteArray = 7;
constexpr std::int32_t kSecondVersion = 3;  // kind of page

// Fields by their numbers in parquet.thrift.
ParquetColumn read_column_metadata(ThriftReader& reader, ParquetColumn column) {
  reader.each_field([&](int number, int type) {
    if (number == 4 && type == Type::i32)
      column.codec = reader.integer32();
    else if (number == 5 && type == Type::i64)
      column.values = reader.integer();
    else if (number == 7 && type == Type::i64)
      column.packed = reader.integer();
    else if (number == 9 && type == Type::i64)
      column.first_page = reader.integer();
    else if (number == 11 && type == Type::i64)
      column.dictionary = reader.integer();
    else
      return false;
    return true;
  });
  return column;
}

ParquetColumn read_column(ThriftReader& reader) {
  ParquetColumn column;
  reader.each_field([&](int number, int type) {
    if (number != 3 || type != Type::structure) return false;
    column = read_column_metadata(reader, column);
    return true;
  });
  check(column.codec >= 0 && column.values >= 0 && column.packed >= 0 && column.first_page >= 0,
        "its footer is incomplete");
  return column;
}

std::vector<ParquetColumn> read_row_group(ThriftReader& reader) {
  std::vector<ParquetColumn> columns;
  reader.each_field([&](int number, int type) {
    if (number != 1 || type != Type::list) return false;
    columns.clear();
    reader.each_struct([&] { columns.push_back(read_column(reader)); });
    return true;
  });
  return columns;
}

struct SchemaElement {
  std::int32_t type = -1, children = 0;
};

SchemaElement read_schema_element(ThriftReader& reader) {
  SchemaElement element;
  reader.each_field([&](int number, int type) {
    if ((number != 1 && number != 5) || type != Type::i32) return false;
    (number == 1 ? element.type : element.children) = reader.integer32();
    return true;
  });
  return element;
}

// The leaves of the tree are the columns; the first element is its root.
std::vector<bool> read_schema(ThriftReader& reader) {
  std::vector<bool> is_text;
  bool is_root = true;
  reader.each_struct([&] {
    const SchemaElement element = read_schema_element(reader);
    if (!is_root && element.children == 0)
      is_text.push_back(element.type == kByteArray || element.type == kFixedLengthByteArray);
    is_root = false;
  });
  return is_text;
}

struct PageValues {
  std::int32_t values = 0, encoding = 0;
};

PageValues read_page_values(ThriftReader& reader, PageValues page, int number_of_encoding) {
  reader.each_field([&](int number, int type) {
    if ((number != 1 && number != number_of_encoding) || type != Type::i32) return false;
    (number == 1 ? page.values : page.encoding) = reader.integer32();
    return true;
  });
  return page;
}

}  // namespace

ParquetFooter read_parquet_footer(std::string_view footer) {
  ThriftReader reader(footer);
  ParquetFooter found;
  reader.each_field([&](int number, int type) {
    if ((number != 2 && number != 4) || type != Type::list) return false;
    if (number == 2) {
      found.is_text = read_schema(reader);
    } else {
      found.row_groups.clear();
      reader.each_struct([&] { found.row_groups.push_back(read_row_group(reader)); });
    }
    return true;
  });
  for (const auto& columns : found.row_groups)
    check(columns.size() == found.is_text.size(), "a row group has other columns than the table");
  return found;
}

std::optional<ParquetPage> read_parquet_page(std::string_view data) try {
  ThriftReader reader(data);
  ParquetPage page;
  PageValues first, second;
  reader.each_field([&](int number, int type) {
    if (number == 1 && type == Type::i32)
      page.kind = reader.integer32();
    else if (number == 2 && type == Type::i32)
      page.unpacked = reader.integer32();
    else if (number == 3 && type == Type::i32)
      page.packed = reader.integer32();
    else if (number == 5 && type == Type::structure)
      first = read_page_values(reader, first, 2);
    else if (number == 8 && type == Type::structure)
      second = read_page_values(reader, second, 4);
    else
      return false;
    return true;
  });
  check(page.unpacked >= 0 && page.packed >= 0, "it has a page without a size");
  const PageValues& of_kind = page.kind == kSecondVersion ? second : first;
  page.values = of_kind.values;
  page.encoding = of_kind.encoding;
  page.head = reader.at();
  return page;
} catch (const ThriftReader::Incomplete&) {
  return std::nullopt;
}

}  // namespace maxmargin
