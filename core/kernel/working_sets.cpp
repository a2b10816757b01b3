// How TwoVariable chooses the next pair: the working sets of section 3.2 of the paper.
#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "base/check.hpp"
#include "base/portable.hpp"
#include "kernel/two_variable.hpp"

namespace maxmargin {

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
  // Working sets 4 and 512 alone fall back on the previous direction while their flag is down: it
  // goes up with steps in two inner points, and without a partner there would be none.
  const bool previous =
      (chosen & kWithPrevious) || ((chosen & (kWithNeighbours | kInnerPartner)) && !mostly_inner_);
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

// No step gains more than one that no box holds back, and whether that would beat the best pair so
// far is cheap to tell. So most neighbours need no exact step.
void TwoVariable::consider_neighbours(std::size_t i, const float* row, Pair& pair) {
  if (!neighbours_.table || neighbours_.table == found_.data()) find_neighbours(i, row);
  const std::int32_t* near = neighbours_.table + i * neighbours_.stored;
  // The values lie anywhere in the row: ask for all of them before the first is needed.
  for (std::size_t q = 0; q < neighbours_.stored; ++q)
    if (near[q] >= 0) prefetch_read(row + near[q]);
  const double r = arrays_.r[i], k_ii = rows_.diagonal(i);
  std::size_t used = 0;
  for (std::size_t q = 0; q < neighbours_.stored && used < neighbours_.used; ++q) {
    if (near[q] < 0) continue;
    const auto j = static_cast<std::size_t>(near[q]);
    if (arrays_.c[j] == 0) continue;
    ++used;
    if (may_gain(r, k_ii, arrays_.r[j], rows_.diagonal(j), row[j], pair.step.gain))
      consider(i, j, row[j], pair);
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
  const Pair alone = pair;
  if (options_.working_set == kRandomPairs)
    pair.step.gain = 0;  // on its own it takes a step in one variable only if no pair gains
  for (std::size_t q = 0; q < points_; ++q) {
    const std::size_t i = random_point(), j = random_point();
    if (i != j) consider(i, j, rows_.row(i)[j], pair);
  }
  if (!(pair.step.gain > 0)) pair = alone;
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
