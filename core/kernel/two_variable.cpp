#include "kernel/two_variable.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/check.hpp"

namespace maxmargin {

namespace {

constexpr double kClipAt = 2.0;
constexpr double kNoClip = 1e300;
constexpr float kHuge = 1e30f;  // stands for 1 / k_ii where k_ii = 0
constexpr int kWindow = 10;     // iterations after which the flag of working set 4 is set anew
constexpr int kEnough = 5;      // steps between inner points in a window that set it
constexpr std::uint64_t kPollEvery = 256;
constexpr std::uint64_t kLookEvery = 16;  // iterations between two looks at the gap, at most

}  // namespace

TwoVariable::TwoVariable(KernelRows& rows, std::vector<Range> ranges, TwoVariableArrays arrays,
                         Neighbours neighbours, const TwoVariableOptions& options)
    : rows_(rows),
      ranges_(std::move(ranges)),
      arrays_(arrays),
      neighbours_(neighbours),
      options_(options),
      random_(options.seed) {
  const int needs_matrix = kRandomPairs | kRandomInnerPairs;
  const bool reads_everywhere = options_.working_set == kAllPairs ||
                                (options_.working_set > 0 && (options_.working_set & needs_matrix));
  check(options_.working_set >= kOneVariable && options_.working_set <= kAllWorkingSets,
        "working set " + std::to_string(options_.working_set) +
            " is unknown; expected 0 to 4095, or -1 for one variable");
  check(
      !reads_everywhere || rows_.whole(),
      "working sets 0, 256 and 2048 need the whole kernel matrix in memory; this one is cached by "
      "rows");
  for (const Range& range : ranges_) {
    check(range.begin <= range.end && range.end <= rows_.n(),
          "a range of points lies outside the data");
    points_ += range.end - range.begin;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const double k = rows_.diagonal(i);
      if (!(k >= 0))
        throw InvalidInput("the kernel is not positive definite: k(x, x) = " + std::to_string(k) +
                           " at row " + std::to_string(i));
      if (k != 1) unit_diagonal_ = false;
    }
  }
  if (!unit_diagonal_) {
    diagonal_.assign(rows_.diagonals().begin(), rows_.diagonals().end());
    inverse_.assign(rows_.n(), kHuge);
    for (std::size_t i = 0; i < rows_.n(); ++i)
      if (diagonal_[i] > 1 / kHuge) inverse_[i] = 1 / diagonal_[i];
  }
  low_.resize(rows_.n());
  high_.resize(rows_.n());
}

// ---------------------------------------------------------------- the loop of Algorithm 2

void TwoVariable::begin() {
  T_ = A_ = 0;
  each_point([&](std::size_t i) {
    T_ -= arrays_.beta[i] * arrays_.r[i];
    A_ += std::abs(arrays_.beta[i]);
    note_bounds(i);
  });
  previous_ = -1;
  inner_steps_ = steps_counted_ = 0;
  mostly_inner_ = false;
  look();
}

// Looking at the gap costs a quarter of a sweep. So it is done in the first few iterations, then
// less and less often: a run ends at most a sixteenth later than it could.
RunEnd TwoVariable::run(double tolerance, std::uint64_t limit, Stop* stop, bool owns_stop) {
  const auto ended = [&](RunEnd why) {
    if (!E_is_known_) look();
    return within(tolerance) ? RunEnd::tolerance : why;
  };
  std::uint64_t next_look = 0;
  for (std::uint64_t k = 0;; ++k) {
    if (E_is_known_ && within(tolerance)) return RunEnd::tolerance;
    if (k >= limit) return ended(RunEnd::limit);
    if (stop && k % kPollEvery == 0 && (owns_stop ? stop->poll() : stop->requested()))
      return ended(RunEnd::stopped);
    const Pair pair = select();
    if (!(pair.step.gain > 0)) return ended(RunEnd::stalled);
    const bool looks = k >= next_look;
    if (looks) next_look = k + 1 + std::min(k / 16, kLookEvery - 1);
    move(pair, looks);
  }
}

void TwoVariable::look() {
  const float* nothing = low_.data();  // any numbers will do: they count zero times
  sweep_all({nothing, nothing, 0, 0}, true);
}

void TwoVariable::move(const Pair& pair, bool looks) {
  const auto i = static_cast<std::size_t>(pair.first);
  const bool two = pair.second >= 0;
  const auto j = static_cast<std::size_t>(two ? pair.second : pair.first);
  const float* row_i = rows_.row(i);
  const float* row_j = rows_.row(j);

  const auto shift = [&](std::size_t point, double r, double d) {
    const double k = rows_.diagonal(point), c = arrays_.c[point];
    T_ -= d * (2 * r - (c < 0 ? -1 : 1) - d * k);
    double& beta = arrays_.beta[point];
    A_ -= std::abs(beta);
    // A variable that reaches its bound is put there exactly: starts and counts compare with ==.
    const double low = std::min(0.0, c), high = std::max(0.0, c), moved = beta + d;
    beta = d <= low - beta ? low : (d >= high - beta ? high : clip(moved, low, high));
    A_ += std::abs(beta);
    note_bounds(point);
  };
  shift(i, arrays_.r[i], pair.step.d_first);
  if (two) shift(j, arrays_.r[j] - pair.step.d_first * row_i[j], pair.step.d_second);

  gained_ += pair.step.gain;
  ++iterations_;
  if (two && inner(i) && inner(j)) ++inner_steps_;
  if (++steps_counted_ == kWindow) {
    mostly_inner_ = inner_steps_ >= kEnough;
    inner_steps_ = steps_counted_ = 0;
  }
  previous_ = best().index;
  sweep_all({row_i, row_j, pair.step.d_first, pair.step.d_second}, looks);
}

void TwoVariable::note_bounds(std::size_t i) {
  low_[i] = static_cast<float>(std::min(0.0, arrays_.c[i]) - arrays_.beta[i]);
  high_[i] = static_cast<float>(std::max(0.0, arrays_.c[i]) - arrays_.beta[i]);
}

void TwoVariable::sweep_all(const SweepUpdate& update, bool looks) {
  const SweepArrays arrays{arrays_.r,
                           arrays_.c,
                           low_.data(),
                           high_.data(),
                           unit_diagonal_ ? nullptr : diagonal_.data(),
                           unit_diagonal_ ? nullptr : inverse_.data()};
  const double ceiling = options_.rule == GapRule::clipped ? kClipAt : kNoClip;
  const std::size_t half = points_ / 2;
  std::size_t seen = 0;
  E_ = 0;
  E_is_known_ = looks;
  double* E = looks ? &E_ : nullptr;
  half_[0] = half_[1] = Direction{};
  for (const Range& range : ranges_) {
    const std::size_t length = range.end - range.begin;
    const std::size_t in_first = seen < half ? std::min(length, half - seen) : 0;
    const std::size_t middle = range.begin + in_first;
    if (in_first > 0) sweep(arrays, update, range.begin, middle, ceiling, E, half_[0]);
    if (middle < range.end) sweep(arrays, update, middle, range.end, ceiling, E, half_[1]);
    seen += length;
  }
}

}  // namespace maxmargin
