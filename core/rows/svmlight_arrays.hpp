// The arrays that threads write pieces of svmlight text into, each piece at its place.
#pragma once
#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "rows/svmlight_piece.hpp"

namespace maxmargin::svmlight {

// Tells each piece where it writes: after all pieces before it. Tasks are taken in order and each
// that is taken runs, so nobody waits for one that will not come.
class Places {
 public:
  explicit Places(std::vector<Piece>& pieces) : pieces_(pieces), counted_(pieces.size(), false) {}

  // Takes the counts of piece k and waits for those before it. False if one of them failed.
  [[nodiscard]] bool place(std::size_t k, const Counts& counts) {
    std::unique_lock lock(mutex_);
    pieces_[k].most_rows = counts.lines;
    pieces_[k].most_entries = counts.colons;
    counted_[k] = true;
    for (; placed_ < pieces_.size() && counted_[placed_]; ++placed_) {
      Piece& piece = pieces_[placed_];
      piece.first_row = rows_;
      piece.first_entry = entries_;
      rows_ += piece.most_rows;
      entries_ += piece.most_entries;
    }
    changed_.notify_all();
    changed_.wait(lock, [&] { return placed_ > k || given_up_; });
    return placed_ > k;
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
  std::size_t placed_ = 0, rows_ = 0, entries_ = 0;
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

}  // namespace maxmargin::svmlight
