#include "rows/fasta.hpp"

#include <algorithm>
#include <cctype>
#include <string>

#include "base/check.hpp"

namespace maxmargin {

namespace {

constexpr std::string_view kKeys[] = {"label", "class", "target", "y"};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool parts_fields(char c) { return is_blank(c) || c == ',' || c == ';' || c == '|'; }

// Lower case marks repeats, and means the same letter.
std::uint8_t upper(char c) { return static_cast<std::uint8_t>(c >= 'a' && c <= 'z' ? c - 32 : c); }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

bool is_key(std::string_view word) {
  return std::any_of(std::begin(kKeys), std::end(kKeys), [&](std::string_view key) {
    return word.size() == key.size() &&
           std::equal(word.begin(), word.end(), key.begin(), [](char a, char b) {
             return std::tolower(static_cast<unsigned char>(a)) == b;
           });
  });
}

bool is_number(std::string_view field) {
  if (!field.empty() && (field[0] == '+' || field[0] == '-')) field.remove_prefix(1);
  std::size_t digits = 0, points = 0;
  for (const char c : field) {
    if (c == '.')
      ++points;
    else if (c >= '0' && c <= '9')
      ++digits;
    else
      return false;
  }
  return digits > 0 && points <= 1;
}

// The label a header holds; empty if it holds none.
std::string_view label_of(std::string_view header) {
  std::string_view last;
  for (std::size_t at = 0; at < header.size();) {
    if (parts_fields(header[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < header.size() && !parts_fields(header[end])) ++end;
    const std::string_view field = header.substr(at, end - at);
    const std::size_t sign = field.find_first_of("=:");
    if (sign != field.npos && is_key(field.substr(0, sign))) return field.substr(sign + 1);
    last = field;
    at = end;
  }
  return is_number(last) ? last : std::string_view();
}

[[noreturn]] void fail(std::size_t line, const std::string& message) {
  throw InvalidInput(std::to_string(line) + ": " + message);
}

std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string out = "'";
  for (const char c : text.substr(0, kLongest)) out += c >= ' ' && c <= '~' ? c : '?';
  return out + (text.size() > kLongest ? "...'" : "'");
}

class Reader {
 public:
  Reader(std::string_view text, bool labelled) : labelled_(labelled) {
    rows_.letters = Array<std::uint8_t>(text.size());
    while (!text.empty()) {
      ++line_;
      const std::size_t end = std::min(text.find('\n'), text.size());
      take(trimmed(text.substr(0, end)));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    end_string();
    rows_.letters.shrink(size_);
  }

  FastaRows rows() { return std::move(rows_); }

 private:
  void take(std::string_view line) {
    if (line.empty() || line[0] == ';') return;
    if (line[0] == '>') {
      end_string();
      header_line_ = line_;
      if (labelled_) take_label(line.substr(1));
    } else {
      take_letters(line);
    }
  }

  void take_label(std::string_view header) {
    const std::string_view label = label_of(header);
    if (label.empty())
      fail(line_, "found the header " + shown(header) +
                      "; expected a label in it, as label=-1, or a number as its last field, as "
                      "in the header before; add one to every header, or leave labels alone "
                      "(--target none)");
    rows_.labels.insert(rows_.labels.end(), label.begin(), label.end());
    rows_.label_starts.push_back(static_cast<std::int32_t>(rows_.labels.size()));
  }

  void take_letters(std::string_view letters) {
    if (header_line_ == 0)
      fail(line_, "found " + shown(letters) + "; expected a header that begins with '>' first");
    const bool plain =
        std::all_of(letters.begin(), letters.end(), [](char c) { return c > ' ' && c <= '~'; });
    if (!plain)
      fail(line_, "found " + shown(letters) +
                      "; expected letters without blanks or special characters; correct the line");
    std::transform(letters.begin(), letters.end(), rows_.letters.data() + size_, upper);
    size_ += letters.size();
  }

  void end_string() {
    if (header_line_ == 0) return;
    if (static_cast<std::int64_t>(size_) == rows_.starts.back())
      fail(header_line_,
           "found a header without letters after it; expected at least one line of letters; "
           "complete or remove the entry (a cut-off end means the file is incomplete)");
    rows_.starts.push_back(static_cast<std::int64_t>(size_));
  }

  const bool labelled_;
  FastaRows rows_;
  std::size_t size_ = 0, line_ = 0, header_line_ = 0;
};

}  // namespace

FastaRows read_fasta(std::string_view text, bool labelled) { return Reader(text, labelled).rows(); }

bool has_fasta_label(std::string_view text) {
  const std::size_t begin = text.find('>');
  if (begin == text.npos) return false;
  return !label_of(trimmed(text.substr(begin + 1, text.find('\n', begin) - begin - 1))).empty();
}

}  // namespace maxmargin
