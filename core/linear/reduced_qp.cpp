#include "linear/reduced_qp.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.hpp"
#include "base/clones.hpp"

namespace maxmargin {

namespace {
constexpr double kDependent = 1e-13;  // smaller pivots, relative to the diagonal, count as zero
constexpr std::size_t kRebuildAfter = 100;  // updates of the factor, or as many as it has rows,
                                            // before rounding errors are swept out
constexpr int kRefinements = 3;             // tries to get the last digits from the same support

// out -= sum_k weights_k rows_k
MAXMARGIN_CLONES void subtract_combination(const double* const* rows, const double* weights,
                                           std::size_t count, double* out, std::size_t length) {
  std::size_t k = 0;
  for (; k + 4 <= count; k += 4) {  // four at a time: `out` is read and written less often
    const double *r0 = rows[k], *r1 = rows[k + 1], *r2 = rows[k + 2], *r3 = rows[k + 3];
    const double w0 = weights[k], w1 = weights[k + 1], w2 = weights[k + 2], w3 = weights[k + 3];
#pragma omp simd
    for (std::size_t j = 0; j < length; ++j)
      out[j] -= (w0 * r0[j] + w1 * r1[j]) + (w2 * r2[j] + w3 * r3[j]);
  }
  for (; k < count; ++k)
#pragma omp simd
    for (std::size_t j = 0; j < length; ++j) out[j] -= weights[k] * rows[k][j];
}

// Twice a number must be finite too: a shift no larger than the norms is added to products.
void check_finite(const double* values, std::size_t count) {
  check(std::all_of(values, values + count, [](double v) { return std::isfinite(2 * v); }),
        "the loss changes too fast for float64: sums of squares overflow. Scale the features or "
        "lower C");
}

}  // namespace

ReducedQP::ReducedQP() : support_{kZero} {}

void ReducedQP::append(double b, const double* products) {
  const std::size_t t = b_.size();
  check_finite(&b, 1);
  check_finite(products, t + 1);
  b_.push_back(b);
  beta_.push_back(0.0);
  for (std::size_t j = 0; j < t; ++j) H_[j].push_back(products[j]);
  H_.emplace_back(products, products + t + 1);
  // Norms of planes fall by orders of magnitude during a run; the shift must not drown the small
  // ones.
  const double norm = products[t];
  if (norm > 0 && (t == 0 || norm < shift_ / 16)) {
    shift_ = norm;
    stale_ = true;
  }
}

void ReducedQP::keep(const std::vector<std::size_t>& planes) {
  std::vector<std::size_t> place(b_.size(), kZero);
  for (std::size_t k = 0; k < planes.size(); ++k) place[planes[k]] = k;
  for (std::size_t k = 0; k < planes.size(); ++k) {
    const std::size_t j = planes[k];
    for (std::size_t m = 0; m < planes.size(); ++m) H_[j][m] = H_[j][planes[m]];
    H_[j].resize(planes.size());
    if (j != k) H_[k] = std::move(H_[j]);
    b_[k] = b_[j];
    beta_[k] = beta_[j];
  }
  b_.resize(planes.size());
  beta_.resize(planes.size());
  H_.resize(planes.size());
  zero_weight_ = 1;
  for (double value : beta_) zero_weight_ -= value;
  zero_weight_ = std::max(zero_weight_, 0.0);

  std::vector<std::size_t> support;
  for (std::size_t j : support_)
    if (j == kZero || place[j] != kZero) support.push_back(j == kZero ? kZero : place[j]);
  if (support.empty()) support.push_back(kZero);
  support_ = std::move(support);
  stale_ = true;
}

void ReducedQP::widen(const double* coordinates) {
  shift_ = 0;
  for (std::size_t j = 0; j < b_.size(); ++j) {
    for (std::size_t k = 0; k < b_.size(); ++k) H_[j][k] += coordinates[j] * coordinates[k];
    check_finite(H_[j].data(), H_[j].size());
    const double norm = H_[j][j];
    if (norm > 0 && (shift_ == 0 || norm < shift_)) shift_ = norm;
  }
  if (shift_ == 0) shift_ = 1;
  support_from_weights();
}

double ReducedQP::product(std::size_t j, std::size_t k) const {
  return (j == kZero || k == kZero ? 0.0 : H_[j][k]) + shift_;
}

// b - H beta: how fast the value rises with the weight of each plane.
ReducedQP::Vector ReducedQP::gradients() const {
  std::vector<const double*> rows;
  Vector weights, g = b_;
  for (std::size_t k = 0; k < b_.size(); ++k)
    if (beta_[k] != 0) {
      rows.push_back(H_[k].data());
      weights.push_back(beta_[k]);
    }
  subtract_combination(rows.data(), weights.data(), rows.size(), g.data(), g.size());
  return g;
}

bool ReducedQP::reduce(std::size_t plane, Vector& reduced, double& pivot) const {
  reduced.resize(support_.size());
  for (std::size_t k = 0; k < support_.size(); ++k) reduced[k] = product(plane, support_[k]);
  factor_.forward(reduced);
  const double diagonal = product(plane, plane);
  pivot = diagonal;
  for (double value : reduced) pivot -= value * value;
  return pivot > kDependent * diagonal;
}

void ReducedQP::rebuild(Stop* stop) {
  const std::vector<std::size_t> wanted = std::move(support_);
  support_.clear();
  factor_.clear();
  stale_ = true;
  try {
    for (std::size_t plane : wanted) {
      if (stop) stop->throw_if_requested();
      enter(plane);
    }
  } catch (...) {
    support_ = wanted;
    throw;
  }
  stale_ = false;
  changes_since_rebuild_ = 0;
}

void ReducedQP::leave(std::size_t position) {
  weight(support_[position]) = 0;
  support_.erase(support_.begin() + static_cast<std::ptrdiff_t>(position));
  factor_.remove(position);
  ++changes_since_rebuild_;
}

ReducedQP::Step ReducedQP::move(const Vector& direction) {
  Step step{1.0, kZero};
  for (std::size_t k = 0; k < support_.size(); ++k) {
    const double value = weight(support_[k]);
    if (direction[k] < 0 && value <= step.length * -direction[k]) step = {value / -direction[k], k};
  }
  for (std::size_t k = 0; k < support_.size(); ++k) {
    double& value = weight(support_[k]);
    value = std::max(value + step.length * direction[k], 0.0);
  }
  return step;
}

// Makes a plane part of the support. One that depends on the support can be traded for it at no
// curvature: weight goes to it, or away from it, whichever gains, until it or a plane of the
// support has none left. False if the plane did not stay.
bool ReducedQP::enter(std::size_t plane) {
  Vector row;
  double pivot;
  while (!reduce(plane, row, pivot)) {
    Vector direction = row;
    factor_.backward(direction);
    double sum = 0;
    for (double value : direction) sum += value;
    if (!(sum > 0.5 && sum < 2)) {  // no digit left: hand its weight to a neighbour
      weight(support_.back()) += weight(plane);
      weight(plane) = 0;
      return false;
    }
    const Vector g = gradients();
    double slope = gradient(g, plane);
    for (std::size_t k = 0; k < support_.size(); ++k) {
      direction[k] /= -sum;
      slope += direction[k] * gradient(g, support_[k]);
    }
    const bool away = slope < 0;
    double step = away ? weight(plane) : 1.0;
    std::size_t blocking = kZero;
    for (std::size_t k = 0; k < support_.size(); ++k) {
      if (away) direction[k] = -direction[k];
      const double value = weight(support_[k]), most = step * -direction[k];
      if (direction[k] < 0 && (away ? value < most : value <= most)) {
        step = value / -direction[k];
        blocking = k;
      }
    }
    for (std::size_t k = 0; k < support_.size(); ++k)
      weight(support_[k]) = std::max(weight(support_[k]) + step * direction[k], 0.0);
    weight(plane) = std::max(weight(plane) + (away ? -step : step), 0.0);
    if (blocking == kZero) {
      if (away) weight(plane) = 0;
      return false;
    }
    if (support_.size() == 1) {  // the only plane is used up: this one takes its place
      weight(support_[0]) = 0;
      support_.clear();
      factor_.clear();
    } else {
      leave(blocking);
    }
  }
  factor_.append(std::move(row), pivot);
  support_.push_back(plane);
  ++changes_since_rebuild_;
  return true;
}

// From the gradients g at the current weights, not from b: so the errors of one call are seen and
// corrected in the next.
int ReducedQP::to_optimum_over_support(const Vector& g, Stop* stop) {
  Vector slopes;
  for (std::size_t plane : support_) slopes.push_back(gradient(g, plane));
  for (int dropped = 0;; ++dropped) {
    if (stop) stop->throw_if_requested();
    if (support_.size() == 1) return dropped;  // weights sum to one: nowhere to go
    Vector x = slopes, ones(slopes.size(), 1.0);
    factor_.forward(x, ones);
    double x_sum = 0, ones_sum = 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
      x_sum += x[k] * ones[k];
      ones_sum += ones[k] * ones[k];
    }
    const double common = x_sum / ones_sum;  // the slope of all at the optimum
    for (std::size_t k = 0; k < x.size(); ++k) x[k] -= common * ones[k];
    factor_.backward(x);
    const Step step = move(x);
    if (step.blocking == kZero) return dropped;
    leave(step.blocking);
    slopes.erase(slopes.begin() + static_cast<std::ptrdiff_t>(step.blocking));
    for (double& slope : slopes) slope += step.length * (common - slope);
  }
}

