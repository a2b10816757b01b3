#include "linear/dual_descent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.hpp"

namespace maxmargin {

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kUnknown = -1;
constexpr std::size_t kPollEntries = 1 << 18;  // non-zeros between two looks at the stop flag
// Visits ahead of which a row's state, and then its entries, are asked for.
constexpr std::size_t kStateAhead = 8, kEntriesAhead = 4;

// Rows that a shuffle may keep together, and how many rows must be visited for that: fewer are in a
// cache anyway.
constexpr std::size_t kUnit = 4, kManyRows = 4096;

// Epochs from one leap to the next, twice as many after one that failed; and how many entries they
// must have looked at for each row and feature that the leap looks at.
constexpr std::size_t kStride = 3, kLongestStride = 48, kLeastWork = 4;
// One part of so many of an epoch's entries may be of rows that a bound holds.
constexpr std::size_t kHeld = 3;
// Leaps, in units of the way since the mark. Where the rows of the way cancel each other, all that
// is left of dw is rounding errors, and slope / ||dw||^2 knows no limit. A trial point is the sum
// of t dw and of what bounds take back from it: the longer the leap, the fewer digits that leaves.
constexpr double kShortest = 0.05, kLongest = 1000;
constexpr int kTries = 3;
constexpr double kShorten = 1.0 / 3;

constexpr const char* kOverflow =
    "the features are too large for float64: sums of their squares overflow. Scale the features or "
    "lower C";

double label(double q) { return q < 0 ? -1.0 : 1.0; }

double held(double a, double cost) { return std::min(std::max(a, 0.0), cost); }
}  // namespace

DualDescent::Sums& DualDescent::Sums::operator+=(const Sums& other) {
  a += other.a;
  ayp += other.ayp;
  hinge += other.hinge;
  return *this;
}

DualDescent::DualDescent(const Rows& rows, const double* q, const double* a0, double* w,
                         std::uint64_t seed)
    : rows_(rows),
      w_(w),
      stride_(kStride),
      random_(seed),
      upper_(a0 ? 0.0 : kInfinity),
      lower_(a0 ? 0.0 : -kInfinity) {
  const std::size_t n = shape(rows).n;
  check(n < std::numeric_limits<std::uint32_t>::max(), "dual descent takes at most 2^32 - 2 rows");
  state_.resize(n);
  order_.resize(n);
  wanted_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    state_[i] = {a0 ? a0[i] : 0.0, q[i], kUnknown, 0.0};
    order_[active_] = static_cast<std::uint32_t>(i);
    active_ += q[i] != 0;  // of weight zero: a_i = 0 for ever
  }
}

// While most of many rows are visited, a few that lie side by side stay together: they share lines
// and pages of memory, and a visit is mostly a wait for those.
void DualDescent::shuffle() {
  const std::size_t unit = active_ > kManyRows && 2 * active_ > state_.size() ? kUnit : 1;
  std::uint32_t* order = order_.data() + random_.below(active_ % unit + 1);
  random_.shuffle(order, active_ / unit, unit);
}

