#include <string>
#include <variant>
#include <vector>

#include "base/check.hpp"
#include "rows/numerals.hpp"
#include "rows/rows.hpp"
#include "rows/svmlight.hpp"
#include "tests/testing.hpp"

using namespace maxmargin;
using maxmargin::testing::near;

namespace {

SvmlightRows<double, std::int32_t> read(const std::string& text,
                                        const SvmlightOptions& options = {}) {
  Pool pool(2);
  return std::get<0>(read_svmlight<double>(Text(text), options, pool));
}

std::string message_of(const std::string& text) {
  try {
    read(text);
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST(svmlight_text_becomes_csr_rows) {
  const auto rows = read("1 1:0.5 3:-2\n\n# nothing\n-1 2:4e1 # the rest\n+1\n");
  CHECK(rows.labels.size() == 3);
  CHECK(rows.labels[0] == 1 && rows.labels[1] == -1 && rows.labels[2] == 1);
  CHECK(rows.d == 3 && rows.index_base == 1);
  CHECK(rows.starts[1] == 2 && rows.starts[2] == 3 && rows.starts[3] == 3);
  CHECK(rows.indices[0] == 0 && rows.indices[1] == 2 && rows.indices[2] == 1);
  CHECK(rows.values[1] == -2 && rows.values[2] == 40);
}

TEST(an_index_of_0_makes_text_zero_based) {
  const auto rows = read("1 0:1 2:1\n");
  CHECK(rows.index_base == 0 && rows.d == 3);
  CHECK(rows.indices[0] == 0 && rows.indices[1] == 2);
}

TEST(a_fault_is_reported_with_its_line) {
  CHECK(message_of("1 1:1\n1 2:x\n").starts_with("2: found '2:x'"));
  CHECK(message_of("1 3:1 2:1\n").find("increase along the line") != std::string::npos);
  CHECK(message_of("cat 1:1\n").find("found label 'cat'") != std::string::npos);
  CHECK(message_of("1 qid:1 1:1\n1 1:1\n").starts_with("2: "));
}

TEST(rows_written_as_text_read_back_bit_for_bit) {
  const std::vector<double> values = {0.1, -1e-300, 3, 0, 2.0 / 3, 5};
  DenseRows<double> dense{{2, 3, 0.0}, values.data(), 3};
  const std::vector<double> labels = {1, -1};
  Pool pool(1);
  const std::string text = write_svmlight(Rows(dense), labels.data(), nullptr, 1, {0, 2}, pool);
  const auto rows = read(text, {.index_base = 1, .n_features = 3});
  CHECK(rows.starts[1] == 3 && rows.starts[2] == 5);  // zeros of dense rows are left out
  CHECK(rows.values[0] == 0.1 && rows.values[1] == -1e-300 && rows.values[3] == 2.0 / 3);
}

TEST(numerals_are_read_as_the_library_reads_them) {
  for (const std::string text :
       {"0.1", "-123456789012345678", "1e-400", "3.5E2", "1e23", "00.50"}) {
    double value = 0, expected = std::strtod(text.c_str(), nullptr);
    const std::string padded = text + " ";
    const char* rest = read_number(padded.data(), padded.data() + padded.size(), value);
    CHECK(rest == padded.data() + text.size());
    CHECK(value == expected);
  }
}

TEST(every_view_shows_the_same_entries) {
  const std::vector<double> by_rows = {1, 0, 2, 3, 4, 5}, by_columns = {1, 3, 0, 4, 2, 5};
  const std::vector<double> values = {1, 2, 3, 4, 5};
  const std::vector<std::int32_t> indices = {0, 2, 0, 1, 2}, starts = {0, 2, 5};
  const DenseRows<double> dense{{2, 3, 0.0}, by_rows.data(), 3};
  const ColumnRows<double> columns{{2, 3, 0.0}, by_columns.data(), 2};
  const SparseRows<double, std::int32_t> sparse{
      {2, 3, 0.0}, values.data(), indices.data(), starts.data()};
  const auto sum = [](const auto& rows, std::size_t i) {
    double total = 0;
    rows.each(i, [&](std::size_t j, double x) { total += x * static_cast<double>(10 * j + 1); });
    return total;
  };
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(sum(dense, i) == sum(columns, i));
    CHECK(sum(dense, i) == sum(sparse, i));
  }
  CHECK(sum(sparse.subsample(2), 0) == sum(sparse, 0));
  CHECK(sparse.subsample(2).n == 1);
}
