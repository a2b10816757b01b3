#include "rows/svmlight_piece.hpp"

#include <cmath>
#include <cstdio>

#include "base/clones.hpp"
#include "rows/numerals.hpp"

namespace maxmargin::svmlight {

namespace {

constexpr int kIndexDigits = 18;  // so that an index always fits int64

MAXMARGIN_CLONES Counts count_bytes(const char* text, std::size_t size) {
  constexpr std::size_t kBlock = 128;  // few enough for a byte to count them
  Counts counts;
  std::size_t at = 0;
  for (; at + kBlock <= size; at += kBlock) {
    std::uint8_t lines = 0, colons = 0;
    for (std::size_t k = 0; k < kBlock; ++k) {
      lines = static_cast<std::uint8_t>(lines + (text[at + k] == '\n'));
      colons = static_cast<std::uint8_t>(colons + (text[at + k] == ':'));
    }
    counts.lines += lines;
    counts.colons += colons;
  }
  for (; at < size; ++at) {
    counts.lines += text[at] == '\n';
    counts.colons += text[at] == ':';
  }
  return counts;
}

// What stands at p, up to the next blank, made printable for a message.
std::string token(const char* p) {
  constexpr int kLongest = 40;
  std::string shown = "'";
  for (int k = 0; !is_blank(*p) && *p != '\n'; ++p, ++k) {
    if (k == kLongest) return shown + "...'";
    if (*p >= ' ' && *p <= '~') {
      shown += *p;
    } else {
      char escaped[5];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned char>(*p));
      shown += escaped;
    }
  }
  return shown + "'";
}

[[noreturn]] void bad_label(const char* at) {
  const char* p = at;
  while (!ends_token(*p) && *p != ',' && *p != ':') ++p;
  if (*p == ',')
    throw Fault{at, "found " + token(at) +
                        "; expected one label; several labels a row are not supported: write one "
                        "file for each label"};
  if (*p == ':')
    throw Fault{at, "found " + token(at) +
                        "; expected a label before the features; begin each line with its label (0 "
                        "where it is unknown)"};
  throw Fault{at, "found label " + token(at) +
                      "; expected a finite number; number the classes, or use CSV or Parquet for "
                      "labels that are names"};
}

[[noreturn]] void bad_qid(const char* at) {
  throw Fault{at, "found " + token(at) +
                      "; expected qid: and a whole number after the label, as on the first row; "
                      "give every row a qid, or none"};
}

[[noreturn]] void bad_entry(const char* at) {
  if (begins_qid(at))
    throw Fault{at, "found " + token(at) +
                        "; expected index:value; a qid stands right after the label, on every row "
                        "or on none"};
  throw Fault{at, "found " + token(at) +
                      "; expected index:value with a whole number as index; correct the entry (a "
                      "cut-off last line means the file is incomplete)"};
}

[[noreturn]] void bad_order(const char* at, std::uint64_t index, std::uint64_t previous) {
  throw Fault{at, "found index " + std::to_string(index) + " after index " +
                      std::to_string(previous) +
                      "; expected indices that increase along the line; sort the entries of the "
                      "line and merge those with the same index"};
}

template <class Value>
[[noreturn]] void bad_value(const char* entry, const char* value, const char* end) {
  double x = 0;
  const char* rest = read_number(value, end, x);
  if (!rest || !ends_token(*rest))
    throw Fault{entry, "found " + token(entry) +
                           "; expected index:value with a number as value; correct the entry (a "
                           "cut-off last line means the file is incomplete)"};
  if (std::isfinite(x))
    throw Fault{entry, "found " + token(entry) +
                           "; expected a value that float32 can hold; read the file as float64"};
  throw Fault{entry, "found " + token(entry) +
                         "; expected a finite value; remove the entry or replace the value"};
}

}  // namespace

Counts count(std::string_view text) { return count_bytes(text.data(), text.size()); }

template <class Value, class Index>
void read_piece(Piece& piece, std::string_view text, int shift, SvmlightRows<Value, Index>& out) {
  constexpr std::uint64_t kTooWide = std::numeric_limits<Index>::max();
  const char* p = text.data();
  const char* const end = p + text.size();
  double* label = out.labels.data() + piece.first_row;
  std::int64_t* qid = out.qid ? out.qid->data() + piece.first_row : nullptr;
  Index* start = out.starts.data() + 1 + piece.first_row;
  Value* value = out.values.data() + piece.first_entry;
  Index* index = out.indices.data() + piece.first_entry;
  Value* const first_value = value;
  Index* const first_start = start;

  while (p < end) {
    p = skip_blanks(p);
    if (*p == '#') p = line_end(p, end);
    if (*p == '\n') {
      ++p;
      continue;
    }
    const char* at = p;
    p = read_number(p, end, *label);
    if (!p || !ends_token(*p) || !std::isfinite(*label)) bad_label(at);
    ++label;
    p = skip_blanks(p);
    if (qid) {
      if (!begins_qid(p)) bad_qid(p);
      const auto [rest, error] = std::from_chars(p + 4, end, *qid);
      if (error != std::errc() || !ends_token(*rest)) bad_qid(p);
      ++qid;
      p = skip_blanks(rest);
    }
    std::uint64_t next = 0;  // the least index that may follow
    while (is_digit(*p)) {
      at = p;
      std::uint64_t j = 0;
      for (; is_digit(*p); ++p) j = 10 * j + static_cast<std::uint64_t>(*p - '0');
      if (*p != ':' || p - at > kIndexDigits) bad_entry(at);
      if (j < next) bad_order(at, j, next - 1);
      if (j >= kTooWide) throw NeedsWiderIndex();
      if (next == 0) piece.least_index = std::min(piece.least_index, j);
      next = j + 1;
      const char* const value_at = ++p;
      p = read_number(p, end, *value);
      if (!p || !ends_token(*p) || !std::isfinite(*value)) bad_value<Value>(at, value_at, end);
      ++value;
      *index++ = static_cast<Index>(static_cast<std::int64_t>(j) - shift);
      p = skip_blanks(p);
    }
    if (*p == '#') p = line_end(p, end);
    if (*p != '\n') bad_entry(p);
    ++p;
    piece.index_end = std::max(piece.index_end, next);
    *start++ = static_cast<Index>(value - first_value);
  }
  piece.rows = static_cast<std::size_t>(start - first_start);
  piece.entries = static_cast<std::size_t>(value - first_value);
}
template void read_piece(Piece&, std::string_view, int, SvmlightRows<float, std::int32_t>&);
template void read_piece(Piece&, std::string_view, int, SvmlightRows<float, std::int64_t>&);
template void read_piece(Piece&, std::string_view, int, SvmlightRows<double, std::int32_t>&);
template void read_piece(Piece&, std::string_view, int, SvmlightRows<double, std::int64_t>&);

}  // namespace maxmargin::svmlight
