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
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/check.hpp"
#include "rows/svmlight_arrays.hpp"
#include "rows/svmlight_piece.hpp"

namespace maxmargin {

namespace {

using namespace svmlight;

constexpr std::size_t kPieceBytes = std::size_t{1} << 18;
constexpr const char* kChanged = "1: the file changed while it was read; read it again";
constexpr const char* kLineAdvice =
    "expected one row a line; if the file is right, set MAXMARGIN_MAX_LINE to what a line may have";

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
        return begins_qid(skip_blanks(p));
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
    decide_base(rows, shift);
    return true;
  }

  template <class Value, class Index>
  void parse(std::size_t k, int shift, SvmlightRows<Value, Index>& rows, Places& places,
             Growing<Value, Index>& room) {
    constexpr std::size_t kMost = static_cast<std::size_t>(std::numeric_limits<Index>::max());
    Piece& piece = pieces_[k];
    Buffers::Borrowed buffer(buffers_);
    const std::string_view text = lines_of(piece, *buffer);
    if (!places.place(k, count(text))) return;
    try {
      if (piece.most_entries >= kMost - piece.first_entry) throw NeedsWiderIndex();
      room.with_room_for(piece, [&] { read_piece(piece, text, shift, rows); });
    } catch (Fault& fault) {
      const std::size_t before = static_cast<std::size_t>(fault.at - text.data());
      piece.fault = {count(text.substr(0, before)).lines, std::move(fault.message)};
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
  void decide_base(SvmlightRows<Value, Index>& rows, int shift) {
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
    for (const Piece& piece : pieces_) line += count(lines_of(piece, buffer)).lines;
    line += count(text_.read(begin, at, buffer)).lines;
    throw InvalidInput(std::to_string(line) + ": found a line of more than " +
                       std::to_string(options_.longest_line >> 20) + " MB; " + kLineAdvice);
  }

  const Text& text_;
  const SvmlightOptions options_;
  Pool& pool_;
  Buffers buffers_;
  std::vector<Piece> pieces_;
};

}  // namespace

template <class Value>
SvmlightData<Value> read_svmlight(const Text& text, const SvmlightOptions& options, Pool& pool) {
  return Reader(text, options, pool).read<Value>();
}
template SvmlightData<float> read_svmlight(const Text&, const SvmlightOptions&, Pool&);
template SvmlightData<double> read_svmlight(const Text&, const SvmlightOptions&, Pool&);

}  // namespace maxmargin
