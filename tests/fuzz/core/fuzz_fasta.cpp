// FASTA text: strings and labels lie one after the other within their letters.
#include "base/check.hpp"
#include "fuzz.hpp"
#include "rows/fasta.hpp"

using namespace maxmargin;

namespace {

template <class Index>
void check_starts(const std::vector<Index>& starts, std::size_t end) {
  require(!starts.empty() && starts[0] == 0, "the first string begins at 0");
  for (std::size_t k = 1; k < starts.size(); ++k)
    require(starts[k - 1] <= starts[k], "starts do not decrease");
  require(static_cast<std::size_t>(starts.back()) == end, "the last string ends at the end");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  Input input(bytes, size);
  const bool labelled = input.byte() & 1;
  const Exact exact(input.rest());
  try {
    const FastaRows rows = read_fasta(exact.text(), labelled);
    check_starts(rows.starts, rows.letters.size());
    check_starts(rows.label_starts, rows.labels.size());
    if (labelled)
      require(rows.label_starts.size() == rows.starts.size(), "a label for each string");
  } catch (const InvalidInput&) {
  }
  return 0;
}
