// What a Parquet file says of its columns and pages, read without unpacking any of them.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace maxmargin {

// A column in a row group.
struct ParquetColumn {
  std::int32_t codec = -1;
  std::int64_t values = -1;
  std::int64_t packed = -1;      // bytes in the file
  std::int64_t first_page = -1;  // where its pages of values begin
  std::int64_t dictionary = 0;   // and its dictionary, if it has one
};

struct ParquetFooter {
  std::vector<bool> is_text;  // for each column of the table: values of any length
  std::vector<std::vector<ParquetColumn>> row_groups;
};

// Throws InvalidInput where it is incomplete or makes no sense.
ParquetFooter read_parquet_footer(std::string_view footer);

// The head of a page.
struct ParquetPage {
  std::int32_t kind = -1;
  std::int32_t unpacked = -1, packed = -1;  // bytes of its content
  std::int32_t values = 0;
  std::int32_t encoding = 0;
  std::size_t head = 0;  // bytes of the head itself
};

// Nothing if the head goes on beyond the data; throws InvalidInput where it makes no sense.
std::optional<ParquetPage> read_parquet_page(std::string_view data);

}  // namespace maxmargin
