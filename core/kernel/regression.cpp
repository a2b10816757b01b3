#include "kernel/regression.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>

#include "base/check.hpp"

namespace maxmargin {

namespace {

constexpr double kFar = 1e300;      // stands for an end of a domain that has none
constexpr double kHuge = 1e150;     // stands for 1 / 0 where neither kernel nor loss bends
constexpr float kFlattest = 1e30f;  // the same in float32
constexpr std::uint64_t kPollEvery = 256;
constexpr std::uint64_t kLookEvery = 16;  // iterations between two looks at the gap, at most

double inverse(double x) { return x > 1 / kHuge ? 1 / x : kHuge; }

}  // namespace

double LossShape::value(double r) const {
  const double x = std::fabs(r) - tube;
  if (x <= 0) return 0;
  const double bend = r > 0 ? bend_above : bend_below, most = r > 0 ? high : -low;
  if (bend == 0) return most * x;
  const double u = std::min(x / bend, most);
  return u * (x - 0.5 * bend * u);
}

LossShape shape_of(const PointwiseLoss& loss) {
  return std::visit(
      [](const auto& f) -> LossShape {
        if constexpr (std::decay_t<decltype(f)>::kOnMargins)
          throw InvalidInput("a kernel regression needs a loss of residuals");
        else
          return {f.tube(), std::max(f.low(), -kFar), std::min(f.high(), kFar), f.bend_below(),
                  f.bend_above()};
      },
      loss);
}

RegressionSteps::RegressionSteps(KernelRows& rows, std::vector<Range> ranges,
                                 RegressionArrays arrays, const LossShape& shape)
    : rows_(rows), ranges_(std::move(ranges)), arrays_(arrays), shape_(shape) {
  for (const Range& range : ranges_) {
    check(range.begin <= range.end && range.end <= rows_.n(),
          "a range of points lies outside the data");
    points_ += range.end - range.begin;
    for (std::size_t i = range.begin; i < range.end; ++i)
      if (!(rows_.diagonal(i) >= 0))
        throw InvalidInput("the kernel is not positive definite: k(x, x) = " +
                           std::to_string(rows_.diagonal(i)) + " at row " + std::to_string(i));
  }
  for (auto* values : {&low_, &high_, &bend_below_, &bend_above_, &inverse_below_, &inverse_above_})
    values->assign(rows_.n(), 0.0);
  straight_ = shape_.tube == 0 && shape_.bend_below == 0 && shape_.bend_above == 0;
  if (!straight_) return;
  for (auto* values : {&below_, &above_, &diagonal_, &inverse_}) values->assign(rows_.n(), 0.0f);
  for (std::size_t i = 0; i < rows_.n(); ++i) {
    const double k = rows_.diagonal(i);
    unit_diagonal_ = unit_diagonal_ && k == 1;
    diagonal_[i] = static_cast<float>(k);
    inverse_[i] = k > 1 / kFlattest ? static_cast<float>(1 / k) : kFlattest;
  }
}

void RegressionSteps::begin() {
  for (const Range& range : ranges_)
    for (std::size_t i = range.begin; i < range.end; ++i) note(i);
  previous_ = -1;
  zeros_.assign(rows_.n(), 0.0f);
  sweep_all(zeros_.data(), zeros_.data(), 0, 0);
  look();
}

void RegressionSteps::note(std::size_t i) {
  const double c = arrays_.c[i], k = rows_.diagonal(i);
  low_[i] = c > 0 ? std::max(c * shape_.low, -kFar) : 0.0;
  high_[i] = c > 0 ? std::min(c * shape_.high, kFar) : 0.0;
  bend_below_[i] = c > 0 ? shape_.bend_below / c : 0.0;
  bend_above_[i] = c > 0 ? shape_.bend_above / c : 0.0;
  inverse_below_[i] = inverse(bend_below_[i] + k);
  inverse_above_[i] = inverse(bend_above_[i] + k);
  if (straight_) note_reach(i);
}

void RegressionSteps::note_reach(std::size_t i) {
  below_[i] = static_cast<float>(low_[i] - arrays_.beta[i]);
  above_[i] = static_cast<float>(high_[i] - arrays_.beta[i]);
}

RunEnd RegressionSteps::run(double tolerance, double scale, std::uint64_t limit, Stop* stop,
                            bool owns_stop) {
  const auto within = [&] { return gap_ <= tolerance * std::max(P_, scale); };
  const auto ended = [&](RunEnd why) {
    look();
    return within() ? RunEnd::tolerance : why;
  };
  look();
  std::uint64_t next_look = 0;
  for (std::uint64_t k = 0;; ++k) {
    if (k >= next_look) {
      look();
      if (within()) return RunEnd::tolerance;
      next_look = k + 1 + std::min(k / 16, kLookEvery - 1);
    }
    if (k >= limit) return ended(RunEnd::limit);
    if (stop && k % kPollEvery == 0 && (owns_stop ? stop->poll() : stop->requested()))
      return ended(RunEnd::stopped);
    const Pair pair = select();
    if (!(pair.step.gain > 0)) return ended(RunEnd::stalled);
    move(pair);
  }
}

double RegressionSteps::h(std::size_t i, double b) const {
  return std::fabs(b) * (shape_.tube + 0.5 * bend(i, b < 0) * std::fabs(b));
}

// One piece if h has no kink at 0, else one for each sign of beta.
int RegressionSteps::pieces(std::size_t i, Piece* out) const {
  const double b = arrays_.beta[i], k = rows_.diagonal(i), r = arrays_.r[i];
  const bool kink = shape_.tube > 0 || shape_.bend_below != shape_.bend_above;
  const double known = h(i, b);
  for (int side = 0; side < (kink ? 2 : 1); ++side) {
    const bool below = side == 1;
    const double tube = below ? -shape_.tube : shape_.tube, curve = bend(i, below);
    const double low = kink && !below ? 0.0 : low_[i], high = below ? 0.0 : high_[i];
    out[side] = {{r - tube - curve * b, k + curve, low - b, high - b},
                 known - b * (tube + 0.5 * curve * b)};
  }
  return kink ? 2 : 1;
}

void RegressionSteps::consider(std::size_t i, std::size_t j, double k, Pair& pair) const {
  if (i == j) return;
  Piece a[2], b[2];
  const int of_a = pieces(i, a), of_b = pieces(j, b);
  for (int p = 0; p < of_a; ++p)
    for (int q = 0; q < of_b; ++q) {
      Step step = step_two(a[p].variable, b[q].variable, k);
      step.gain += a[p].offset + b[q].offset;
      if (step.gain > pair.step.gain)
        pair = {static_cast<std::ptrdiff_t>(i), static_cast<std::ptrdiff_t>(j), step};
    }
}

RegressionSteps::Pair RegressionSteps::select() {
  const bool first = half_[0].gain >= half_[1].gain;
  const Direction best = half_[first ? 0 : 1], other = half_[first ? 1 : 0];
  Pair pair;
  if (best.index < 0) return pair;
  const auto i = static_cast<std::size_t>(best.index);
  Piece alone[2];
  const int count = pieces(i, alone);
  for (int p = 0; p < count; ++p) {
    const Variable& v = alone[p].variable;
    const double d = best_move(v.r, v), gain = d * (v.r - 0.5 * d * v.k) + alone[p].offset;
    if (gain > pair.step.gain) pair = {best.index, -1, {d, 0, gain}};
  }
  const float* row = rows_.row(i);
  for (const std::ptrdiff_t j : {previous_, other.index})
    if (j >= 0) consider(i, static_cast<std::size_t>(j), row[j], pair);
  previous_ = best.index;
  return pair;
}

// Moves beta_i by d, exactly to a bound that it reaches, and tells by how much it moved.
double RegressionSteps::shift(std::size_t i, double d) {
  double& beta = arrays_.beta[i];
  const double before = beta, low = low_[i], high = high_[i];
  beta = d <= low - beta ? low : (d >= high - beta ? high : clip(beta + d, low, high));
  if (straight_) note_reach(i);
  return beta - before;
}

void RegressionSteps::move(const Pair& pair) {
  const auto i = static_cast<std::size_t>(pair.first);
  const auto j = static_cast<std::size_t>(pair.second >= 0 ? pair.second : pair.first);
  const float* row_i = rows_.row(i);
  const float* row_j = rows_.row(j);
  const double d_first = shift(i, pair.step.d_first);
  const double d_second = pair.second >= 0 ? shift(j, pair.step.d_second) : 0.0;
  ++iterations_;
  sweep_all(row_i, row_j, d_first, d_second);
}

void RegressionSteps::sweep_all(const float* first, const float* second, double d_first,
                                double d_second) {
  RegressionSweep bent{arrays_.r,
                       arrays_.beta,
                       low_.data(),
                       high_.data(),
                       bend_below_.data(),
                       bend_above_.data(),
                       inverse_below_.data(),
                       inverse_above_.data(),
                       rows_.diagonals().data(),
                       shape_.tube};
  const SweepArrays straight{arrays_.r,
                             arrays_.c,
                             below_.data(),
                             above_.data(),
                             unit_diagonal_ ? nullptr : diagonal_.data(),
                             unit_diagonal_ ? nullptr : inverse_.data()};
  const std::size_t half = points_ / 2;
  std::size_t seen = 0;
  half_[0] = half_[1] = Direction{};
  for (const Range& range : ranges_) {
    const std::size_t length = range.end - range.begin;
    const std::size_t in_first = seen < half ? std::min(length, half - seen) : 0;
    const std::size_t middle = range.begin + in_first;
    const SweepUpdate update{first, second, d_first, d_second};
    const auto run = [&](std::size_t begin, std::size_t end, Direction& found) {
      if (straight_)
        sweep(straight, update, begin, end, 0, nullptr, found);
      else
        sweep_regression(bent, update, begin, end, found);
    };
    if (in_first > 0) run(range.begin, middle, half_[0]);
    if (middle < range.end) run(middle, range.end, half_[1]);
    seen += length;
  }
}

void RegressionSteps::look() {
  gap_ = P_ = 0;
  for (const Range& range : ranges_)
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const double c = arrays_.c[i], b = arrays_.beta[i], r = arrays_.r[i];
      if (c == 0) continue;
      const double loss = c * shape_.value(r);
      gap_ += std::max(loss + h(i, b) - b * r, 0.0);
      P_ += loss + 0.5 * b * (arrays_.t[i] - r);
    }
}

}  // namespace maxmargin
