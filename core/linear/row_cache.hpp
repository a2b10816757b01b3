// Packed rows within a budget of bytes. Rows go into segments one after the other; when all
// segments are full, the rows worth keeping of one segment move together into the spare one and the
// rest of it is evicted. So there is no fragmentation, and the budget is kept to the byte.
//
// A row that no problem uses any more ("idle") stays until its room is needed. Where room is needed
// and few rows are idle, rows are evicted at random, as in the paper.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/array.hpp"
#include "base/random.hpp"
#include "rows/packed.hpp"

namespace maxmargin {

class RowCache {
 public:
  static constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);
  using Evicted = std::function<void(std::uint32_t slot)>;

  // For rows 0 .. n - 1. `slot_bytes`: what whoever uses the cache keeps besides for each slot.
  RowCache(std::size_t n, std::size_t budget, std::size_t slot_bytes, std::uint64_t seed);

  // Divides the budget among rows of about this size. Before the first insert.
  void arrange(std::size_t row_bytes);

  std::uint32_t find(std::int64_t id) const { return slot_of_[static_cast<std::size_t>(id)]; }
  const PackedRow& row(std::uint32_t slot) const { return *rows_[slot]; }

  // Copies a row that is not there into the cache: its slot, or kNone where it is too large.
  // `evicted` is told of slots that are in use and lose their row.
  std::uint32_t insert(const PackedRow& row, const Evicted& evicted);

  void use(std::uint32_t slot);      // one more problem uses the row
  void release(std::uint32_t slot);  // one less

  std::size_t rows() const { return held_; }
  std::size_t slots() const { return rows_.size(); }
  std::size_t max_slots() const { return max_slots_; }
  bool holds(std::uint32_t slot) const { return rows_[slot] != nullptr; }
  // About how many rows of this size fit.
  std::size_t room_for(std::size_t row_bytes) const;
  // How often rows in use had to go.
  std::size_t crowded() const { return crowded_; }

 private:
  struct Segment {
    Array<char> bytes;
    std::size_t used = 0;
    std::size_t wanted = 0;  // bytes of rows in use
  };

  PackedRow* append(const PackedRow& row);
  void open_next(const Evicted& evicted);
  void clean(std::size_t victim, double most, const Evicted& evicted);
  void forget(PackedRow& row);
  std::size_t pick_victim();

  std::size_t budget_, slot_bytes_;
  std::vector<std::uint32_t> slot_of_;  // by number of row
  std::vector<PackedRow*> rows_;        // by slot
  std::vector<std::uint16_t> users_, segment_of_;
  std::vector<std::uint32_t> free_;
  std::vector<Segment> segments_;
  std::size_t segment_bytes_ = 0, max_slots_ = 0, held_ = 0, crowded_ = 0;
  std::size_t open_ = 0, spare_ = 0, started_ = 0;
  Random random_;
};

}  // namespace maxmargin
