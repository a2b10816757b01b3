#include <charconv>
#include <string>
#include <type_traits>
#include <vector>

#include "rows/svmlight.hpp"

namespace maxmargin {

namespace {

template <class T>
void append(std::string& text, T number) {
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number);
  text.append(digits, end);
}

template <class Value, class Index>
constexpr bool is_sparse(const SparseRows<Value, Index>&) {
  return true;
}
template <class View>
constexpr bool is_sparse(const View&) {
  return false;
}

template <class View>
void write_rows(const View& rows, const double* labels, const std::int64_t* qid, int index_base,
                Range range, std::string& text) {
  using Value = std::remove_cvref_t<decltype(*rows.values)>;
  for (std::size_t i = range.begin; i < range.end; ++i) {
    append(text, labels[i]);
    if (qid) {
      text += " qid:";
      append(text, qid[i]);
    }
    rows.each(i, [&](std::size_t j, double x) {
      if (!is_sparse(rows) && x == 0) return;
      text += ' ';
      append(text, j + static_cast<std::size_t>(index_base));
      text += ':';
      append(text, static_cast<Value>(x));
    });
    text += '\n';
  }
}

}  // namespace

std::string write_svmlight(const Rows& rows, const double* labels, const std::int64_t* qid,
                           int index_base, Range range, Pool& pool) {
  const std::size_t n = range.end - range.begin;
  std::vector<std::string> texts(pieces(n, 512));
  pool.run(texts.size(), [&](std::size_t k) {
    const Range part = part_of(n, texts.size(), k);
    const Range own{range.begin + part.begin, range.begin + part.end};
    std::visit([&](const auto& view) { write_rows(view, labels, qid, index_base, own, texts[k]); },
               rows);
  });
  std::string whole;
  for (const std::string& text : texts) whole += text;
  return whole;
}

}  // namespace maxmargin
