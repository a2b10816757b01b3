// The trainer of the cached loops (Matsushima, Vishwanathan, Smola 2012, algorithm 2).
//
// For every pointwise loss, in the symbols of losses/pointwise/residual.hpp:
//
//   r_i = t_i - y_i <w, x_i>;   u_i <- step(r_i, u_i, c_i ||x_i||^2);   w += q_i (change) x_i
//
// Rows arrive in blocks. Each row of a block is visited when it arrives; if it is informative, that
// is unless u_i sits at a kink of the dual whose slopes to both sides, G = f*'(u_i) - r_i, point
// well back (G.high > upper and G.low < lower), it goes into the cache, where sweeps visit it again
// and again until it is informative no more. A smooth loss has no kinks: there rows stay out whose
// share of the gap, c_i (f(r_i) - u_i r_i + f*(u_i)), is small beside the mean. No row leaves the
// cache before its first visit.
//
// Several problems (one class against the rest, or several quantiles) share the rows, the cache and
// the passes. Each has its own loss, w, u and order of visits, and a thread for itself if there is
// one. Between two calls all u and w are consistent. Everything is a function of the seed and of
// the order of the calls. A problem may leave rows out, as if they cost it nothing: so folds of a
// cross-validation are problems beside each other.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/flag.hpp"
#include "base/parallel.hpp"
#include "base/portable.hpp"
#include "base/random.hpp"
#include "linear/row_cache.hpp"
#include "losses/pointwise/table.hpp"
#include "rows/packed.hpp"

namespace maxmargin {

// Dual shares u_i of all rows, in float64 or float32.
struct DualVariables {
  double* wide = nullptr;
  float* narrow = nullptr;

  double get(std::int64_t i) const { return wide ? wide[i] : static_cast<double>(narrow[i]); }
  void prefetch(std::int64_t i) const {
    wide ? prefetch_write(wide + i) : prefetch_write(narrow + i);
  }
  // Returns the value as stored: in float32 the next one towards 0 where rounding would leave the
  // domain of the loss.
  template <class Loss>
  double set(const Loss& loss, std::int64_t i, double value) const {
    if (wide) return wide[i] = value;
    auto nearest = static_cast<float>(value);
    if (loss.clip(static_cast<double>(nearest)) != static_cast<double>(nearest))
      nearest = std::nextafter(nearest, 0.0F);
    return static_cast<double>(narrow[i] = nearest);
  }
};

// f(loss, access) with the loss of a problem and the access that fits the format.
template <class F>
void with_loss(const Format& format, const PointwiseLoss& loss, F f) {
  std::visit(
      [&](const auto& known) { with_access(format, [&](auto access) { f(known, access); }); },
      loss);
}

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
    double losses = 0;        // sum of c_i f(r_i) when visited
    double dual = 0;          // sum of c_i (t_i u_i - f*(u_i)) after the visit
    double gap = 0;           // sum of the rows' shares of P - D when visited
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

  // Problem k: a loss of margins has rows of class `positive` against all others. The arrays stay
  // the caller's.
  void set_problem(std::size_t k, const PointwiseLoss& loss, std::int32_t positive,
                   DualVariables shares, double* w);
  // Problem k leaves out the rows that have `bit` in `bits`, which has a byte for each row.
  void leave_out(std::size_t k, const std::uint8_t* bits, std::uint8_t bit);
  // The paper's rule of eviction in place of ours, for comparisons: one threshold for both sides,
  // the largest projected gradient of the pass, a tenth smaller for every row that is taken while
  // more than nine tenths of the cache is in use.
  void evict_as_the_paper() { as_the_paper_ = true; }
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

  // A gap check is a pass with all u frozen, and begins by setting w to 0. `check_gap` adds a
  // block: its losses at the points of the line to losses[k * kLine.size() ..], and its share of w
  // = sum_i q_i u_i x_i; u_i that are not feasible are clipped first. Rows that are informative at
  // `to` go into the cache. After `end_check`, w is that of u whatever it was before.
  void start_check();
  void check_gap(const PackedBlock& block, const Line& line, double* losses, Pool& pool);
  // The same for all rows, when all are in the cache.
  void check_gap_in_cache(const Line& line, double* losses, Pool& pool);
  void end_check();

