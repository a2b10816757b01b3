// Counters of ranks: how much weight of low ranks was inserted so far.
//
// insert(r, s): a row of rank r and weight s joins. below(r), upto(r): weight of ranks < r, <= r.
#pragma once
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/clones.hpp"
#include "base/portable.hpp"

namespace maxmargin {

template <class Count>
struct TwoRanks {
  Count lower = 0, all = 0;

  void load(const double* of_rank, std::size_t ranks) {
    lower = static_cast<Count>(of_rank[0]);
    all = lower + (ranks > 1 ? static_cast<Count>(of_rank[1]) : Count(0));
  }
  MAXMARGIN_INLINE void prefetch(std::uint32_t) const {}
  MAXMARGIN_INLINE void insert(std::uint32_t r, Count s) {
    lower += r == 0 ? s : Count(0);
    all += s;
  }
  MAXMARGIN_INLINE Count below(std::uint32_t r) const { return r == 0 ? Count(0) : lower; }
  MAXMARGIN_INLINE Count upto(std::uint32_t r) const { return r == 0 ? lower : all; }
};

constexpr std::size_t kFan = 16;

// steps[r][k] = 1 for k >= r: what an insertion at place r adds to the running sums of its block.
template <class Count>
struct Steps {
  alignas(64) Count at[kFan + 1][kFan];
  constexpr Steps() : at() {
    for (std::size_t r = 0; r <= kFan; ++r)
      for (std::size_t k = 0; k < kFan; ++k) at[r][k] = k >= r ? Count(1) : Count(0);
  }
};

// A tree with 16 children a node that keeps running sums inside every node: a question reads one
// number a level, an insertion updates one node a level with a few vector operations. A Fenwick
// tree would take four times as many levels, each with a branch.
template <class Count>
class RankTree {
 public:
  explicit RankTree(std::size_t ranks) {
    // Place r + 1 belongs to rank r, so that below(r) is the running sum at place r.
    std::size_t nodes = ranks + 1;
    do {
      nodes = (nodes + kFan - 1) / kFan;
      level_[levels_++].resize(nodes);
    } while (nodes > 1);
  }

  // The state after weights of_rank[r] have been inserted into an empty tree.
  void load(const double* of_rank, std::size_t ranks) {
    for (std::size_t r = 0; r < ranks; ++r) {
      const Count s = static_cast<Count>(of_rank[r]);
      std::size_t place = r + 1;
      level_[0][place / kFan].sum[place % kFan] += s;
      for (std::size_t h = 1; h < levels_; ++h) {
        place /= kFan;
        if (place % kFan + 1 < kFan) level_[h][place / kFan].sum[place % kFan + 1] += s;
      }
    }
    for (std::size_t h = 0; h < levels_; ++h)
      for (Node& node : level_[h]) std::partial_sum(node.sum, node.sum + kFan, node.sum);
  }

  MAXMARGIN_INLINE void prefetch(std::uint32_t r) const {
    prefetch_read(&level_[0][(std::size_t{r} + 1) / kFan]);
  }
  MAXMARGIN_INLINE void insert(std::uint32_t r, Count s) {
    std::size_t place = r + 1;
    add(level_[0][place / kFan], kSteps.at[place % kFan], s);
    for (std::size_t h = 1; h < levels_; ++h) {
      place /= kFan;
      add(level_[h][place / kFan], kSteps.at[place % kFan + 1], s);
    }
  }
  MAXMARGIN_INLINE Count below(std::uint32_t r) const { return sum_to(r); }
  MAXMARGIN_INLINE Count upto(std::uint32_t r) const { return sum_to(std::size_t{r} + 1); }

 private:
  struct alignas(64) Node {
    Count sum[kFan] = {};
  };
  static constexpr Steps<Count> kSteps{};

  MAXMARGIN_INLINE static void add(Node& node, const Count* step, Count s) {
#pragma omp simd
    for (std::size_t k = 0; k < kFan; ++k) node.sum[k] += s * step[k];
  }
  MAXMARGIN_INLINE Count sum_to(std::size_t place) const {
    Count sum = level_[0][place / kFan].sum[place % kFan];
    for (std::size_t h = 1; h < levels_; ++h) {
      place /= kFan;
      sum += level_[h][place / kFan].sum[place % kFan];
    }
    return sum;
  }

  // level_[0] has a place for each rank, level_[h] one for each node of level h - 1: the sum of the
  // nodes before it under the same parent.
  std::vector<Node> level_[8];
  std::size_t levels_ = 0;
};

}  // namespace maxmargin
