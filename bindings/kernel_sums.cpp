#include "common.hpp"
#include "kernel/sums.hpp"

namespace maxmargin {

namespace {

using Release = nb::call_guard<nb::gil_scoped_release>;

void check_positive(std::size_t positive, std::size_t n) {
  check(positive <= n,
        std::to_string(positive) + " of " + std::to_string(n) + " coefficients cannot be positive");
}

template <class Value>
void define_sums(nb::module_& m, const char* text) {
  m.def(
      "add_kernel_sums",
      [](const KernelFunction& k, OutMatrix<Value> products, In<Value> row_norms,
         In<Value> column_norms, In<Value> beta, std::size_t positive, OutMatrix<double> sums) {
        check_length(row_norms.shape(0), products.shape(0), "row_norms");
        check_length(column_norms.shape(0), products.shape(1), "column_norms");
        check_length(beta.shape(0), products.shape(1), "beta");
        check_length(sums.shape(0), products.shape(0), "sums");
        check_length(sums.shape(1), 2, "a row of sums");
        check_positive(positive, beta.shape(0));
        add_kernel_sums(k, products.data(), products.shape(0), row_norms.data(),
                        column_norms.data(), {beta.data(), beta.shape(0), positive}, sums.data());
      },
      Release(), nb::arg("function"), nb::arg("products").noconvert(), nb::arg("row_norms"),
      nb::arg("column_norms"), nb::arg("beta"), nb::arg("positive"), nb::arg("sums").noconvert(),
      text);
}

}  // namespace

void bind_kernel_sums(nb::module_& m) {
  define_sums<double>(
      m, "sums[r] += sum_c beta[c] k_rc, over the positive beta, which come first, and the others");
  define_sums<float>(m, "The same in float32.");
  m.def(
      "add_symmetric_sums",
      [](const KernelFunction& k, OutMatrix<double> products, std::size_t row, std::size_t column,
         In<double> norms, In<double> beta, std::size_t positive, OutMatrix<double> sums) {
        const ProductTile tile{products.data(), products.shape(0), products.shape(1), row, column};
        const std::size_t n = norms.shape(0);
        check_length(beta.shape(0), n, "beta");
        check_length(sums.shape(0), 2, "sums");
        check_length(sums.shape(1), n, "a row of sums");
        check(row <= column && row + tile.rows <= n && column + tile.columns <= n,
              "the tile of inner products does not fit above the diagonal of the kernel matrix");
        check_positive(positive, n);
        add_symmetric_sums(k, products.data(), tile, norms.data(), {beta.data(), n, positive},
                           sums.data());
      },
      Release(), nb::arg("function"), nb::arg("products").noconvert(), nb::arg("row"),
      nb::arg("column"), nb::arg("norms"), nb::arg("beta"), nb::arg("positive"),
      nb::arg("sums").noconvert(),
      "The same for a tile right of the diagonal, and its mirror image: sums[0], and sums[1]");
}

}  // namespace maxmargin