  // What the dual objective needs besides w, and what bounds the rounding error of w.
  struct DualSums {
    double value = 0, lost = 0;  // sum_i c_i (t_i u_i - f*(u_i)), and what it lost to rounding
    double size = 0;             // the same with all terms taken as positive
    double reach = 0;            // sum_i c_i |u_i| ||x_i||
    std::size_t terms = 0;       // rows with u_i != 0
  };
  const DualSums& dual_sums(std::size_t k) const { return problems_[k].sums; }

  bool complete() const { return cache_.rows() == n_; }
  std::size_t cached() const { return cache_.rows(); }
  std::size_t active() const;         // cached rows still visited, over all problems
  std::size_t longest_round() const;  // the most of them in one problem

 private:
  struct Problem {
    PointwiseLoss loss;
    std::int32_t positive = 0;
    DualVariables shares;
    double* w = nullptr;
    const std::uint8_t* left_out = nullptr;  // by row, if any is
    std::uint8_t bit = 0;
    double upper, lower;               // rows at a kink with gradients beyond are uninformative
    double least_gap = 0;              // rows of a smooth loss with less of the gap are, too
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

    bool leaves_out(const PackedRow& row) const { return left_out && (left_out[row.id] & bit); }
  };

  // A row as a problem sees it.
  struct Seen {
    double y, t;
  };
  template <class Loss>
  static MAXMARGIN_INLINE Seen seen(const Loss&, const Problem& problem, const PackedRow& row) {
    if constexpr (Loss::kOnMargins)
      return {row.code == problem.positive ? 1.0 : -1.0, Loss::target()};
    else
      return {1.0, row.target()};
  }
  // Whether the row was informative.
  template <class Loss, class Entries>
  bool visit(Problem& problem, const Loss& loss, const PackedRow& row, const Entries& x,
             Tally& tally);
  template <class Loss>
  MAXMARGIN_INLINE bool informative(const Loss&, const Problem& problem, const PackedRow& row,
                                    const Interval& G, double gap) const {
    if (row.cost == 0 || row.norm == 0) return false;
    if ((G.high > problem.upper) & (G.low < problem.lower)) return false;
    return Loss::kPiecewiseLinear || gap >= problem.least_gap;
  }
  void visit_rows(Problem& problem, const PackedBlock& block, Range range, std::uint8_t* wanted,
                  Arrival& tally);
  template <class Loss, class Access>
  void visit_cached(Problem& problem, const Loss& loss, Access& access, Tally& tally);
  void release();
  void sweep_problem(Problem& problem, std::size_t visits, Tally& tally);
  void next_round(Problem& problem);
  void shuffle(Problem& problem);
  template <class RowAt>
  void check_rows(RowAt row_at, Range range, const Line& line, double* losses, Pool& pool);
  template <class Loss, class Entries>
  double add_to_dual(Problem& problem, const Loss& loss, const PackedRow& row, const Entries& x);
  void check_block(const PackedBlock& block);
  bool tightens();
  void take(const PackedRow& row, const std::uint8_t* wanted, std::size_t stride);
  void activate(Problem& problem, std::uint32_t slot);
  void deactivate(Problem& problem, std::uint32_t slot);
  void arrange(const PackedBlock& block);

  Format format_;
  std::size_t n_;
  std::vector<Problem> problems_;
  RowCache cache_;
  RowCache::Evicted evicted_;
  bool keep_all_ = false;      // the whole source seems to fit
  bool as_the_paper_ = false;  // in eviction
  std::size_t room_ = 0;       // about how many rows fit
  std::size_t chunk_ = 0;      // visits between two looks at the stop flag
  std::size_t crowded_ = 0;
  std::vector<std::uint32_t> permutation_;
  std::vector<std::uint8_t> wanted_;
  Random random_;
};

}  // namespace maxmargin
