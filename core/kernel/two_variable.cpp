#include "kernel/two_variable.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
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
      check(k >= 0, "the kernel is not positive definite: k(x, x) = " + std::to_string(k) +
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
  T_ = 0;
  each_point([&](std::size_t i) {
    T_ -= arrays_.beta[i] * arrays_.r[i];
    note_bounds(i);
  });
  previous_ = -1;
  inner_steps_ = steps_counted_ = 0;
  mostly_inner_ = false;
  if (points_ == 0) return;
  const float* any = rows_.row(ranges_.front().begin);
  sweep_all({any, any, 0, 0});
}

RunEnd TwoVariable::run(double tolerance, std::uint64_t limit, Stop* stop, bool owns_stop) {
  for (std::uint64_t k = 0;; ++k) {
    if (S() <= tolerance) return RunEnd::tolerance;
    if (k >= limit) return RunEnd::limit;
    if (stop && k % kPollEvery == 0 && (owns_stop ? stop->poll() : stop->requested()))
      return RunEnd::stopped;
    const Pair pair = select();
    if (!(pair.step.gain > 0)) return RunEnd::stalled;
    move(pair);
  }
}

void TwoVariable::move(const Pair& pair) {
  const auto i = static_cast<std::size_t>(pair.first);
  const bool two = pair.second >= 0;
  const auto j = static_cast<std::size_t>(two ? pair.second : pair.first);
  const float* row_i = rows_.row(i);
  const float* row_j = rows_.row(j);

  const auto shift = [&](std::size_t point, double r, double d) {
    const double k = rows_.diagonal(point), c = arrays_.c[point];
    T_ -= d * (2 * r - (c < 0 ? -1 : 1) - d * k);
    double& beta = arrays_.beta[point];
    // A variable that reaches its bound is put there exactly: starts and counts compare with ==.
    const double low = std::min(0.0, c), high = std::max(0.0, c), moved = beta + d;
    beta = d <= low - beta ? low : (d >= high - beta ? high : clip(moved, low, high));
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
  sweep_all({row_i, row_j, pair.step.d_first, pair.step.d_second});
}

void TwoVariable::note_bounds(std::size_t i) {
  low_[i] = static_cast<float>(std::min(0.0, arrays_.c[i]) - arrays_.beta[i]);
  high_[i] = static_cast<float>(std::max(0.0, arrays_.c[i]) - arrays_.beta[i]);
}

void TwoVariable::sweep_all(const SweepUpdate& update) {
  const SweepArrays arrays{arrays_.r,
                           arrays_.c,
                           low_.data(),
                           high_.data(),
                           unit_diagonal_ ? nullptr : diagonal_.data(),
                           unit_diagonal_ ? nullptr : inverse_.data()};
  const double ceiling = options_.clipped ? kClipAt : kNoClip;
  const std::size_t half = points_ / 2;
  std::size_t seen = 0;
  E_ = 0;
  half_[0] = half_[1] = Direction{};
  for (const Range& range : ranges_) {
    const std::size_t length = range.end - range.begin;
    const std::size_t in_first = seen < half ? std::min(length, half - seen) : 0;
    const std::size_t middle = range.begin + in_first;
    if (in_first > 0) sweep(arrays, update, range.begin, middle, ceiling, E_, half_[0]);
    if (middle < range.end) sweep(arrays, update, middle, range.end, ceiling, E_, half_[1]);
    seen += length;
  }
}

// ---------------------------------------------------------------- choosing the pair

TwoVariable::Pair TwoVariable::select() {
  const Direction top = best();
  Pair pair;
  if (top.index < 0) return pair;
  const auto i = static_cast<std::size_t>(top.index);
  pair.first = top.index;
  pair.step = step_one(variable(i));
  const int chosen = options_.working_set;
  if (chosen == kOneVariable) return pair;
  if (chosen == kAllPairs) {
    consider_all_pairs(pair);
    return pair;
  }
  const float* row = rows_.row(i);
  const bool neighbours = (chosen & kWithNeighbours) && mostly_inner_;
  // Working set 4 alone falls back on the previous direction while its flag is down.
  const bool previous = (chosen & kWithPrevious) || ((chosen & kWithNeighbours) && !mostly_inner_);
  if (previous && previous_ >= 0 && previous_ != top.index) {
    const auto j = static_cast<std::size_t>(previous_);
    consider(i, j, row[j], pair);
  }
  if ((chosen & kBestOfHalves) && other().index >= 0) {
    const auto j = static_cast<std::size_t>(other().index);
    consider(i, j, row[j], pair);
  }
  if (neighbours) consider_neighbours(i, row, pair);
  if (chosen & kStepAhead) consider_step_ahead(i, row, pair);
  if (chosen & (kBestPartner | kRandomPartner | kClippedPartner)) consider_partners(i, row, pair);
  if (chosen & (kInnerPartner | kRandomInnerPartner)) consider_inner_partners(i, row, pair);
  if (chosen & kViolatingPair) consider_violating_pair(pair);
  if (chosen & kRandomPairs) consider_random_pairs(pair);
  if (chosen & kRandomInnerPairs) consider_random_inner_pairs(pair);
  return pair;
}

Variable TwoVariable::variable(std::size_t i) const {
  const double c = arrays_.c[i], beta = arrays_.beta[i];
  return {arrays_.r[i], rows_.diagonal(i), std::min(0.0, c) - beta, std::max(0.0, c) - beta};
}

bool TwoVariable::inner(std::size_t i) const {
  return arrays_.beta[i] != 0 && arrays_.beta[i] != arrays_.c[i];
}

void TwoVariable::consider(std::size_t i, std::size_t j, double k, Pair& pair) const {
  const Step step = step_two(variable(i), variable(j), k);
  const double product = rows_.diagonal(i) * rows_.diagonal(j);
  if (product - k * k < -kIndefinite * product) refuse_indefinite(i, j, k);
  if (step.gain > pair.step.gain)
    pair = {static_cast<std::ptrdiff_t>(i), static_cast<std::ptrdiff_t>(j), step};
}

void TwoVariable::refuse_indefinite(std::size_t i, std::size_t j, double k) const {
  throw InvalidInput("the kernel is not positive definite: at rows " + std::to_string(i) + " and " +
                     std::to_string(j) +
                     " k(x, x) k(z, z) = " + std::to_string(rows_.diagonal(i) * rows_.diagonal(j)) +
                     " < k(x, z)^2 = " + std::to_string(k * k) +
                     "; use a positive definite kernel");
}

void TwoVariable::consider_neighbours(std::size_t i, const float* row, Pair& pair) {
  if (!neighbours_.table || neighbours_.table == found_.data()) find_neighbours(i, row);
  const std::int32_t* near = neighbours_.table + i * neighbours_.stored;
  // The values lie anywhere in the row: ask for all of them before the first is needed.
  for (std::size_t q = 0; q < neighbours_.stored; ++q)
    if (near[q] >= 0) __builtin_prefetch(row + near[q]);
  std::size_t used = 0;
  for (std::size_t q = 0; q < neighbours_.stored && used < neighbours_.used; ++q) {
    if (near[q] < 0) continue;
    const auto j = static_cast<std::size_t>(near[q]);
    if (arrays_.c[j] == 0) continue;
    consider(i, j, row[j], pair);
    ++used;
  }
}

// In kernel distance k_jj - 2 k_ij (k_ii is the same for all), among the points that take part.
void TwoVariable::find_neighbours(std::size_t i, const float* row) {
  constexpr std::int32_t unknown = -2;
  const std::size_t n = rows_.n(), count = neighbours_.used;
  if (found_.empty()) {
    found_.assign(n * count, unknown);
    neighbours_ = {found_.data(), count, count};
    distances_.resize(n);
  }
  if (count == 0 || found_[i * count] != unknown) return;
  constexpr float far = std::numeric_limits<float>::max();
  std::fill(distances_.begin(), distances_.end(), far);
  each_point([&](std::size_t j) {
    if (arrays_.c[j] != 0) distances_[j] = static_cast<float>(rows_.diagonal(j)) - 2 * row[j];
  });
  nearest_of_row(distances_.data(), n, i, count, heap_, found_.data() + i * count);
}

void TwoVariable::consider_step_ahead(std::size_t i, const float* row, Pair& pair) const {
  const double d = step_one(variable(i)).d_first;
  double top = 0;
  std::size_t ahead = i;
  each_point([&](std::size_t j) {
    Variable v = variable(j);
    v.r -= d * row[j];
    const double gain = step_one(v).gain;
    if (j != i && gain > top) top = gain, ahead = j;
  });
  if (ahead != i) consider(i, ahead, row[ahead], pair);
}

void TwoVariable::consider_violating_pair(Pair& pair) {
  std::array<Direction, 2> worst;  // by size of the violation
  each_point([&](std::size_t i) {
    const Variable v = variable(i);
    const auto violation =
        static_cast<float>(v.r > 0 ? (v.high > 0 ? v.r : 0) : (v.low < 0 ? -v.r : 0));
    const Direction found{violation, static_cast<std::ptrdiff_t>(i)};
    if (violation > worst[0].gain)
      worst[1] = worst[0], worst[0] = found;
    else if (violation > worst[1].gain)
      worst[1] = found;
  });
  if (worst[1].index < 0) return;
  const auto i = static_cast<std::size_t>(worst[0].index),
             j = static_cast<std::size_t>(worst[1].index);
  if (options_.working_set == kViolatingPair)
    pair.step.gain = 0;  // on its own it takes no other pair
  consider(i, j, rows_.row(i)[j], pair);
}

void TwoVariable::consider_partners(std::size_t i, const float* row, Pair& pair) {
  if (options_.working_set & kBestPartner)
    each_point([&](std::size_t j) {
      if (j != i) consider(i, j, row[j], pair);
    });
  if (options_.working_set & kRandomPartner)
    for (std::size_t q = 0; q < points_ / 5; ++q)
      if (const std::size_t j = random_point(); j != i) consider(i, j, row[j], pair);
  if (options_.working_set & kClippedPartner) {
    const Variable first = variable(i);
    double top = 0;
    std::size_t partner = i;
    each_point([&](std::size_t j) {
      const double gain = j == i ? 0 : clipped_gain(first, variable(j), row[j]);
      if (gain > top) top = gain, partner = j;
    });
    if (partner != i) consider(i, partner, row[partner], pair);
  }
}

void TwoVariable::consider_inner_partners(std::size_t i, const float* row, Pair& pair) {
  if (!inner(i)) return;
  const auto& points = inner_points();
  const Variable first = variable(i);
  const auto best_partner = [&](std::size_t tries, auto next) {
    double top = 0;
    std::size_t partner = i;
    for (std::size_t q = 0; q < tries; ++q) {
      const std::size_t j = next(q);
      const double gain = j == i ? 0 : inner_gain(first, variable(j), row[j]);
      if (gain > top) top = gain, partner = j;
    }
    if (partner != i) consider(i, partner, row[partner], pair);
  };
  if ((options_.working_set & kInnerPartner) && mostly_inner_)
    best_partner(points.size(), [&](std::size_t q) { return points[q]; });
  if (options_.working_set & kRandomInnerPartner)
    best_partner(points.size() / 5,
                 [&](std::size_t) { return points[random_.below(points.size())]; });
}

void TwoVariable::consider_all_pairs(Pair& pair) {
  each_point([&](std::size_t i) {
    const float* row = rows_.row(i);
    each_point([&](std::size_t j) {
      if (j > i) consider(i, j, row[j], pair);
    });
  });
}

void TwoVariable::consider_random_pairs(Pair& pair) {
  for (std::size_t q = 0; q < points_; ++q) {
    const std::size_t i = random_point(), j = random_point();
    if (i != j) consider(i, j, rows_.row(i)[j], pair);
  }
}

void TwoVariable::consider_random_inner_pairs(Pair& pair) {
  if (!inner(static_cast<std::size_t>(best().index))) return;
  const auto& points = inner_points();
  double top = 0;
  std::size_t first = 0, second = 0;
  for (std::size_t q = 0; q < points.size(); ++q) {
    const std::size_t i = points[random_.below(points.size())];
    const std::size_t j = points[random_.below(points.size())];
    const double gain = i == j ? 0 : inner_gain(variable(i), variable(j), rows_.row(i)[j]);
    if (gain > top) top = gain, first = i, second = j;
  }
  if (first != second) consider(first, second, rows_.row(first)[second], pair);
}

// ---------------------------------------------------------------- the points that take part

template <class F>
void TwoVariable::each_point(F f) const {
  for (const Range& range : ranges_)
    for (std::size_t i = range.begin; i < range.end; ++i) f(i);
}

std::size_t TwoVariable::random_point() {
  std::size_t q = random_.below(points_);
  for (const Range& range : ranges_) {
    if (q < range.end - range.begin) return range.begin + q;
    q -= range.end - range.begin;
  }
  return ranges_.back().end - 1;
}

const std::vector<std::size_t>& TwoVariable::inner_points() {
  inner_.clear();
  each_point([&](std::size_t i) {
    if (inner(i)) inner_.push_back(i);
  });
  return inner_;
}

}  // namespace maxmargin
