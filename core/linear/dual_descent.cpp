#include "linear/dual_descent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/check.hpp"
#include "base/portable.hpp"
#include "base/random.hpp"
#include "linear/dual_state.hpp"
#include "rows/single_row.hpp"

namespace maxmargin {

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kPollEntries = 1 << 18;  // non-zeros between two looks at the stop flag
// Visits ahead of which a row's state, and then its entries, are asked for.
constexpr std::size_t kStateAhead = 8, kEntriesAhead = 4;

// Rows that a shuffle may keep together, and how many rows must be visited for that: fewer are in a
// cache anyway.
constexpr std::size_t kUnit = 4, kManyRows = 4096;

// Epochs from one extrapolation to the next, twice as many after one that failed; and how many
// entries they must have looked at for each row and feature that the extrapolation looks at.
constexpr std::size_t kStride = 3, kLongestStride = 48, kLeastWork = 4;
// One part of so many of an epoch's entries may be of rows that leave the domain.
constexpr std::size_t kClipped = 3;
// Steps of an extrapolation, in units of the way from the anchor. Where the rows of the direction
// cancel each other, all that is left of dw is rounding errors, and slope / curvature knows no
// limit. A trial point is the sum of k dw and of what clipping takes back from it: the longer the
// step, the fewer digits that leaves.
constexpr double kShortest = 0.05, kLongest = 1000;
constexpr int kTries = 3;
constexpr double kShorten = 1.0 / 3;

constexpr const char* kOverflow =
    "the features are too large for float64: sums of their squares overflow. Scale the features or "
    "lower C";

template <class Loss>
class Descent final : public DualDescent {
 public:
  Descent(const Rows& rows, const Loss& loss, const PointwiseSum& sum, const double* u0, double* w,
          std::uint64_t seed);
  Epoch epoch(Stop* stop) override;
  Sums check_gap(const double* p, Pool& pool) override;
  void copy_dual(double* u) const override;
  std::size_t active() const override { return active_; }

 private:
  using State = DualState<Loss>;
  // Where an extrapolation of k takes u_i before it is clipped.
  static double trial_of(const State& row, double k) { return row.u + k * (row.u - row.anchor); }

  void shuffle();  // the order of the rows to visit
  template <class View>
  Epoch visit(const View& rows, Stop* stop);
  template <class View>
  bool know_norm(const View& rows, std::size_t i, double r, Epoch& epoch);
  void set_anchor();
  // The rows of `reach_`: those to visit at the anchor, or all, in the order they lie in memory.
  std::size_t reached(std::size_t k) const { return reach_ == state_.size() ? k : order_[k]; }
  double best_step() const;
  double extrapolate(Stop* stop);  // the rise of D; sets the anchor of the next one
  template <class View>
  double rise_at(const View& rows, double k, Stop* stop);
  void move_to_trial(double k);
  // Whether the row is at a kink and its slopes to both sides, G = f*'(u) - r, point well back.
  bool is_settled(const Interval& G) const { return (G.high > upper_) & (G.low < lower_); }

  Rows rows_;
  Loss loss_;
  double* w_;
  std::vector<State> state_;
  std::vector<std::uint32_t> order_;  // order_[0 .. active_) are visited
  std::vector<std::uint8_t> wanted_;
  std::size_t active_ = 0;
  std::vector<double> anchor_w_, trial_w_;  // empty before the first anchor
  std::size_t stride_ = kStride;            // epochs to the next extrapolation
  std::size_t reach_ = 0;  // rows among which are all that changed since the anchor
  struct {
    std::size_t epochs = 0, entries = 0;
  } since_anchor_;
  Random random_;
  double upper_, lower_;  // M+ and M-: rows with gradients beyond are set aside
};

template <class Loss>
Descent<Loss>::Descent(const Rows& rows, const Loss& loss, const PointwiseSum& sum,
                       const double* u0, double* w, std::uint64_t seed)
    : rows_(rows),
      loss_(loss),
      w_(w),
      random_(seed),
      upper_(u0 ? 0.0 : kInfinity),
      lower_(u0 ? 0.0 : -kInfinity) {
  const std::size_t n = shape(rows).n;
  check(n < std::numeric_limits<std::uint32_t>::max(), "dual descent takes at most 2^32 - 2 rows");
  state_.resize(n);
  order_.resize(n);
  wanted_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    State& row = state_[i];
    const double u = u0 ? loss.clip(u0[i]) : 0.0;
    row.move(u, dual_point(loss, u));
    row.q = sum.q[i];
    if constexpr (!Loss::kOnMargins) row.t = sum.t[i];
    order_[active_] = static_cast<std::uint32_t>(i);
    active_ += sum.q[i] != 0;  // of weight zero: it never counts
  }
}

// While most of many rows are visited, a few that lie side by side stay together: they share lines
// and pages of memory, and a visit is mostly a wait for those.
template <class Loss>
void Descent<Loss>::shuffle() {
  const std::size_t unit = active_ > kManyRows && 2 * active_ > state_.size() ? kUnit : 1;
  std::uint32_t* order = order_.data() + random_.below(active_ % unit + 1);
  random_.shuffle(order, active_ / unit, unit);
}

