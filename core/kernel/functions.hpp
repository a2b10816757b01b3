// Kernel functions, evaluated a row or a tile at a time from inner products or squared distances.
//
//   rbf        exp(-gamma ||x - z||^2)          laplacian  exp(-gamma ||x - z||)
//   poly       (gamma <x, z> + coef0)^degree    linear     <x, z>
//   distance   ||x - z||^2, what every width of the first two is made of
//
// A constant added to every value is an offset of the machine that is regularised.
//
// Inner products and norms are float64, so that the distance of close points far from the origin
// keeps its digits. Rows and matrices of kernel values are float32; tiles made in place are
// float64, for what must be exact: certificates and predictions.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/parallel.hpp"

namespace maxmargin {

enum class KernelKind : int { distance, rbf, laplacian, poly, linear };

struct KernelFunction {
  KernelKind kind = KernelKind::rbf;
  double gamma = 1, coef0 = 0;
  int degree = 3;
  double constant = 0;

  // k(x, x) for ||x||^2 = norm
  double diagonal(double norm) const;
};

// A float32 matrix in somebody else's memory, rows contiguous.
struct MatrixView {
  float* values;
  std::size_t n, width, stride;
  float* row(std::size_t i) const { return values + i * stride; }
};

// out_j = k(x_i, x_j) from products_j = <x_i, x_j> and the squared norms of x_i and of every x_j
void kernel_row(const KernelFunction& k, const double* products, double norm, const double* norms,
                std::size_t n, float* out);

// In place and in float64, products_j = <x, x_j> becomes k(x, x_j).
void kernel_row_in_place(const KernelFunction& k, double* products, double norm,
                         const double* norms, std::size_t n);

// The same in float32, for what is judged in float64 later.
void kernel_row_in_place(const KernelFunction& k, float* products, float norm, const float* norms,
                         std::size_t n);

// products[r][c] = <x_r, z_c> of points of few features, where BLAS takes longer to begin than to
// multiply: x by rows of d numbers, z by columns (d rows of `columns` numbers). Threaded.
void narrow_products(const double* x, const double* z, std::size_t rows, std::size_t columns,
                     std::size_t d, double* products, Pool& pool);

// In place, products[r][c] = <x_r, z_c> becomes k(x_r, z_c). Threaded.
void kernel_values(const KernelFunction& k, double* products, std::size_t rows, std::size_t columns,
                   const double* row_norms, const double* column_norms, Pool& pool);

// products[r][c] = <x_(row + r), x_(column + c)>, a tile on or right of the diagonal: fills that
// part of K above the diagonal and its mirror image. Threaded.
struct ProductTile {
  const double* products;
  std::size_t rows, columns, row, column;
};
void fill_symmetric(const KernelFunction& k, const ProductTile& tile, const double* norms,
                    MatrixView K, Pool& pool);

// K_ij = k at squared distance D_ij, both symmetric; half of it is computed, half mirrored. K may
// be D.
void kernel_from_distances(const KernelFunction& k, MatrixView D, MatrixView K, Pool& pool);

// out[0 .. count - 1]: the columns of the smallest d[.], nearest first, `self` left out; -1 where
// there are fewer. `heap` is working memory.
using Heap = std::vector<std::pair<float, std::int32_t>>;
void nearest_of_row(const float* d, std::size_t width, std::size_t self, std::size_t count,
                    Heap& heap, std::int32_t* out);

// nearest[r][0 .. count - 1]: the columns of the smallest distances[r][.], nearest first, the row
// itself (column first + r) left out; -1 where there are fewer. Threaded.
void nearest_columns(const MatrixView& distances, std::size_t first, std::size_t count,
                     std::int32_t* nearest, Pool& pool);

// What a matrix that somebody else computed must pass, and where it does not.
enum class MatrixFault : int { none, not_finite, asymmetric, indefinite };
struct MatrixCheck {
  MatrixFault fault = MatrixFault::none;
  std::size_t row = 0, column = 0;
};
// Finite; |K_ij - K_ji| within float32 rounding of the diagonal; K_ij^2 <= K_ii K_jj. The last is
// necessary for a positive definite matrix, not sufficient, and what the steps of the solver rely
// on.
MatrixCheck check_matrix(MatrixView K, Pool& pool);

// A determinant of two rows and columns below -this * K_ii K_jj is no rounding error.
constexpr double kIndefinite = 1e-5;

}  // namespace maxmargin