// The planes of steepest ascent and, among those with weight, of steepest descent; and how much any
// feasible beta could gain at most.
ReducedQP::Outlook ReducedQP::outlook(const Vector& gradients) const {
  Outlook found{kZero, kZero, 0, 0};
  double best = 0, worst = zero_weight_ > 0 ? 0 : std::numeric_limits<double>::infinity(),
         attained = 0;
  for (std::size_t j = 0; j < b_.size(); ++j) {
    attained += beta_[j] * gradients[j];
    if (gradients[j] > best) {
      best = gradients[j];
      found.up = j;
    }
    if (beta_[j] > 0 && gradients[j] < worst) {
      worst = gradients[j];
      found.down = j;
    }
  }
  found.possible_gain = best - attained;
  found.slope = best - worst;
  return found;
}

int ReducedQP::follow_active_set(double tolerance, Vector& g, Stop* stop) {
  const int limit = 20 + 4 * static_cast<int>(b_.size());
  for (int steps = 0, refined = 0;;) {
    if (stale_ || changes_since_rebuild_ > std::max(kRebuildAfter, support_.size())) {
      rebuild(stop);
      g = gradients();
    }
    steps += to_optimum_over_support(g, stop);
    normalise();
    g = gradients();
    const Outlook next = outlook(g);
    if (next.possible_gain <= tolerance || steps >= limit) return steps;
    ++steps;
    if (std::find(support_.begin(), support_.end(), next.up) != support_.end()) {
      if (++refined > kRefinements) return steps;
      continue;
    }
    const std::size_t before = support_.size();
    const bool stays = enter(next.up);
    if (support_.size() != before + 1) g = gradients();  // weights were traded
    if (!stays) return steps;
  }
}