// False if the row is empty: then its loss is a constant, and u_i is the slope there.
template <class Loss>
template <class View>
bool Descent<Loss>::know_norm(const View& rows, std::size_t i, double r, Epoch& epoch) {
  State& row = state_[i];
  const double cost = std::fabs(row.q);
  row.s = cost * squared_norm(rows, i);
  check(std::isfinite(row.s), kOverflow);
  if (row.s > 0) return true;
  const double u = loss_.slope(r);
  epoch.rise += cost * ((u - row.u) * r - (loss_.conjugate(u) - loss_.conjugate(row.u)));
  row.move(u, dual_point(loss_, u));
  return false;
}

template <class Loss>
template <class View>
DualDescent::Epoch Descent<Loss>::visit(const View& rows, Stop* stop) {
  Epoch epoch;
  double most = -kInfinity, least = kInfinity;  // extreme projected gradients met
  std::uint32_t* order = order_.data();
  shuffle();
  std::size_t polled = 0;
  for (std::size_t k = 0; k < active_; ++k) {
    if (k + kStateAhead < active_) {
      prefetch_write(&state_[order[k + kStateAhead]]);
      rows.prefetch_start(order[k + kStateAhead]);
    }
    if (k + kEntriesAhead < active_) rows.prefetch(order[k + kEntriesAhead]);
    const std::size_t i = order[k];
    State& row = state_[i];
    const double u = row.u, cost = std::fabs(row.q);
    const double r = row.residual(row_dot(rows, i, w_));
    const DualPoint at = row.point(loss_);
    const Interval G{at.slopes.low - r, at.slopes.high - r};
    epoch.gap += cost * (loss_.value(r) - u * r + at.conjugate);
    epoch.entries += rows.entries(i) + 1;
    ++epoch.visited;
    if ((row.s <= 0 && !know_norm(rows, i, r, epoch)) || is_settled(G)) {
      std::swap(order[k--], order[--active_]);
      continue;
    }
    const double projected = std::min(std::max(0.0, G.low), G.high);
    most = std::max(most, projected);
    least = std::min(least, projected);
    if (projected != 0) {
      const DualStep to = dual_step(loss_, r, u, row.s, at);
      const double change = to.u - u;
      epoch.rise += cost * (change * (r - 0.5 * change * row.s) - (to.at.conjugate - at.conjugate));
      row.move(to.u, to.at);
      row_add(rows, i, change * row.q, w_);
    }
    if (epoch.entries - polled > kPollEntries) {
      polled = epoch.entries;
      if (stop) stop->throw_if_requested();
    }
  }
  upper_ = most > 0 ? most : kInfinity;
  lower_ = least < 0 ? least : -kInfinity;
  return epoch;
}

template <class Loss>
DualDescent::Epoch Descent<Loss>::epoch(Stop* stop) {
  if (stop) stop->throw_if_requested();
  Epoch epoch = std::visit([&](const auto& view) { return visit(view, stop); }, rows_);
  ++since_anchor_.epochs;
  since_anchor_.entries += epoch.entries;
  const std::size_t width = shape(rows_).width();
  if (since_anchor_.epochs >= stride_ && since_anchor_.entries >= kLeastWork * (width + reach_)) {
    if (anchor_w_.empty()) {
      set_anchor();
    } else {
      epoch.rise += extrapolate(stop);
    }
    since_anchor_ = {};
  }
  return epoch;
}

// The direction of the next extrapolation begins here. All rows that change from here on are among
// those to visit.
template <class Loss>
void Descent<Loss>::set_anchor() {
  const std::size_t width = shape(rows_).width();
  anchor_w_.resize(width);
  trial_w_.resize(width);
  std::copy_n(w_, width, anchor_w_.data());
  reach_ = 2 * active_ > state_.size() ? state_.size() : active_;
  for (std::size_t k = 0; k < reach_; ++k) {
    State& row = state_[reached(k)];
    row.anchor = row.u;
  }
}

// Where D(u + k du) is highest by its slope and curvature at k = 0, before anything is clipped.
template <class Loss>
double Descent<Loss>::best_step() const {
  double slope = 0, curvature = 0;
  for (std::size_t k = 0; k < reach_; ++k) {
    const State& row = state_[reached(k)];
    const double du = row.u - row.anchor, cost = std::fabs(row.q);
    if (du == 0) continue;
    const Interval ends = loss_.conjugate_slope(row.u);
    const double bent = du > 0 ? ends.high : ends.low, bend = loss_.curvature(row.u);
    slope += cost * du * (row.target() - (std::isfinite(bent) ? bent : 0.0));
    curvature += std::isfinite(bend) ? cost * bend * du * du : 0.0;
  }
  for (std::size_t j = 0; j < anchor_w_.size(); ++j) {
    const double dw = w_[j] - anchor_w_[j];
    slope -= w_[j] * dw;
    curvature += dw * dw;
  }
  return curvature > 0 ? std::min(slope / curvature, kLongest) : 0;
}

