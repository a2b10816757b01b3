// FASTA text: a header line that begins with '>' and lines of letters, again and again.
//
//   >name label=-1
//   GATTACA
//   TACCA
//
// The label stands in the header: after `label`, `class`, `target` or `y` (in any case) and '=' or
// ':'; without such a key it is the last field, if that is a number (">site 7|+1"). Fields are
// parted by blanks, ',', ';' or '|'. Blank lines, and lines that begin with ';', are skipped.
// Letters in lower case (masked repeats) become those in upper case.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/array.hpp"

namespace maxmargin {

struct FastaRows {
  Array<std::uint8_t> letters;
  std::vector<std::int64_t> starts{0};  // of each string in `letters`, and the end
  std::vector<std::uint8_t> labels;
  std::vector<std::int32_t> label_starts{0};  // of each label in `labels`, and the end
};

// Throws InvalidInput with "LINE: found ...; expected ...; remedy" for the first fault. Without
// `labelled`, headers are not looked at and labels stay empty.
FastaRows read_fasta(std::string_view text, bool labelled);

// Whether the first header of a text holds a label.
bool has_fasta_label(std::string_view text);

}  // namespace maxmargin
