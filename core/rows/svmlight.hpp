// svmlight / LIBSVM text to CSR rows and back:
//
//   label [qid:number] index:value index:value ...  [# comment]
//
// one row a line, indices increasing along the line. Lines end with \n or \r\n, the last one need
// not; blank lines and lines that are all comment are skipped.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "base/array.hpp"
#include "base/parallel.hpp"
#include "rows/rows.hpp"
#include "rows/text.hpp"

namespace maxmargin {

template <class Value, class Index>
struct SvmlightRows {
  std::size_t d = 0;   // features
  int index_base = 1;  // the number the text gives to the first feature: 0 or 1
  Array<double> labels;
  std::optional<Array<std::int64_t>> qid;
  Array<Value> values;
  Array<Index> indices;  // from 0, whatever the base of the text
  Array<Index> starts;   // n + 1 of them
};

// int32 unless the number of features or of entries needs more.
template <class Value>
using SvmlightData =
    std::variant<SvmlightRows<Value, std::int32_t>, SvmlightRows<Value, std::int64_t>>;

struct SvmlightOptions {
  std::optional<int> index_base;                    // unknown: 0 if any index is 0, otherwise 1
  std::optional<std::uint64_t> n_features;          // unknown: as many as the largest index needs
  std::size_t longest_line = std::size_t{1} << 26;  // longer ones are refused: what they cost is
                                                    // not known before they end
};

// Throws InvalidInput with "LINE: found ...; expected ...; remedy" for the first fault of the text.
template <class Value>
SvmlightData<Value> read_svmlight(const Text& text, const SvmlightOptions& options, Pool& pool);

// Rows [range.begin, range.end) as text that reads back bit for bit. Zeros of dense rows are left
// out; zeros stored in sparse rows are kept. qid may be null.
std::string write_svmlight(const Rows& rows, const double* labels, const std::int64_t* qid,
                           int index_base, Range range, Pool& pool);

}  // namespace maxmargin