template <class Loss>
double Descent<Loss>::extrapolate(Stop* stop) {
  double k = best_step();
  for (int tried = 0; tried < kTries && k > kShortest; ++tried, k *= kShorten) {
    const double rise = std::visit([&](const auto& view) { return rise_at(view, k, stop); }, rows_);
    if (rise == -kInfinity) break;  // a shorter step leaves the domain in the same rows
    if (rise <= 0) continue;
    move_to_trial(k);
    stride_ = kStride;
    return rise;
  }
  stride_ = std::min(2 * stride_, kLongestStride);
  set_anchor();
  return 0;
}

// The next direction begins where this extrapolation did: it keeps the direction, as momentum does.
template <class Loss>
void Descent<Loss>::move_to_trial(double k) {
  for (std::size_t m = 0; m < reach_; ++m) {
    State& row = state_[reached(m)];
    const double u = row.u;
    if (u != row.anchor) {
      const double next = loss_.clip(trial_of(row, k));
      row.move(next, dual_point(loss_, next));
    }
    row.anchor = u;
  }
  std::copy_n(w_, anchor_w_.size(), anchor_w_.data());
  std::copy(trial_w_.begin(), trial_w_.end(), w_);
}

// The rise of D at the trial point, and its w in trial_w_. Not worth finding out (-infinity) where
// so many rows are clipped that it would be another direction than the one come.
template <class Loss>
template <class View>
double Descent<Loss>::rise_at(const View& rows, double k, Stop* stop) {
  for (std::size_t j = 0; j < trial_w_.size(); ++j)
    trial_w_[j] = w_[j] + k * (w_[j] - anchor_w_[j]);
  double rise = 0;
  const std::size_t most = since_anchor_.entries / since_anchor_.epochs / kClipped;
  std::size_t entries = 0, polled = 0;
  for (std::size_t m = 0; m < reach_; ++m) {
    const std::size_t i = reached(m);
    const State& row = state_[i];
    if (row.u == row.anchor) continue;
    const double free = trial_of(row, k), u = loss_.clip(free);
    rise += std::fabs(row.q) *
            ((u - row.u) * row.target() - (loss_.conjugate(u) - loss_.conjugate(row.u)));
    if (u == free) continue;
    row_add(rows, i, (u - free) * row.q, trial_w_.data());
    entries += rows.entries(i) + 1;
    if (entries > most) return -kInfinity;
    if (entries - polled > kPollEntries) {
      polled = entries;
      if (stop) stop->throw_if_requested();
    }
  }
  for (std::size_t j = 0; j < trial_w_.size(); ++j)
    rise -= 0.5 * (trial_w_[j] - w_[j]) * (trial_w_[j] + w_[j]);
  return rise;
}

template <class Loss>
DualDescent::Sums Descent<Loss>::check_gap(const double* p, Pool& pool) {
  const std::size_t n = state_.size();
  const Sums sums = sum_pieces<Sums>(n, pool, [&](Range range) {
    Sums part;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const State& row = state_[i];
      const double cost = std::fabs(row.q), r = row.residual(p[i]);
      const double linear = row.target() * row.u, conjugate = loss_.conjugate(row.u);
      const Interval slopes = loss_.conjugate_slope(row.u);
      part.dual.value += cost * (linear - conjugate);
      part.dual.size += cost * (std::fabs(linear) + std::fabs(conjugate));
      part.bp += row.q * row.u * p[i];
      part.value += cost * loss_.value(r);
      wanted_[i] = cost != 0 && row.s != 0 && !is_settled({slopes.low - r, slopes.high - r});
    }
    return part;
  });
  active_ = 0;
  for (std::size_t i = 0; i < n; ++i) {
    order_[active_] = static_cast<std::uint32_t>(i);
    active_ += wanted_[i];
  }
  if (!anchor_w_.empty()) set_anchor();  // rows of the direction may be in `order_` no more
  since_anchor_ = {};
  return sums;
}

template <class Loss>
void Descent<Loss>::copy_dual(double* u) const {
  for (std::size_t i = 0; i < state_.size(); ++i) u[i] = state_[i].u;
}

}  // namespace

DualDescent::Sums& DualDescent::Sums::operator+=(const Sums& other) {
  dual.value += other.dual.value;
  dual.size += other.dual.size;
  bp += other.bp;
  value += other.value;
  return *this;
}

std::unique_ptr<DualDescent> make_dual_descent(const Rows& rows, const PointwiseSum& sum,
                                               const double* u0, double* w, std::uint64_t seed) {
  return std::visit(
      [&](const auto& loss) -> std::unique_ptr<DualDescent> {
        return std::make_unique<Descent<std::decay_t<decltype(loss)>>>(rows, loss, sum, u0, w,
                                                                       seed);
      },
      sum.loss);
}

}  // namespace maxmargin
