// The trainer of the cached loops (Matsushima, Vishwanathan, Smola 2012, algorithm 2).
//
//   G_i = y_i <w, x_i> - 1;   a_i <- clip(a_i - G_i / ||x_i||^2, 0, C_i);   w += change y_i x_i
//
// Rows arrive in blocks. Each row of a block is visited when it arrives; if it is informative, that
// is unless (a_i = 0 and G_i > upper) or (a_i = C_i and G_i < lower), it goes into the cache, where
// sweeps visit it again and again until it is informative no more. So no row leaves the cache
// before its first visit.
//
// Several problems (one class against the rest) share the rows, the cache and the passes. Each has
// its own w, a and order of visits, and a thread for itself if there is one. Between two calls all
// a and w are consistent. Everything is a function of the seed and of the order of the calls.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "base/flag.hpp"
#include "base/parallel.hpp"
#include "base/portable.hpp"
#include "base/random.hpp"
#include "linear/row_cache.hpp"
#include "rows/packed.hpp"

namespace maxmargin {

// Dual variables of all rows, in float64 or float32. In float32 the upper bound is C_i rounded
// down, so that they stay feasible.
struct DualVariables {
  double* wide = nullptr;
  float* narrow = nullptr;

  double get(std::int64_t i) const { return wide ? wide[i] : static_cast<double>(narrow[i]); }
  double top(double cost) const;
  void prefetch(std::int64_t i) const {
    wide ? prefetch_write(wide + i) : prefetch_write(narrow + i);
  }
  // Returns the value as stored.
  double set(std::int64_t i, double value) const {
    if (wide) return wide[i] = value;
    return static_cast<double>(narrow[i] = static_cast<float>(value));
  }
};

class CachedLoops {
 public:
  // Where a gap check adds up losses: points from + k (to - from), two vectors for each problem.
  struct Line {
    std::vector<const double*> from, to;
  };
  static constexpr std::array<double, 14> kLine = {1,   0.9, 0.8, 0.7,  0.6,  0.5,  0.4,
                                                   0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0};

  struct Tally {
    double gain = 0;          // rise of the dual objective
    double hinge = 0;         // sum of C_i max(0, -G_i) when visited
    double most = 0;          // extreme projected gradients
    double least = 0;         //
    std::size_t visits = 0;   //
    std::size_t entries = 0;  // features looked at
    double rate() const { return entries > 0 ? gain / static_cast<double>(entries) : 0; }
    void operator+=(const Tally& other);
    void note_extremes(const Tally& other);
  };
  struct Arrival {
    Tally fresh, cached;
  };

  CachedLoops(const Format& format, std::size_t n, std::size_t problems, std::size_t budget,
              std::uint64_t seed);
  CachedLoops(const CachedLoops&) = delete;
  CachedLoops& operator=(const CachedLoops&) = delete;

  // Problem k: rows of class `positive` against all others. The arrays stay the caller's.
  void set_problem(std::size_t k, std::int32_t positive, DualVariables alpha, double* w);
  // No visits for problem k from here on.
  void set_finished(std::size_t k);

  // Visits every row of a block once, in random order, and caches the informative ones. Each visit
  // is followed by one in the cache: otherwise rows sorted by class, say, pull w to and fro. Throws
  // Stopped.
  Arrival consume(const PackedBlock& block, Pool& pool);
  // Visits up to this many cached rows of each problem, in random order.
  Tally sweep(std::size_t visits, Pool& pool);
  // Sweeps of `slice` visits for each problem while they pay, and until a block is `ready` (null:
  // do not wait for one). They pay while they raise the dual objective by more for each feature
  // looked at than `least`, for at most `allowance` visits; before the first slice by `rate`.
  struct Terms {
    std::size_t slice, allowance;
    double least, rate;
  };
  Tally sweep_while(Terms terms, const Flag* ready, Pool& pool);
  // The tally of problem k since `start_pass`.
  const Tally& pass_tally(std::size_t k) const { return problems_[k].pass; }
  void start_pass();
  // From here on rows with gradients beyond the extremes of the pass are uninformative.
  void end_pass();

  // A gap check is a pass with all a frozen, and begins by setting w to 0. `check_gap` adds a
  // block: its losses at the points of the line to losses[k * kLine.size() ..], and its share of w
  // = sum_i a_i y_i x_i; a_i that are not feasible are clipped first. Rows that are informative at
  // `to` go into the cache. After `end_check`, w is that of a whatever it was before.
  void start_check();
  void check_gap(const PackedBlock& block, const Line& line, double* losses, Pool& pool);
  // The same for all rows, when all are in the cache.
  void check_gap_in_cache(const Line& line, double* losses, Pool& pool);
  void end_check();

  // What the dual objective needs besides w, and what bounds the rounding error of w.
  struct DualSums {
    double alpha = 0, lost = 0;  // sum of all a_i, and what it lost to rounding
    double reach = 0;            // sum_i a_i ||x_i||
    std::size_t terms = 0;       // rows with a_i > 0
  };
  const DualSums& dual_sums(std::size_t k) const { return problems_[k].sums; }

  bool complete() const { return cache_.rows() == n_; }
  std::size_t cached() const { return cache_.rows(); }
  std::size_t active() const;         // cached rows still visited, over all problems
  std::size_t longest_round() const;  // the most of them in one problem

 private:
  struct Problem {
    std::int32_t positive = 0;
    DualVariables alpha;
    double* w = nullptr;
    double upper, lower;               // rows at a bound with gradients beyond are uninformative
    std::vector<std::uint32_t> order;  // slots; those before `cursor` were visited this round
    std::vector<std::uint32_t> place;  // by slot: where in order, or kNone
    std::size_t cursor = 0;
    std::vector<std::uint32_t> released;  // slots set aside by the sweep under way
    double most = 0, least = 0;           // extreme projected gradients of the round
    Tally pass;
    DualSums sums;
    std::vector<double> lost;  // by w to rounding, in a gap check
    Random random{0};
    bool finished = false;
  };

  // Whether the row was informative.
  template <class Entries>
  bool visit(Problem& problem, const PackedRow& row, const Entries& x, Tally& tally);
  bool informative(const Problem& problem, const PackedRow& row, double a, double G) const;
  void visit_rows(Problem& problem, const PackedBlock& block, Range range, std::uint8_t* wanted,
                  Arrival& tally);
  template <class Access>
  void visit_cached(Problem& problem, Access& access, Tally& tally);
  void release();
  void sweep_problem(Problem& problem, std::size_t visits, Tally& tally);
  void next_round(Problem& problem);
  void shuffle(Problem& problem);
  template <class RowAt>
  void check_rows(RowAt row_at, Range range, const Line& line, double* losses, Pool& pool);
  template <class Entries>
  void add_to_dual(Problem& problem, const PackedRow& row, const Entries& x);
  void check_block(const PackedBlock& block);
  void take(const PackedRow& row, const std::uint8_t* wanted, std::size_t stride);
  void activate(Problem& problem, std::uint32_t slot);
  void deactivate(Problem& problem, std::uint32_t slot);
  void arrange(const PackedBlock& block);

  Format format_;
  std::size_t n_;
  std::vector<Problem> problems_;
  RowCache cache_;
  RowCache::Evicted evicted_;
  bool keep_all_ = false;  // the whole source seems to fit
  std::size_t chunk_ = 0;  // visits between two looks at the stop flag
  std::size_t crowded_ = 0;
  std::vector<std::uint32_t> permutation_;
  std::vector<std::uint8_t> wanted_;
  Random random_;
};

}  // namespace maxmargin
