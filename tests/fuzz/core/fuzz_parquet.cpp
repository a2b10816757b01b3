// Footers and heads of pages of Parquet files: what is read lies inside the data.
#include "base/check.hpp"
#include "fuzz.hpp"
#include "rows/parquet.hpp"

using namespace maxmargin;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  Input input(bytes, size);
  const bool is_footer = input.byte() & 1;
  const Exact exact(input.rest());
  try {
    if (is_footer) {
      const ParquetFooter footer = read_parquet_footer(exact.text());
      for (const auto& columns : footer.row_groups)
        require(columns.size() == footer.is_text.size(),
                "a row group has the columns of the table");
    } else if (const auto page = read_parquet_page(exact.text())) {
      require(0 < page->head && page->head <= exact.text().size(), "a head lies inside the data");
      require(page->packed >= 0 && page->unpacked >= 0, "sizes are not negative");
    }
  } catch (const InvalidInput&) {
  }
  return 0;
}
