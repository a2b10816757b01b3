// Indices increase along a line, so its first and its last entry tell all that is asked.
#include "rows/svmlight_scan.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/clones.hpp"

namespace maxmargin {

namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 18;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

MAXMARGIN_CLONES std::size_t count_colons(const char* text, std::size_t size) {
  constexpr std::size_t kBlock = 128;  // few enough for a byte to count them
  std::size_t total = 0, at = 0;
  for (; at + kBlock <= size; at += kBlock) {
    std::uint8_t colons = 0;
    for (std::size_t k = 0; k < kBlock; ++k)
      colons = static_cast<std::uint8_t>(colons + (text[at + k] == ':'));
    total += colons;
  }
  for (; at < size; ++at) total += text[at] == ':';
  return total;
}

// The number whose last digit stands before `end`, or false if none does (as in "qid:").
bool number_before(const char* begin, const char* end, std::uint64_t& number) {
  const char* p = end;
  while (p > begin && is_digit(p[-1])) --p;
  if (p == end || (p > begin && !is_blank(p[-1]))) return false;
  number = 0;
  for (; p < end; ++p) number = 10 * number + static_cast<std::uint64_t>(*p - '0');
  return true;
}

void scan_line(const char* begin, const char* end, SvmlightScan& scan) {
  while (begin < end && is_blank(*begin)) ++begin;
  if (begin == end || *begin == '#') return;
  ++scan.rows;
  const char* first = begin;
  std::uint64_t index = 0;
  while ((first = static_cast<const char*>(
              std::memchr(first, ':', static_cast<std::size_t>(end - first))))) {
    if (number_before(begin, first, index)) break;
    ++first;
  }
  if (!first) return;
  scan.least_index = std::min(scan.least_index, index);
  const char* last = end;
  while (last > first && *--last != ':') {
  }
  if (number_before(begin, last, index)) scan.index_end = std::max(scan.index_end, index + 1);
}

SvmlightScan scan_piece(std::string_view text) {
  SvmlightScan scan;
  scan.entries = count_colons(text.data(), text.size());
  const bool comments = text.find('#') != text.npos;
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p < end) {
    const char* line = p;
    const void* found = std::memchr(p, '\n', static_cast<std::size_t>(end - p));
    const char* stop = found ? static_cast<const char*>(found) : end;
    p = stop + 1;
    scan.lines += found != nullptr;
    if (comments) stop = std::find(line, stop, '#');
    scan_line(line, stop, scan);
  }
  return scan;
}

}  // namespace

SvmlightScan& SvmlightScan::operator+=(const SvmlightScan& other) {
  rows += other.rows;
  entries += other.entries;
  lines += other.lines;
  least_index = std::min(least_index, other.least_index);
  index_end = std::max(index_end, other.index_end);
  return *this;
}

SvmlightScan scan_svmlight(std::string_view text, Pool& pool) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    const std::size_t from = std::min(kPieceBytes, text.size()) - 1;
    const std::size_t found = text.find('\n', from);
    const std::size_t size = found == text.npos ? text.size() : found + 1;
    pieces.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  std::vector<SvmlightScan> scans(pieces.size());
  pool.run(pieces.size(), [&](std::size_t k) { scans[k] = scan_piece(pieces[k]); });
  SvmlightScan total;
  for (const SvmlightScan& scan : scans) total += scan;
  return total;
}

}  // namespace maxmargin
