#include "kernel/functions.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "base/check.hpp"
#include "base/clones.hpp"

namespace maxmargin {

namespace {

constexpr std::size_t kTile = 64;  // a tile and its mirror image stay in the first-level cache

// exp(x) for x <= 0 in float32, within 2 units in the last place; below -87 it is 0. Without
// branches, so that the loop around it is vectorised: x = m ln 2 + t, |t| <= ln 2 / 2, exp(t) by a
// polynomial.
MAXMARGIN_INLINE float exp_negative(float x) {
  const float bounded = x < -87.0f ? -87.0f : x;
  // Adding 1.5 * 2^23 rounds to the nearest integer and leaves it in the low bits.
  const float shifted = bounded * 1.44269504f + 12582912.0f;
  const float m = shifted - 12582912.0f;
  const float t = (bounded - m * 0.693359375f) - m * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * t + 1.3981999507e-3f;
  p = p * t + 8.3334519073e-3f;
  p = p * t + 4.1665795894e-2f;
  p = p * t + 1.6666665459e-1f;
  p = p * t + 5.0000001201e-1f;
  p = p * t * t + t + 1.0f;
  const std::int32_t exponent = std::bit_cast<std::int32_t>(shifted) << 23;
  const float value = std::bit_cast<float>(std::bit_cast<std::int32_t>(p) + exponent);
  return x < -87.0f ? 0.0f : value;
}

// The same in float64, within 2 units in the last place; below -708 it is 0.
MAXMARGIN_INLINE double exp_negative(double x) {
  const double bounded = x < -708.0 ? -708.0 : x;
  const double shifted = bounded * 1.4426950408889634 + 6755399441055744.0;  // 1.5 * 2^52
  const double m = shifted - 6755399441055744.0;
  const double t = (bounded - m * 6.93145751953125e-1) - m * 1.42860682030941723212e-6;
  double p = 1.0 / 6227020800.0;  // Taylor's series: 13 terms reach the last place
  p = p * t + 1.0 / 479001600.0;
  p = p * t + 1.0 / 39916800.0;
  p = p * t + 1.0 / 3628800.0;
  p = p * t + 1.0 / 362880.0;
  p = p * t + 1.0 / 40320.0;
  p = p * t + 1.0 / 5040.0;
  p = p * t + 1.0 / 720.0;
  p = p * t + 1.0 / 120.0;
  p = p * t + 1.0 / 24.0;
  p = p * t + 1.0 / 6.0;
  p = p * t + 0.5;
  p = p * t * t + t + 1.0;
  const std::int64_t exponent = std::bit_cast<std::int64_t>(shifted) << 52;
  const double value = std::bit_cast<double>(std::bit_cast<std::int64_t>(p) + exponent);
  return x < -708.0 ? 0.0 : value;
}

template <class Value>
MAXMARGIN_INLINE Value power(Value x, int degree) {
  Value result = 1;
  for (int e = degree; e > 0; e >>= 1) {
    if (e & 1) result *= x;
    x *= x;
  }
  return result;
}

// ||x - z||^2; rounding can make it negative for equal points
template <class In>
MAXMARGIN_INLINE In distance(In product, In norm, In other) {
  const In d = norm + other - 2 * product;
  return d > 0 ? d : 0;
}

// Products in the precision of `In`, kernel values in that of `Out`.
template <class In, class Out>
MAXMARGIN_INLINE void row_from_products(const KernelFunction& k, const In* products, In norm,
                                        const In* norms, std::size_t n, Out* out) {
  const In gamma = static_cast<In>(k.gamma), coef0 = static_cast<In>(k.coef0);
  switch (k.kind) {
    case KernelKind::distance:
#pragma omp simd
      for (std::size_t j = 0; j < n; ++j)
        out[j] = static_cast<Out>(distance(products[j], norm, norms[j]));
      break;
    case KernelKind::rbf:
#pragma omp simd
      for (std::size_t j = 0; j < n; ++j)
        out[j] = exp_negative(static_cast<Out>(-gamma * distance(products[j], norm, norms[j])));
      break;
    case KernelKind::laplacian:
#pragma omp simd
      for (std::size_t j = 0; j < n; ++j)
        out[j] = exp_negative(
            static_cast<Out>(-gamma * std::sqrt(distance(products[j], norm, norms[j]))));
      break;
    case KernelKind::poly:
      for (std::size_t j = 0; j < n; ++j)
        out[j] = power(static_cast<Out>(gamma * products[j] + coef0), k.degree);
      break;
    case KernelKind::linear:
#pragma omp simd
      for (std::size_t j = 0; j < n; ++j) out[j] = static_cast<Out>(products[j]);
      break;
  }
  if (const Out constant = static_cast<Out>(k.constant); constant != 0)
    for (std::size_t j = 0; j < n; ++j) out[j] += constant;
}

MAXMARGIN_WIDE_CLONES void row_to_float(const KernelFunction& k, const double* products,
                                        double norm, const double* norms, std::size_t n,
                                        float* out) {
  row_from_products(k, products, norm, norms, n, out);
}
MAXMARGIN_WIDE_CLONES void row_to_double(const KernelFunction& k, double* products, double norm,
                                         const double* norms, std::size_t n) {
  row_from_products(k, products, norm, norms, n, products);
}
MAXMARGIN_WIDE_CLONES void row_in_single(const KernelFunction& k, float* products, float norm,
                                         const float* norms, std::size_t n) {
  row_from_products(k, products, norm, norms, n, products);
}

// One point against a block of columns that stays in the first-level cache; sums stay in registers.
MAXMARGIN_WIDE_CLONES void narrow_row(const double* x, const double* z, std::size_t stride,
                                      std::size_t n, std::size_t d, double* out) {
  constexpr std::size_t lanes = 32;
  const std::size_t whole = n - n % lanes;
  for (std::size_t begin = 0; begin < whole; begin += lanes) {
    double sums[lanes] = {};
    for (std::size_t f = 0; f < d; ++f) {
      const double* column = z + f * stride + begin;
#pragma omp simd
      for (std::size_t j = 0; j < lanes; ++j) sums[j] += x[f] * column[j];
    }
    std::copy_n(sums, lanes, out + begin);
  }
  for (std::size_t j = whole; j < n; ++j) {
    double sum = 0;
    for (std::size_t f = 0; f < d; ++f) sum += x[f] * z[f * stride + j];
    out[j] = sum;
  }
}

MAXMARGIN_CLONES void exp_of_distances(const float* d, float gamma, float constant, std::size_t n,
                                       float* out) {
#pragma omp simd
  for (std::size_t j = 0; j < n; ++j) out[j] = exp_negative(-gamma * d[j]) + constant;
}
MAXMARGIN_CLONES void exp_of_roots(const float* d, float gamma, float constant, std::size_t n,
                                   float* out) {
#pragma omp simd
  for (std::size_t j = 0; j < n; ++j) out[j] = exp_negative(-gamma * std::sqrt(d[j])) + constant;
}

// K[j][i] = K[i][j] for a tile that lies right of the diagonal, by four rows and columns: rows of a
// matrix can lie at distances that share a cache set, so each is visited once for four numbers.
void mirror_right(MatrixView K, Range rows, Range columns) {
  constexpr std::size_t four = 4;
  const std::size_t row_end = rows.end - (rows.end - rows.begin) % four;
  const std::size_t column_end = columns.end - (columns.end - columns.begin) % four;
  const auto copy = [&](std::size_t i, std::size_t j) { K.row(j)[i] = K.row(i)[j]; };
  for (std::size_t j = columns.begin; j < column_end; j += four) {
    for (std::size_t i = rows.begin; i < row_end; i += four) {
      float turned[four][four];
      for (std::size_t a = 0; a < four; ++a)
        for (std::size_t b = 0; b < four; ++b) turned[b][a] = K.row(i + a)[j + b];
      for (std::size_t b = 0; b < four; ++b)
        for (std::size_t a = 0; a < four; ++a) K.row(j + b)[i + a] = turned[b][a];
    }
    for (std::size_t b = 0; b < four; ++b)
      for (std::size_t i = row_end; i < rows.end; ++i) copy(i, j + b);
  }
  for (std::size_t j = column_end; j < columns.end; ++j)
    for (std::size_t i = rows.begin; i < rows.end; ++i) copy(i, j);
}

// The same for any tile, where j > i
void mirror(MatrixView K, Range rows, Range columns) {
  if (rows.end <= columns.begin) return mirror_right(K, rows, columns);
  for (std::size_t j = columns.begin; j < columns.end; ++j)
    for (std::size_t i = rows.begin; i < std::min(rows.end, j); ++i) K.row(j)[i] = K.row(i)[j];
}

Range tile_of(std::size_t n, std::size_t k) { return {k * kTile, std::min(n, (k + 1) * kTile)}; }

std::size_t tiles(std::size_t n) { return (n + kTile - 1) / kTile; }

}  // namespace

double KernelFunction::diagonal(double norm) const {
  switch (kind) {
    case KernelKind::distance:
      return 0;
    case KernelKind::rbf:
    case KernelKind::laplacian:
      return 1 + constant;
    case KernelKind::poly:
      return power(static_cast<float>(gamma * norm + coef0), degree) + constant;
    case KernelKind::linear:
      return static_cast<float>(norm) + constant;
  }
  return 0;
}

void kernel_row(const KernelFunction& k, const double* products, double norm, const double* norms,
                std::size_t n, float* out) {
  row_to_float(k, products, norm, norms, n, out);
}

void kernel_row_in_place(const KernelFunction& k, double* products, double norm,
                         const double* norms, std::size_t n) {
  row_to_double(k, products, norm, norms, n);
}

void kernel_row_in_place(const KernelFunction& k, float* products, float norm, const float* norms,
                         std::size_t n) {
  row_in_single(k, products, norm, norms, n);
}

void narrow_products(const double* x, const double* z, std::size_t rows, std::size_t columns,
                     std::size_t d, double* products, Pool& pool) {
  check(d > 0, "points without features have no products");
  const std::size_t parts = std::min(pieces(rows * columns * d), std::max<std::size_t>(rows, 1));
  constexpr std::size_t block = 256;
  pool.run(parts, [&](std::size_t part) {
    const Range range = part_of(rows, parts, part);
    for (std::size_t begin = 0; begin < columns; begin += block)
      for (std::size_t r = range.begin; r < range.end; ++r)
        narrow_row(x + r * d, z + begin, columns, std::min(block, columns - begin), d,
                   products + r * columns + begin);
  });
}

void kernel_values(const KernelFunction& k, double* products, std::size_t rows, std::size_t columns,
                   const double* row_norms, const double* column_norms, Pool& pool) {
  const std::size_t parts = std::min(pieces(rows * columns), std::max<std::size_t>(rows, 1));
  pool.run(parts, [&](std::size_t part) {
    const Range range = part_of(rows, parts, part);
    for (std::size_t r = range.begin; r < range.end; ++r)
      row_to_double(k, products + r * columns, row_norms[r], column_norms, columns);
  });
}

void fill_symmetric(const KernelFunction& k, const ProductTile& tile, const double* norms,
                    MatrixView K, Pool& pool) {
  const std::size_t bands = tiles(tile.rows);
  pool.run(bands * tiles(tile.columns), [&](std::size_t t) {
    const Range part = tile_of(tile.rows, t % bands), across = tile_of(tile.columns, t / bands);
    const Range band{tile.row + part.begin, tile.row + part.end};
    const Range columns{tile.column + across.begin, tile.column + across.end};
    for (std::size_t i = band.begin; i < band.end; ++i) {
      const double* products = tile.products + (i - tile.row) * tile.columns;
      const std::size_t j = std::max(i, columns.begin);
      if (j >= columns.end) continue;
      row_to_float(k, products + (j - tile.column), norms[i], norms + j, columns.end - j,
                   K.row(i) + j);
      if (i >= columns.begin) K.row(i)[i] = static_cast<float>(k.diagonal(norms[i]));
    }
    mirror(K, band, columns);
  });
}

void kernel_from_distances(const KernelFunction& k, MatrixView D, MatrixView K, Pool& pool) {
  const float gamma = static_cast<float>(k.gamma), constant = static_cast<float>(k.constant);
  const auto exp_row = k.kind == KernelKind::rbf ? exp_of_distances : exp_of_roots;
  const std::size_t parts = tiles(D.n);
  pool.run(parts, [&](std::size_t t) {
    const Range band = tile_of(D.n, t);
    for (std::size_t i = band.begin; i < band.end; ++i)
      exp_row(D.row(i), gamma, constant, D.n, K.row(i));
  });
}

MatrixCheck check_matrix(MatrixView K, Pool& pool) {
  constexpr double kAsymmetry = 1e-4;
  const auto fault_at = [&](std::size_t i, std::size_t j) {
    const double value = K.row(i)[j], mirrored = K.row(j)[i];
    if (!std::isfinite(value)) return MatrixFault::not_finite;
    const double product = static_cast<double>(K.row(i)[i]) * K.row(j)[j];
    const double scale = std::sqrt(std::abs(product));
    if (std::abs(value - mirrored) > kAsymmetry * std::max(scale, std::abs(value)))
      return MatrixFault::asymmetric;
    if (K.row(i)[i] < 0 || value * value > (1 + kIndefinite) * product + 1e-30)
      return MatrixFault::indefinite;
    return MatrixFault::none;
  };
  std::vector<MatrixCheck> found(tiles(K.n));
  pool.run(found.size(), [&](std::size_t t) {
    const Range band = tile_of(K.n, t);
    for (std::size_t begin = 0; begin < K.n; begin += kTile)
      for (std::size_t i = band.begin; i < band.end; ++i)
        for (std::size_t j = begin; j < std::min(K.n, begin + kTile); ++j)
          if (const MatrixFault fault = fault_at(i, j); fault != MatrixFault::none) {
            found[t] = {fault, i, j};
            return;
          }
  });
  for (const MatrixCheck& part : found)
    if (part.fault != MatrixFault::none) return part;
  return {};
}

}  // namespace maxmargin
