// One piece of svmlight text, whole lines of it: what is counted, found and wrong in it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "rows/svmlight.hpp"

namespace maxmargin::svmlight {

// A fault of the text: where, and what about it.
struct Fault {
  const char* at;
  std::string message;
};

// The same, once the line is known, counted from 0 in its piece.
struct FaultyLine {
  std::size_t line;
  std::string message;
};

// An index that does not fit the index type tried.
struct NeedsWiderIndex {};

struct Piece {
  std::size_t begin, end;  // in the text, whole lines
  std::size_t most_rows = 0, most_entries = 0;
  std::size_t first_row = 0, first_entry = 0;  // where it writes
  std::size_t rows = 0, entries = 0;           // what it found
  std::uint64_t least_index = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t index_end = 0;  // one past the largest index
  std::optional<FaultyLine> fault = std::nullopt;
  bool needs_wider_index = false;
};

struct Counts {
  std::size_t lines = 0, colons = 0;
};

Counts count(std::string_view text);

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
inline bool ends_token(char c) { return is_blank(c) || c == '\n' || c == '#'; }

inline const char* skip_blanks(const char* p) {
  while (is_blank(*p)) ++p;
  return p;
}

// Byte by byte, since strncmp may look past the end of a line, and the last line ends the memory.
inline bool begins_qid(const char* p) {
  for (const char c : std::string_view("qid:"))
    if (*p++ != c) return false;
  return true;
}

inline const char* line_end(const char* p, const char* end) {
  return static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
}

// Reads label, qid and entries of each line of a piece, which ends with a line end, into the arrays
// of `out`. `shift` is taken off every index. Throws Fault or NeedsWiderIndex.
template <class Value, class Index>
void read_piece(Piece& piece, std::string_view text, int shift, SvmlightRows<Value, Index>& out);

}  // namespace maxmargin::svmlight
