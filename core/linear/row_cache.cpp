#include "linear/row_cache.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"

namespace maxmargin {

namespace {
constexpr std::size_t kSegments = 64, kFewSegments = 8, kFewestSegments = 4;
constexpr std::size_t kLargestSegment = std::size_t{4} << 20;
constexpr std::size_t kMostSegments = 60000;  // numbered by 16 bits
constexpr double kFill = 0.75;                // of a segment, by rows that move into it
constexpr double kWorthCleaning = 0.25;       // of a segment, not in use

// Kept here for each slot: row, users, segment, free list.
constexpr std::size_t kOwnSlotBytes =
    sizeof(PackedRow*) + 2 * sizeof(std::uint16_t) + sizeof(std::uint32_t);
}  // namespace

RowCache::RowCache(std::size_t n, std::size_t budget, std::size_t slot_bytes, std::uint64_t seed)
    : budget_(budget), slot_bytes_(slot_bytes + kOwnSlotBytes), random_(seed) {
  check(n < kNone, "the cached loops take at most 2^32 - 2 rows");
  slot_of_.assign(n, kNone);
}

void RowCache::arrange(std::size_t row_bytes) {
  // Rows may turn out smaller than the first ones: a fifth more slots than seem needed.
  max_slots_ = std::min(slot_of_.size(), budget_ / (row_bytes + slot_bytes_) * 6 / 5 + 1);
  const std::size_t tables = max_slots_ * slot_bytes_;
  const std::size_t arena = budget_ > tables ? budget_ - tables : 0;
  // A row may take a quarter of a segment; small caches have few segments so that most rows do.
  const std::size_t roomy = std::min(arena / kFewSegments, 32 * row_bytes);
  segment_bytes_ = std::min(std::max(arena / kSegments, roomy), kLargestSegment);
  segment_bytes_ = std::max(segment_bytes_, arena / kMostSegments + 1) / 8 * 8;
  const std::size_t count = segment_bytes_ == 0 ? 0 : arena / segment_bytes_;
  if (count < kFewestSegments) {
    max_slots_ = 0;  // too small to hold anything: all rows are read each time
    return;
  }
  segments_.resize(count);
  rows_.reserve(max_slots_);
  users_.reserve(max_slots_);
  segment_of_.reserve(max_slots_);
  spare_ = count - 1;
}

std::size_t RowCache::room_for(std::size_t row_bytes) const {
  return segments_.empty() ? 0 : (segments_.size() - 1) * (segment_bytes_ / row_bytes);
}

PackedRow* RowCache::append(const PackedRow& row) {
  Segment& segment = segments_[open_];
  auto* copy = reinterpret_cast<PackedRow*>(segment.bytes.data() + segment.used);
  std::memcpy(static_cast<void*>(copy), &row, row.bytes);
  segment.used += row.bytes;
  return copy;
}

std::uint32_t RowCache::insert(const PackedRow& row, const Evicted& evicted) {
  if (max_slots_ == 0 ||
      static_cast<double>(row.bytes) > kWorthCleaning * static_cast<double>(segment_bytes_))
    return kNone;
  if (segments_[open_].bytes.size() == 0) {
    segments_[open_].bytes = Array<char>(segment_bytes_);
    started_ = 1;
  }
  while (segments_[open_].used + row.bytes > segment_bytes_ ||
         (free_.empty() && rows_.size() == max_slots_))
    open_next(evicted);
  std::uint32_t slot;
  if (free_.empty()) {
    slot = static_cast<std::uint32_t>(rows_.size());
    rows_.push_back(nullptr);
    users_.push_back(0);
    segment_of_.push_back(0);
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  PackedRow* copy = append(row);
  copy->slot = slot;
  rows_[slot] = copy;
  users_[slot] = 0;
  segment_of_[slot] = static_cast<std::uint16_t>(open_);
  slot_of_[static_cast<std::size_t>(row.id)] = slot;
  ++held_;
  return slot;
}

void RowCache::use(std::uint32_t slot) {
  if (users_[slot]++ == 0) segments_[segment_of_[slot]].wanted += rows_[slot]->bytes;
}

void RowCache::release(std::uint32_t slot) {
  if (--users_[slot] == 0) segments_[segment_of_[slot]].wanted -= rows_[slot]->bytes;
}

// Makes a segment with room the open one.
void RowCache::open_next(const Evicted& evicted) {
  const bool slots_left = !free_.empty() || rows_.size() < max_slots_;
  if (slots_left && started_ + 1 < segments_.size()) {
    open_ = started_++;
    segments_[open_].bytes = Array<char>(segment_bytes_);
    return;
  }
  if (segments_[spare_].bytes.size() == 0) segments_[spare_].bytes = Array<char>(segment_bytes_);
  clean(pick_victim(), slots_left ? 1.0 : kFill, evicted);
}

// The segment with the most to give; a random one if none has much.
std::size_t RowCache::pick_victim() {
  std::vector<std::size_t> candidates;
  for (std::size_t k = 0; k < segments_.size(); ++k)
    if (k != open_ && k != spare_ && segments_[k].bytes.size() > 0) candidates.push_back(k);
  if (candidates.empty()) return open_;
  const std::size_t best = *std::min_element(
      candidates.begin(), candidates.end(),
      [this](std::size_t a, std::size_t b) { return segments_[a].wanted < segments_[b].wanted; });
  const double wanted = static_cast<double>(segments_[best].wanted);
  if (wanted <= (1 - kWorthCleaning) * static_cast<double>(segment_bytes_)) return best;
  return candidates[random_.below(candidates.size())];
}

void RowCache::forget(PackedRow& row) {
  slot_of_[static_cast<std::size_t>(row.id)] = kNone;
  rows_[row.slot] = nullptr;
  free_.push_back(row.slot);
  row.slot = kNone;
  --held_;
}

// Moves what is in use into the spare segment, which becomes the open one: of the rows in use at
// most this share, and no more than leaves room for others.
void RowCache::clean(std::size_t victim, double most, const Evicted& evicted) {
  Segment& from = segments_[victim];
  const double room = kFill * static_cast<double>(segment_bytes_);
  const double keep = std::min(most, room / std::max(1.0, static_cast<double>(from.wanted)));
  if (keep < 1) ++crowded_;
  const auto odds = static_cast<std::uint64_t>(keep * 4294967296.0);
  open_ = spare_;
  segments_[open_].used = segments_[open_].wanted = 0;
  for (std::size_t at = 0; at < from.used;) {
    auto& row = *reinterpret_cast<PackedRow*>(from.bytes.data() + at);
    at += row.bytes;
    const std::uint32_t slot = row.slot;
    // A row that has gone since is known by the cache's no longer pointing here.
    if (slot == kNone || rows_[slot] != &row) continue;
    const bool used = users_[slot] > 0;
    if (used && (keep >= 1 || random_.below(4294967296ULL) < odds)) {
      rows_[slot] = append(row);
      segment_of_[slot] = static_cast<std::uint16_t>(open_);
      segments_[open_].wanted += row.bytes;
      continue;
    }
    if (used) evicted(slot);
    users_[slot] = 0;
    forget(row);
  }
  from.used = from.wanted = 0;
  spare_ = victim;
}

}  // namespace maxmargin
