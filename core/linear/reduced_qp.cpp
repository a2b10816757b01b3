#include "linear/reduced_qp.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.hpp"

namespace maxmargin {

namespace {
constexpr double kDependent = 1e-13;  // smaller pivots, relative to the diagonal, count as zero
constexpr int kRebuildAfter = 100;    // updates of the factor before rounding errors are swept out
constexpr int kRefinements = 3;       // tries to get the last digits from the same support
}  // namespace

ReducedQP::ReducedQP() : support_{kZero} { rebuild(); }

void ReducedQP::append(double b, const double* products) {
  const std::size_t t = b_.size();
  const auto finite = [](double value) { return std::isfinite(value); };
  check(finite(b) && std::all_of(products, products + t + 1, finite),
        "the loss changes too fast for float64: sums of squares overflow. Scale the features or "
        "lower C");
  b_.push_back(b);
  beta_.push_back(0.0);
  H_.emplace_back(products, products + t + 1);
  // Norms of planes fall by orders of magnitude during a run; the shift must not drown the small
  // ones.
  const double norm = products[t];
  if (norm > 0 && (t == 0 || norm < shift_ / 16)) {
    shift_ = norm;
    rebuild();
  }
}

void ReducedQP::keep(const std::vector<std::size_t>& planes) {
  std::vector<std::size_t> place(b_.size(), kZero);
  for (std::size_t k = 0; k < planes.size(); ++k) place[planes[k]] = k;
  for (std::size_t k = 0; k < planes.size(); ++k) {
    const std::size_t j = planes[k];
    Vector row(k + 1);
    for (std::size_t m = 0; m <= k; ++m) row[m] = H_[j][planes[m]];
    H_[k] = std::move(row);
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
  rebuild();
}

void ReducedQP::widen(const double* coordinates) {
  shift_ = 0;
  for (std::size_t j = 0; j < b_.size(); ++j) {
    for (std::size_t k = 0; k <= j; ++k) H_[j][k] += coordinates[j] * coordinates[k];
    const double norm = H_[j][j];
    if (norm > 0 && (shift_ == 0 || norm < shift_)) shift_ = norm;
  }
  if (shift_ == 0) shift_ = 1;
  support_from_weights();
}

double ReducedQP::product(std::size_t j, std::size_t k) const {
  if (j == kZero || k == kZero) return shift_;
  return (j >= k ? H_[j][k] : H_[k][j]) + shift_;
}

double ReducedQP::gradient(std::size_t j) const {
  double sum = offset(j);
  for (std::size_t k : support_)
    if (k != kZero && j != kZero) sum -= (j >= k ? H_[j][k] : H_[k][j]) * beta_[k];
  return sum;
}

void ReducedQP::forward(Vector& x) const {
  for (std::size_t i = 0; i < x.size(); ++i) {
    double sum = x[i];
    const double* row = L_[i].data();
    for (std::size_t k = 0; k < i; ++k) sum -= row[k] * x[k];
    x[i] = sum / row[i];
  }
}

void ReducedQP::backward(Vector& x) const {
  for (std::size_t i = x.size(); i-- > 0;) {
    const double* row = L_[i].data();
    const double value = x[i] / row[i];
    x[i] = value;
    for (std::size_t k = 0; k < i; ++k) x[k] -= row[k] * value;
  }
}

bool ReducedQP::append_to_factor(std::size_t plane, Vector& reduced, double& pivot) const {
  reduced.resize(support_.size());
  for (std::size_t k = 0; k < support_.size(); ++k) reduced[k] = product(plane, support_[k]);
  forward(reduced);
  const double diagonal = product(plane, plane);
  pivot = diagonal;
  for (double value : reduced) pivot -= value * value;
  return pivot > kDependent * diagonal;
}

void ReducedQP::rebuild() {
  const std::vector<std::size_t> wanted = std::move(support_);
  support_.clear();
  L_.clear();
  for (std::size_t plane : wanted) enter(plane);
  changes_since_rebuild_ = 0;
}

void ReducedQP::leave(std::size_t position) {
  weight(support_[position]) = 0;
  support_.erase(support_.begin() + static_cast<std::ptrdiff_t>(position));
  L_.erase(L_.begin() + static_cast<std::ptrdiff_t>(position));
  for (std::size_t k = position; k < L_.size(); ++k) {  // rotate the superdiagonal away
    const double a = L_[k][k], b = L_[k][k + 1], radius = std::hypot(a, b);
    const double c = a / radius, s = b / radius;
    for (std::size_t i = k; i < L_.size(); ++i) {
      const double left = L_[i][k], right = L_[i][k + 1];
      L_[i][k] = c * left + s * right;
      L_[i][k + 1] = c * right - s * left;
    }
    L_[k].resize(k + 1);
  }
  ++changes_since_rebuild_;
}

bool ReducedQP::move(const Vector& direction, double limit) {
  double step = limit;
  std::size_t blocking = kZero;
  for (std::size_t k = 0; k < support_.size(); ++k) {
    const double value = weight(support_[k]);
    if (direction[k] < 0 && value <= step * -direction[k]) {
      step = value / -direction[k];
      blocking = k;
    }
  }
  for (std::size_t k = 0; k < support_.size(); ++k) {
    double& value = weight(support_[k]);
    value = std::max(value + step * direction[k], 0.0);
  }
  if (blocking == kZero || support_.size() == 1) return false;
  leave(blocking);
  return true;
}

void ReducedQP::append_row(std::size_t plane, Vector row, double pivot) {
  row.push_back(std::sqrt(pivot));
  L_.push_back(std::move(row));
  support_.push_back(plane);
  ++changes_since_rebuild_;
}

// Makes a plane part of the support. One that depends on the support can be traded for it at no
// curvature: weight goes to it, or away from it, whichever gains, until it or a plane of the
// support has none left. False if the plane did not stay.
bool ReducedQP::enter(std::size_t plane) {
  Vector row;
  double pivot;
  while (!append_to_factor(plane, row, pivot)) {
    Vector direction = row;
    backward(direction);
    double sum = 0, slope = gradient(plane);
    for (double value : direction) sum += value;
    if (!(sum > 0.5 && sum < 2)) {  // no digit left: hand its weight to a neighbour
      weight(support_.back()) += weight(plane);
      weight(plane) = 0;
      return false;
    }
    for (std::size_t k = 0; k < support_.size(); ++k) {
      direction[k] /= -sum;
      slope += direction[k] * gradient(support_[k]);
    }
    const bool away = slope < 0;
    double step = away ? weight(plane) : 1.0;
    std::size_t blocking = kZero;
    for (std::size_t k = 0; k < support_.size(); ++k) {
      if (away) direction[k] = -direction[k];
      if (direction[k] < 0 && weight(support_[k]) < step * -direction[k]) {
        step = weight(support_[k]) / -direction[k];
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
      L_.clear();
    } else {
      leave(blocking);
    }
  }
  append_row(plane, std::move(row), pivot);
  return true;
}

int ReducedQP::to_optimum_over_support() {
  int dropped = 0;
  for (;;) {
    // From the gradients at the current weights, not from b: so the errors of one round are seen
    // and corrected in the next.
    Vector x(support_.size()), ones(support_.size(), 1.0);
    for (std::size_t k = 0; k < support_.size(); ++k) x[k] = gradient(support_[k]);
    forward(x);
    forward(ones);
    double x_sum = 0, ones_sum = 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
      x_sum += x[k] * ones[k];
      ones_sum += ones[k] * ones[k];
    }
    for (std::size_t k = 0; k < x.size(); ++k) x[k] -= x_sum / ones_sum * ones[k];
    backward(x);
    if (!move(x, 1.0)) return dropped;
    ++dropped;
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

ReducedQP::Vector ReducedQP::gradients() const {
  Vector g(b_.size());
  for (std::size_t j = 0; j < b_.size(); ++j) g[j] = gradient(j);
  return g;
}

int ReducedQP::follow_active_set(double tolerance) {
  const int limit = 20 + 4 * static_cast<int>(b_.size());
  for (int steps = 0, refined = 0;;) {
    if (changes_since_rebuild_ > kRebuildAfter) rebuild();
    steps += to_optimum_over_support();
    const Outlook next = outlook(gradients());
    if (next.possible_gain <= tolerance || steps >= limit) return steps;
    if (std::find(support_.begin(), support_.end(), next.up) != support_.end()) {
      if (++refined > kRefinements) return steps;
    } else if (!enter(next.up)) {
      return steps;
    }
    ++steps;
  }
}

// Moves weight from one plane to another, the pair of steepest slope: slow but immune to
// dependence.
int ReducedQP::follow_pairs(double tolerance) {
  Vector g = gradients();
  const int limit = 200 + 20 * static_cast<int>(b_.size());
  int steps = 0;
  for (; steps < limit; ++steps) {
    const Outlook next = outlook(g);
    if (next.possible_gain <= tolerance || next.up == next.down) break;
    const double curvature =
        product(next.up, next.up) + product(next.down, next.down) - 2 * product(next.up, next.down);
    const double most = weight(next.down);
    const double step = curvature > 0 ? std::min(next.slope / curvature, most) : most;
    weight(next.up) += step;
    weight(next.down) = step == most ? 0.0 : most - step;
    for (std::size_t j = 0; j < b_.size(); ++j)
      g[j] -= step * (product(j, next.up) - product(j, next.down));
  }
  if (steps > 0) support_from_weights();
  return steps;
}

void ReducedQP::support_from_weights() {
  support_.clear();
  if (zero_weight_ > 0) support_.push_back(kZero);
  for (std::size_t j = 0; j < b_.size(); ++j)
    if (beta_[j] > 0) support_.push_back(j);
  rebuild();
}

// b^T beta - 1/2 beta^T H beta, with weights that sum to one exactly.
double ReducedQP::normalised_value() {
  double sum = zero_weight_;
  for (double value : beta_) sum += value;
  for (double& value : beta_) value /= sum;
  zero_weight_ /= sum;
  double value = 0;
  for (std::size_t j = 0; j < b_.size(); ++j)
    if (beta_[j] > 0) value += 0.5 * beta_[j] * (b_[j] + gradient(j));
  return value;
}

int ReducedQP::solve(double tolerance) {
  const Vector beta = beta_;
  const double zero_weight = zero_weight_, before = normalised_value();
  int steps = follow_active_set(tolerance);
  const double value = normalised_value();
  if (!(value >= before - tolerance)) {  // the factor had lost its digits
    beta_ = beta;
    zero_weight_ = zero_weight;
    support_from_weights();
  }
  if (!(outlook(gradients()).possible_gain <= tolerance)) steps += follow_pairs(tolerance);
  return steps;
}

}  // namespace maxmargin
