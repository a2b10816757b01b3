#include "linear/growing_factor.hpp"

#include <algorithm>
#include <cmath>

#include "base/clones.hpp"

namespace maxmargin {

namespace {

using Vector = GrowingFactor::Vector;
constexpr std::size_t kTogether = 4;  // rows rotated side by side: one waits for itself

struct Rotation {
  double c, s;
};

MAXMARGIN_CLONES void solve_forward(const Vector* L, std::size_t size, double* x) {
  for (std::size_t i = 0; i < size; ++i) {
    const double* row = L[i].data();
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t k = 0; k < i; ++k) sum += row[k] * x[k];
    x[i] = (x[i] - sum) / row[i];
  }
}

MAXMARGIN_CLONES void solve_forward_pair(const Vector* L, std::size_t size, double* x, double* y) {
  for (std::size_t i = 0; i < size; ++i) {
    const double* row = L[i].data();
    double x_sum = 0, y_sum = 0;
#pragma omp simd reduction(+ : x_sum, y_sum)
    for (std::size_t k = 0; k < i; ++k) {
      x_sum += row[k] * x[k];
      y_sum += row[k] * y[k];
    }
    x[i] = (x[i] - x_sum) / row[i];
    y[i] = (y[i] - y_sum) / row[i];
  }
}

MAXMARGIN_CLONES void solve_backward(const Vector* L, std::size_t size, double* x) {
  for (std::size_t i = size; i-- > 0;) {
    const double* row = L[i].data();
    const double value = x[i] / row[i];
    x[i] = value;
#pragma omp simd
    for (std::size_t k = 0; k < i; ++k) x[k] -= row[k] * value;
  }
}

// Applies rotations of columns (k, k + 1), k in [begin, end), to some rows.
template <std::size_t Rows>
MAXMARGIN_INLINE void rotate(double* const* rows, const Rotation* rotations, std::size_t begin,
                             std::size_t end) {
  double carried[Rows];
  for (std::size_t r = 0; r < Rows; ++r) carried[r] = rows[r][begin];
  for (std::size_t k = begin; k < end; ++k) {
    const auto [c, s] = rotations[k];
    for (std::size_t r = 0; r < Rows; ++r) {
      const double right = rows[r][k + 1];
      rows[r][k] = c * carried[r] + s * right;
      carried[r] = c * right - s * carried[r];
    }
  }
  for (std::size_t r = 0; r < Rows; ++r) rows[r][end] = carried[r];
}

// The rotation that takes the entry beside the diagonal away.
MAXMARGIN_INLINE Rotation rotation_of(double* row, std::size_t diagonal) {
  const double left = row[diagonal], right = row[diagonal + 1], radius = std::hypot(left, right);
  row[diagonal] = radius;
  return {left / radius, right / radius};
}

// Rows [begin, size) have one entry beyond their diagonal; rotations of columns move it away.
// rotations: room for `size`.
MAXMARGIN_CLONES void restore_triangle(Vector* L, std::size_t begin, std::size_t size,
                                       Rotation* rotations) {
  for (std::size_t i = begin; i < size; i += kTogether) {
    const std::size_t count = std::min(kTogether, size - i);
    double* rows[kTogether] = {};
    for (std::size_t r = 0; r < count; ++r) rows[r] = L[i + r].data();
    if (count == kTogether) {
      rotate<kTogether>(rows, rotations, begin, i);
    } else {
      for (std::size_t r = 0; r < count; ++r) rotate<1>(rows + r, rotations, begin, i);
    }
    for (std::size_t r = 0; r < count; ++r) {
      rotate<1>(rows + r, rotations, i, i + r);
      rotations[i + r] = rotation_of(rows[r], i + r);
    }
  }
}

}  // namespace

void GrowingFactor::append(Vector reduced, double pivot) {
  reduced.push_back(std::sqrt(pivot));
  L_.push_back(std::move(reduced));
}

void GrowingFactor::remove(std::size_t position) {
  std::vector<Rotation> rotations(L_.size());
  L_.erase(L_.begin() + static_cast<std::ptrdiff_t>(position));
  restore_triangle(L_.data(), position, L_.size(), rotations.data());
  for (std::size_t i = position; i < L_.size(); ++i) L_[i].resize(i + 1);
}

void GrowingFactor::forward(Vector& x) const { solve_forward(L_.data(), L_.size(), x.data()); }

void GrowingFactor::forward(Vector& x, Vector& y) const {
  solve_forward_pair(L_.data(), L_.size(), x.data(), y.data());
}

void GrowingFactor::backward(Vector& x) const { solve_backward(L_.data(), L_.size(), x.data()); }

}  // namespace maxmargin
