#include "kernel/mean_shift.hpp"

#include <algorithm>
#include <vector>

#include "base/clones.hpp"
#include "kernel/functions.hpp"

namespace maxmargin {

namespace {

constexpr std::size_t kBlock = 128;  // points that stay in a cache from product to sum

// Products are summed in the points' own type: the caller sees to it that its digits will do.
template <class Value>
MAXMARGIN_INLINE void dots(const Value* t, std::size_t rows, const Value* b, std::size_t d,
                           double* out) {
  for (std::size_t q = 0; q < rows; ++q, t += d) {
    Value sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t j = 0; j < d; ++j) sum += t[j] * b[j];
    out[q] = static_cast<double>(sum);
  }
}

template <class Value>
MAXMARGIN_INLINE void add_rows(const Value* t, std::size_t rows, const double* weights,
                               std::size_t d, double* s) {
  for (std::size_t q = 0; q < rows; ++q, t += d) {
    const double weight = weights[q];
#pragma omp simd
    for (std::size_t j = 0; j < d; ++j) s[j] += weight * static_cast<double>(t[j]);
  }
}

// One overload a type, so that each is compiled for every target (templates cannot be cloned).
#define MAXMARGIN_FOR(Value)                                                                     \
  MAXMARGIN_CLONES void dots_of(const Value* t, std::size_t rows, const Value* b, std::size_t d, \
                                double* out) {                                                   \
    dots(t, rows, b, d, out);                                                                    \
  }                                                                                              \
  MAXMARGIN_CLONES void add_rows_of(const Value* t, std::size_t rows, const double* weights,     \
                                    std::size_t d, double* s) {                                  \
    add_rows(t, rows, weights, d, s);                                                            \
  }
MAXMARGIN_FOR(float)
MAXMARGIN_FOR(double)
#undef MAXMARGIN_FOR

// Adds the sums over some points for one b to (f, s).
template <class Value>
double pull_of(double gamma, const WeightedPoints<Value>& points, Range range, const Value* b,
               double* s) {
  const KernelFunction gaussian{KernelKind::rbf, gamma};
  double values[kBlock], f = 0;
  float kernel[kBlock];
  double own;
  dots_of(b, 1, b, points.d, &own);
  for (std::size_t begin = range.begin; begin < range.end; begin += kBlock) {
    const std::size_t rows = std::min(range.end - begin, kBlock);
    const Value* t = points.values + begin * points.d;
    dots_of(t, rows, b, points.d, values);
    kernel_row(gaussian, values, own, points.norms + begin, rows, kernel);
    for (std::size_t q = 0; q < rows; ++q) {
      values[q] = points.weights[begin + q] * static_cast<double>(kernel[q]);
      f += values[q];
    }
    add_rows_of(t, rows, values, points.d, s);
  }
  return f;
}

}  // namespace

template <class Value>
void mean_shift(double gamma, const WeightedPoints<Value>& points, const Value* b,
                std::size_t count, double* f, double* s, Pool& pool) {
  const std::size_t each = count * (points.d + 1);  // numbers that a part of the points sums up
  const std::size_t parts = pieces(points.m * each, 65536, 16);
  std::vector<double> sums(parts * each, 0.0);
  pool.run(parts, [&](std::size_t part) {
    const Range range = part_of(points.m, parts, part);
    double* own_f = sums.data() + part * each;
    for (std::size_t j = 0; j < count; ++j)
      own_f[j] = pull_of(gamma, points, range, b + j * points.d, own_f + count + j * points.d);
  });
  std::fill_n(f, count, 0.0);
  std::fill_n(s, count * points.d, 0.0);
  for (std::size_t part = 0; part < parts; ++part) {
    const double* own_f = sums.data() + part * each;
    for (std::size_t j = 0; j < count; ++j) f[j] += own_f[j];
    for (std::size_t j = 0; j < count * points.d; ++j) s[j] += own_f[count + j];
  }
}

template void mean_shift(double, const WeightedPoints<float>&, const float*, std::size_t, double*,
                         double*, Pool&);
template void mean_shift(double, const WeightedPoints<double>&, const double*, std::size_t, double*,
                         double*, Pool&);

}  // namespace maxmargin
