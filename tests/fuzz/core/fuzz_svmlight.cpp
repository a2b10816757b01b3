// svmlight text: whatever is read is sound, agrees with the quick scan, and reads back bit for bit.
#include <cstring>

#include "fuzz.hpp"
#include "rows/svmlight.hpp"
#include "rows/svmlight_scan.hpp"

using namespace maxmargin;

namespace {

template <class T>
bool equal(const Array<T>& a, const Array<T>& b) {
  return a.size() == b.size() &&
         (a.size() == 0 || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class Value, class Index>
void check_rows(const SvmlightRows<Value, Index>& rows, std::string_view text, Pool& pool) {
  const std::size_t n = rows.labels.size();
  require(rows.starts.size() == n + 1 && rows.starts[0] == 0, "n + 1 row starts");
  require(static_cast<std::size_t>(rows.starts[n]) == rows.values.size(), "starts end at the end");
  require(rows.indices.size() == rows.values.size(), "an index for each value");
  require(!rows.qid || rows.qid->size() == n, "a query for each row");
  check_structure(rows.starts.data(), n, rows.indices.data(), rows.values.size(), rows.d, pool);
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // blocks begin after the mark
  const SvmlightScan scan = scan_svmlight(text, pool);
  require(scan.rows == n, "the scan counts the rows");
  require(scan.entries >= rows.values.size(), "the scan bounds the entries");

  SparseRows<Value, Index> view{Shape{n, rows.d, 0}, rows.values.data(), rows.indices.data(),
                                rows.starts.data()};
  const std::string again =
      write_svmlight(Rows(view), rows.labels.data(), rows.qid ? rows.qid->data() : nullptr,
                     rows.index_base, {0, n}, pool);
  const SvmlightData<Value> back =
      read_svmlight<Value>(Text(std::string_view(again)), {rows.index_base, rows.d}, pool);
  const auto* same = std::get_if<SvmlightRows<Value, Index>>(&back);
  require(same && equal(same->labels, rows.labels) && equal(same->values, rows.values) &&
              equal(same->indices, rows.indices) && equal(same->starts, rows.starts),
          "what is written reads back bit for bit");
}

template <class Value>
void read(std::string_view text, const SvmlightOptions& options, Pool& pool) {
  const SvmlightData<Value> data = read_svmlight<Value>(Text(text), options, pool);
  std::visit([&](const auto& rows) { check_rows(rows, text, pool); }, data);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  Input input(bytes, size);
  const std::uint8_t choice = input.byte();
  SvmlightOptions options;
  if (choice & 1) options.index_base = choice >> 1 & 1;
  if (choice & 4) options.n_features = choice >> 4;
  const Exact exact(input.rest());
  Pool pool(1);
  try {
    if (choice & 8)
      read<float>(exact.text(), options, pool);
    else
      read<double>(exact.text(), options, pool);
  } catch (const InvalidInput&) {
  }
  scan_svmlight(exact.text(), pool);
  return 0;
}