// Moves weight from one plane to another, the pair of steepest slope: slow but immune to
// dependence.
int ReducedQP::follow_pairs(double tolerance, Vector& g, Stop* stop) {
  const int limit = 200 + 20 * static_cast<int>(b_.size());
  int steps = 0;
  for (; steps < limit; ++steps) {
    if (stop && stop->poll()) {
      support_from_weights();
      throw Stopped();
    }
    const Outlook next = outlook(g);
    if (next.possible_gain <= tolerance || next.up == next.down) break;
    const double curvature =
        product(next.up, next.up) + product(next.down, next.down) - 2 * product(next.up, next.down);
    const double most = weight(next.down);
    const double step = curvature > 0 ? std::min(next.slope / curvature, most) : most;
    weight(next.up) += step;
    weight(next.down) = step == most ? 0.0 : most - step;
    for (std::size_t j = 0; j < b_.size(); ++j)
      g[j] -= step * (product(next.up, j) - product(next.down, j));
  }
  if (steps > 0) support_from_weights();
  return steps;
}

void ReducedQP::support_from_weights() {
  support_.clear();
  if (zero_weight_ > 0) support_.push_back(kZero);
  for (std::size_t j = 0; j < b_.size(); ++j)
    if (beta_[j] > 0) support_.push_back(j);
  stale_ = true;
}

void ReducedQP::normalise() {
  double sum = zero_weight_;
  for (double value : beta_) sum += value;
  for (double& value : beta_) value /= sum;
  zero_weight_ /= sum;
}

// b^T beta - 1/2 beta^T H beta
double ReducedQP::value(const Vector& g) const {
  double value = 0;
  for (std::size_t j = 0; j < b_.size(); ++j) value += 0.5 * beta_[j] * (b_[j] + g[j]);
  return value;
}

int ReducedQP::solve(double tolerance, Stop* stop) {
  const Vector beta = beta_;
  const double zero_weight = zero_weight_;
  Vector g = gradients();
  const double before = value(g);
  int steps = follow_active_set(tolerance, g, stop);
  if (!(value(g) >= before - tolerance)) {  // the factor had lost its digits
    beta_ = beta;
    zero_weight_ = zero_weight;
    support_from_weights();
    g = gradients();
  }
  if (!(outlook(g).possible_gain <= tolerance)) steps += follow_pairs(tolerance, g, stop);
  normalise();
  return steps;
}

}  // namespace maxmargin
