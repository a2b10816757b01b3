// How the text is read: it is cut at line ends into pieces of about kPieceBytes. Counting line ends
// and colons bounds how many rows and entries a piece can have; each thread counts its piece and
// waits until those before it are counted too, which is quick. Then it knows the place of the piece
// in the final arrays and parses straight into it. Where a bound was not reached (blank lines, qid,
// colons in comments) the gaps are closed afterwards.
//
// A piece is read once, into memory of our own, so the bounds hold for the very bytes that are
// parsed, whatever happens to the file.
#include "rows/svmlight.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <limits>
#include <mutex>
#include <shared_mutex>
#include <type_traits>
#include <vector>

#include "base/check.hpp"
#include "base/clones.hpp"
#include "rows/numerals.hpp"

namespace maxmargin {

namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 18;
constexpr int kIndexDigits = 18;  // so that an index always fits int64
constexpr const char* kChanged = "1: the file changed while it was read; read it again";
constexpr const char* kLineAdvice =
    "expected one row a line; if the file is right, set MAXMARGIN_MAX_LINE to what a line may have";

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

MAXMARGIN_CLONES Counts count(const char* text, std::size_t size) {
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

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool ends_token(char c) { return is_blank(c) || c == '\n' || c == '#'; }

MAXMARGIN_INLINE const char* skip_blanks(const char* p) {
  while (is_blank(*p)) ++p;
  return p;
}

const char* line_end(const char* p, const char* end) {
  return static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
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
  if (std::strncmp(at, "qid:", 4) == 0)
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

// Reads label, qid and entries of each line of a piece, which ends with a line end, into the arrays
// of `out`. `shift` is taken off every index.
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
      if (std::strncmp(p, "qid:", 4) != 0) bad_qid(p);
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

// Tells each piece where it writes: after all pieces before it. Tasks are taken in order and each
// that is taken runs, so nobody waits for one that will not come.
class Places {
 public:
  explicit Places(std::vector<Piece>& pieces) : pieces_(pieces), counted_(pieces.size(), false) {}

  // Takes the counts of piece k and waits for those before it. False if one of them failed.
  [[nodiscard]] bool settle(std::size_t k, const Counts& counts) {
    std::unique_lock lock(mutex_);
    pieces_[k].most_rows = counts.lines;
    pieces_[k].most_entries = counts.colons;
    counted_[k] = true;
    for (; settled_ < pieces_.size() && counted_[settled_]; ++settled_) {
      Piece& piece = pieces_[settled_];
      piece.first_row = rows_;
      piece.first_entry = entries_;
      rows_ += piece.most_rows;
      entries_ += piece.most_entries;
    }
    changed_.notify_all();
    changed_.wait(lock, [&] { return settled_ > k || given_up_; });
    return settled_ > k;
  }

  void give_up() {
    const std::lock_guard lock(mutex_);
    given_up_ = true;
    changed_.notify_all();
  }

 private:
  std::vector<Piece>& pieces_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> counted_;
  std::size_t settled_ = 0, rows_ = 0, entries_ = 0;
  bool given_up_ = false;
};

// The final arrays, which grow while threads write into them.
template <class Value, class Index>
class Growing {
 public:
  Growing(SvmlightRows<Value, Index>& rows, bool has_qid, std::size_t text_size)
      : rows_(rows), text_size_(text_size) {
    if (has_qid) rows_.qid.emplace(0);
  }

  // Calls f once there is room for a piece; nothing moves while it runs.
  template <class F>
  void with_room_for(const Piece& piece, F f) {
    const std::size_t rows = piece.first_row + piece.most_rows;
    const std::size_t entries = piece.first_entry + piece.most_entries;
    if (!fits(rows, entries)) grow(piece, rows, entries);
    const std::shared_lock lock(mutex_);
    f();
  }

  void make_room(std::size_t rows, std::size_t entries) {
    rows_.labels.grow(rows);
    if (rows_.qid) rows_.qid->grow(rows);
    rows_.starts.grow(rows + 1);
    rows_.values.grow(entries);
    rows_.indices.grow(entries);
  }

 private:
  bool fits(std::size_t rows, std::size_t entries) {
    const std::shared_lock lock(mutex_);
    return rows < rows_.starts.size() && entries <= rows_.indices.size();
  }

  // As much as the text will need if it goes on like this, and a little more. Memory nobody has
  // written to costs nothing.
  void grow(const Piece& piece, std::size_t rows, std::size_t entries) {
    const double whole = 1.05 * static_cast<double>(text_size_) / static_cast<double>(piece.end);
    const auto more = [&](std::size_t count) {
      const std::size_t foreseen = static_cast<std::size_t>(whole * static_cast<double>(count));
      return std::max(count + count / 16, foreseen);
    };
    const std::unique_lock lock(mutex_);
    if (rows >= rows_.starts.size() || entries > rows_.indices.size())
      make_room(std::max(more(rows), rows_.labels.size()),
                std::max(more(entries), rows_.indices.size()));
  }

  SvmlightRows<Value, Index>& rows_;
  const std::size_t text_size_;
  std::shared_mutex mutex_;
};

class Reader {
 public:
  Reader(const Text& text, const SvmlightOptions& options, Pool& pool)
      : text_(text), options_(options), pool_(pool) {
    cut();
  }

  template <class Value>
  SvmlightData<Value> read() {
    constexpr std::uint64_t kNarrow = std::numeric_limits<std::int32_t>::max();
    if (options_.n_features.value_or(0) <= kNarrow) {
      SvmlightRows<Value, std::int32_t> rows;
      if (read_as(rows)) return rows;
    }
    SvmlightRows<Value, std::int64_t> rows;
    read_as(rows);
    return rows;
  }

 private:
  void cut() {
    for (std::size_t begin = 0; begin < text_.size();) {
      const std::size_t from = std::min(begin + kPieceBytes, text_.size()) - 1;
      const std::size_t end = text_.after_line_end(from, options_.longest_line);
      if (end > text_.size()) fail_at_long_line(begin, from);
      pieces_.push_back({begin, end});
      begin = end;
    }
  }

  // A piece as text that ends with a line end.
  std::string_view lines_of(const Piece& piece, std::string& buffer) const {
    const std::string_view text = text_.read(piece.begin, piece.end, buffer);
    if (text.ends_with('\n')) return text;
    check(piece.end == text_.size(), kChanged);
    const std::size_t size = text.size();
    if (text.data() != buffer.data()) buffer = text;
    if (buffer.size() == size) buffer.push_back('\n');
    buffer[size] = '\n';
    return std::string_view(buffer).substr(0, size + 1);
  }

  static Counts counted(std::string_view text) { return count(text.data(), text.size()); }

  // Whether the first row has a qid. Then all must.
  bool has_qid() const {
    std::string buffer;
    for (const Piece& piece : pieces_) {
      const std::string_view text = lines_of(piece, buffer);
      const char* p = text.data();
      const char* const end = p + text.size();
      for (; p < end; p = line_end(p, end) + 1) {
        p = skip_blanks(p);
        if (*p == '\n' || *p == '#') continue;
        while (!ends_token(*p)) ++p;
        return std::strncmp(skip_blanks(p), "qid:", 4) == 0;
      }
    }
    return false;
  }

  // False if an index, or the number of entries, needs a wider type.
  template <class Value, class Index>
  bool read_as(SvmlightRows<Value, Index>& rows) {
    const int shift = options_.index_base.value_or(1);
    Growing<Value, Index> room(rows, has_qid(), text_.size());
    room.make_room(0, 0);
    Places places(pieces_);
    pool_.run(pieces_.size(), [&](std::size_t k) {
      try {
        parse(k, shift, rows, places, room);
      } catch (...) {
        places.give_up();
        throw;
      }
    });
    if (std::is_same_v<Index, std::int32_t> && take_wider_index()) return false;
    for (std::size_t k = 0; k < pieces_.size(); ++k)
      if (pieces_[k].fault) fail(k, *pieces_[k].fault);
    close_gaps(rows);
    settle_base(rows, shift);
    return true;
  }

  template <class Value, class Index>
  void parse(std::size_t k, int shift, SvmlightRows<Value, Index>& rows, Places& places,
             Growing<Value, Index>& room) {
    constexpr std::size_t kMost = static_cast<std::size_t>(std::numeric_limits<Index>::max());
    Piece& piece = pieces_[k];
    Buffers::Borrowed buffer(buffers_);
    const std::string_view text = lines_of(piece, *buffer);
    if (!places.settle(k, counted(text))) return;
    try {
      if (piece.most_entries >= kMost - piece.first_entry) throw NeedsWiderIndex();
      room.with_room_for(piece, [&] { read_piece(piece, text, shift, rows); });
    } catch (Fault& fault) {
      const std::size_t before = static_cast<std::size_t>(fault.at - text.data());
      piece.fault = {counted(text.substr(0, before)).lines, std::move(fault.message)};
    } catch (NeedsWiderIndex&) {
      piece.needs_wider_index = true;
    }
  }

  bool take_wider_index() {
    bool wider = false;
    for (Piece& piece : pieces_) {
      wider = wider || piece.needs_wider_index;
      piece.needs_wider_index = false;
    }
    if (wider)
      for (Piece& piece : pieces_) {
        piece.fault.reset();
        piece.least_index = std::numeric_limits<std::uint64_t>::max();
        piece.index_end = 0;
      }
    return wider;
  }

  template <class T>
  static void move(Array<T>& array, std::size_t from, std::size_t to, std::size_t count) {
    if (from != to && count) std::memmove(&array[to], &array[from], count * sizeof(T));
  }

  template <class Value, class Index>
  void close_gaps(SvmlightRows<Value, Index>& rows) {
    std::size_t n = 0, nnz = 0;
    rows.starts[0] = 0;
    for (Piece& piece : pieces_) {
      move(rows.labels, piece.first_row, n, piece.rows);
      if (rows.qid) move(*rows.qid, piece.first_row, n, piece.rows);
      move(rows.values, piece.first_entry, nnz, piece.entries);
      move(rows.indices, piece.first_entry, nnz, piece.entries);
      for (std::size_t i = 0; i < piece.rows; ++i)
        rows.starts[1 + n + i] = rows.starts[1 + piece.first_row + i] + static_cast<Index>(nnz);
      piece.first_row = n;
      piece.first_entry = nnz;
      n += piece.rows;
      nnz += piece.entries;
    }
    rows.labels.shrink(n);
    if (rows.qid) rows.qid->shrink(n);
    rows.values.shrink(nnz);
    rows.indices.shrink(nnz);
    rows.starts.shrink(n + 1);
  }

  // Decides the index base, makes the indices count from 0 and checks them against what is known.
  template <class Value, class Index>
  void settle_base(SvmlightRows<Value, Index>& rows, int shift) {
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max(), index_end = 0;
    for (const Piece& piece : pieces_) {
      least = std::min(least, piece.least_index);
      index_end = std::max(index_end, piece.index_end);
    }
    rows.index_base = options_.index_base.value_or(least == 0 ? 0 : 1);
    const std::uint64_t base = static_cast<std::uint64_t>(rows.index_base);
    if (least < base)
      fail_at_row(
          first_row_with(rows, [&](Index first, Index) { return first + shift == 0; }),
          "found index 0; expected indices from 1, as the file was said to have; read it as "
          "zero-based (zero_based=True) or correct the index");
    const std::uint64_t most = options_.n_features.value_or(index_end);
    rows.d = options_.n_features.value_or(index_end > base ? index_end - base : 0);
    if (index_end > base && index_end - base > most) {
      const auto above = [&](Index, Index last) {
        return static_cast<std::uint64_t>(last + shift) - base >= most;
      };
      const std::size_t row = first_row_with(rows, above);
      const Index last = rows.indices[static_cast<std::size_t>(rows.starts[row + 1]) - 1];
      fail_at_row(row, "found index " + std::to_string(last + shift) + "; expected " +
                           std::to_string(most) + " features numbered from " +
                           std::to_string(base) +
                           "; give the right number of features, or the index base");
    }
    if (rows.index_base == shift) return;
    pool_.run(pieces_.size(), [&](std::size_t k) {
      Index* const index = rows.indices.data() + pieces_[k].first_entry;
      for (std::size_t q = 0; q < pieces_[k].entries; ++q) index[q] += 1;
    });
  }

  // The first row of which holds(first index, last index), both as stored.
  template <class Value, class Index, class F>
  static std::size_t first_row_with(const SvmlightRows<Value, Index>& rows, F holds) {
    std::size_t i = 0;
    for (;; ++i) {
      const std::size_t begin = static_cast<std::size_t>(rows.starts[i]);
      const std::size_t end = static_cast<std::size_t>(rows.starts[i + 1]);
      if (begin < end && holds(rows.indices[begin], rows.indices[end - 1])) return i;
    }
  }

  [[noreturn]] void fail(std::size_t k, const FaultyLine& fault) const {
    std::size_t line = 1 + fault.line;
    for (std::size_t before = 0; before < k; ++before) line += pieces_[before].most_rows;
    throw InvalidInput(std::to_string(line) + ": " + fault.message);
  }

  [[noreturn]] void fail_at_row(std::size_t row, const std::string& message) const {
    std::size_t k = 0;
    while (row >= pieces_[k].first_row + pieces_[k].rows) ++k;
    std::size_t left = row - pieces_[k].first_row, line = 0;
    std::string buffer;
    const std::string_view text = lines_of(pieces_[k], buffer);
    const char* p = text.data();
    const char* const end = p + text.size();
    for (; p < end; p = line_end(p, end) + 1, ++line) {
      p = skip_blanks(p);
      if (*p == '\n' || *p == '#') continue;
      if (left-- == 0) fail(k, {line, message});
    }
    throw InvalidInput(kChanged);
  }

  // The line that has `at` in it, in the piece that would begin at `begin`, is too long.
  [[noreturn]] void fail_at_long_line(std::size_t begin, std::size_t at) const {
    std::string buffer;
    std::size_t line = 1;
    for (const Piece& piece : pieces_) line += counted(lines_of(piece, buffer)).lines;
    line += counted(text_.read(begin, at, buffer)).lines;
    throw InvalidInput(std::to_string(line) + ": found a line of more than " +
                       std::to_string(options_.longest_line >> 20) + " MB; " + kLineAdvice);
  }

  const Text& text_;
  const SvmlightOptions options_;
  Pool& pool_;
  Buffers buffers_;
  std::vector<Piece> pieces_;
};

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

template <class Value>
SvmlightData<Value> read_svmlight(const Text& text, const SvmlightOptions& options, Pool& pool) {
  return Reader(text, options, pool).read<Value>();
}
template SvmlightData<float> read_svmlight(const Text&, const SvmlightOptions&, Pool&);
template SvmlightData<double> read_svmlight(const Text&, const SvmlightOptions&, Pool&);

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