template <class View>
DualDescent::Epoch DualDescent::visit(const View& rows, Stop* stop) {
  Epoch epoch;
  double most = -kInfinity, least = kInfinity;  // extreme projected gradients met
  std::uint32_t* order = order_.data();
  shuffle();
  // By whether a_i sits at that bound. Which it does is as good as random: tables, not branches.
  const double aside_above[2] = {kInfinity, upper_}, aside_below[2] = {-kInfinity, lower_};
  const double most_gradient[2] = {kInfinity, 0.0}, least_gradient[2] = {-kInfinity, 0.0};
  std::size_t polled = 0;
  for (std::size_t k = 0; k < active_; ++k) {
    if (k + kStateAhead < active_) {
      __builtin_prefetch(&state_[order[k + kStateAhead]], 1);
      rows.prefetch_start(order[k + kStateAhead]);
    }
    if (k + kEntriesAhead < active_) rows.prefetch(order[k + kEntriesAhead]);
    const std::size_t i = order[k];
    State& row = state_[i];
    const double y = label(row.q), cost = std::fabs(row.q), a = row.a;
    const bool at_zero = a == 0, at_cost = a == cost;
    const double G = y * dot(rows, i, w_) - 1;
    epoch.gap += cost * std::max(-G, 0.0) + a * G;
    epoch.entries += rows.entries(i) + 1;
    ++epoch.visited;
    if (row.norm <= 0) {
      row.norm = squared_norm(rows, i);
      check(std::isfinite(row.norm), kOverflow);
      if (row.norm == 0) {
        epoch.rise += cost - a;
        row.a = cost;  // the constant loss of an empty row
        std::swap(order[k--], order[--active_]);
        continue;
      }
    }
    if ((G > aside_above[at_zero]) | (G < aside_below[at_cost])) {
      std::swap(order[k--], order[--active_]);
      continue;
    }
    const double projected = std::min(std::max(G, least_gradient[at_cost]), most_gradient[at_zero]);
    most = std::max(most, projected);
    least = std::min(least, projected);
    if (projected != 0) {
      row.a = std::min(std::max(a - G / row.norm, 0.0), cost);
      const double change = row.a - a;
      epoch.rise -= change * (G + 0.5 * change * row.norm);
      add(rows, i, change * y, w_);
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

DualDescent::Epoch DualDescent::epoch(Stop* stop) {
  if (stop) stop->throw_if_requested();
  Epoch epoch = std::visit([&](const auto& view) { return visit(view, stop); }, rows_);
  ++since_mark_.epochs;
  since_mark_.entries += epoch.entries;
  const std::size_t width = shape(rows_).width();
  if (since_mark_.epochs >= stride_ && since_mark_.entries >= kLeastWork * (width + reach_)) {
    if (marked_w_.empty()) {
      mark();
    } else {
      epoch.rise += leap(stop);
    }
    since_mark_ = {};
  }
  return epoch;
}

// The way of the next leap begins here. All rows that change from here on are among those to visit.
void DualDescent::mark() {
  const std::size_t width = shape(rows_).width();
  marked_w_.resize(width);
  tried_w_.resize(width);
  std::copy_n(w_, width, marked_w_.data());
  reach_ = 2 * active_ > state_.size() ? state_.size() : active_;
  for (std::size_t k = 0; k < reach_; ++k) {
    State& row = state_[reached(k)];
    row.mark = row.a;
  }
}

// D(a + t da) = D(a) + t (sum da - <w, dw>) - t^2 / 2 ||dw||^2 before bounds are looked at.
double DualDescent::leap(Stop* stop) {
  double slope = 0, curvature = 0;
  for (std::size_t k = 0; k < reach_; ++k) {
    const State& row = state_[reached(k)];
    slope += row.a - row.mark;
  }
  for (std::size_t j = 0; j < marked_w_.size(); ++j) {
    const double dw = w_[j] - marked_w_[j];
    slope -= w_[j] * dw;
    curvature += dw * dw;
  }
  double t = curvature > 0 ? std::min(slope / curvature, kLongest) : 0;
  for (int k = 0; k < kTries && t > kShortest; ++k, t *= kShorten) {
    const double rise = std::visit([&](const auto& view) { return tried(view, t, stop); }, rows_);
    if (rise == -kInfinity) break;  // a shorter leap is held by the same bounds
    if (rise <= 0) continue;
    // The next way begins where this leap did: it keeps the direction, as momentum does.
    for (std::size_t r = 0; r < reach_; ++r) {
      State& row = state_[reached(r)];
      const double a = row.a;
      row.a = held(row.onward(t), std::fabs(row.q));
      row.mark = a;
    }
    std::copy_n(w_, marked_w_.size(), marked_w_.data());
    std::copy(tried_w_.begin(), tried_w_.end(), w_);
    stride_ = kStride;
    return rise;
  }
  stride_ = std::min(2 * stride_, kLongestStride);
  mark();
  return 0;
}

// The rise of D by a leap of length t, and its w in tried_w_. Not worth finding out (-infinity)
// where bounds hold so many rows that the leap would be another way than the one come.
template <class View>
double DualDescent::tried(const View& rows, double t, Stop* stop) {
  for (std::size_t j = 0; j < tried_w_.size(); ++j)
    tried_w_[j] = w_[j] + t * (w_[j] - marked_w_[j]);
  double rise = 0;
  const std::size_t most = since_mark_.entries / since_mark_.epochs / kHeld;
  std::size_t entries = 0, polled = 0;
  for (std::size_t k = 0; k < reach_; ++k) {
    const std::size_t i = reached(k);
    const State& row = state_[i];
    if (row.a == row.mark) continue;
    const double free = row.onward(t), a = held(free, std::fabs(row.q));
    rise += a - row.a;
    if (a == free) continue;
    add(rows, i, (a - free) * label(row.q), tried_w_.data());
    entries += rows.entries(i) + 1;
    if (entries > most) return -kInfinity;
    if (entries - polled > kPollEntries) {
      polled = entries;
      if (stop) stop->throw_if_requested();
    }
  }
  for (std::size_t j = 0; j < tried_w_.size(); ++j)
    rise -= 0.5 * (tried_w_[j] - w_[j]) * (tried_w_[j] + w_[j]);
  return rise;
}

bool DualDescent::is_wanted(const State& row, double G) const {
  if (row.q == 0 || row.norm == 0) return false;
  if (row.a == 0) return G <= upper_;
  if (row.a == std::fabs(row.q)) return G >= lower_;
  return true;
}

DualDescent::Sums DualDescent::look(const double* p, Pool& pool) {
  const std::size_t n = state_.size();
  const Sums sums = sum_pieces<Sums>(n, pool, [&](Range range) {
    Sums part;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const State& row = state_[i];
      const double G = label(row.q) * p[i] - 1;
      part.a += row.a;
      part.ayp += row.a * (G + 1);
      part.hinge += std::fabs(row.q) * std::max(-G, 0.0);
      wanted_[i] = is_wanted(row, G);
    }
    return part;
  });
  active_ = 0;
  for (std::size_t i = 0; i < n; ++i) {
    order_[active_] = static_cast<std::uint32_t>(i);
    active_ += wanted_[i];
  }
  if (!marked_w_.empty()) mark();  // rows of the way so far may be in `order_` no more
  since_mark_ = {};
  return sums;
}

void DualDescent::copy_dual(double* a) const {
  for (std::size_t i = 0; i < state_.size(); ++i) a[i] = state_[i].a;
}

}  // namespace maxmargin
