#include "common.hpp"
#include "linear/products.hpp"

namespace maxmargin {

void bind_linear(nb::module_& m) {
  using Release = nb::call_guard<nb::gil_scoped_release>;

  m.def(
      "predict",
      [](const RowsHandle& rows, In<double> w, Out<double> p, Pool& pool) {
        check_length(w.shape(0), rows.shape().width(), "w");
        check_length(p.shape(0), rows.shape().n, "p");
        predict(rows.view, w.data(), p.data(), pool);
      },
      Release(), nb::arg("rows"), nb::arg("w"), nb::arg("p").noconvert(), nb::arg("pool"), "p = X w");
  m.def(
      "combine",
      [](const RowsHandle& rows, In<double> l, Out<double> a, Pool& pool) {
        check_length(l.shape(0), rows.shape().n, "l");
        check_length(a.shape(0), rows.shape().width(), "a");
        combine(rows.view, l.data(), a.data(), pool);
      },
      Release(), nb::arg("rows"), nb::arg("l"), nb::arg("a").noconvert(), nb::arg("pool"),
      "a = X^T l");
  m.def(
      "squared_norms",
      [](const RowsHandle& rows, Out<double> out, Pool& pool) {
        check_length(out.shape(0), rows.shape().n, "out");
        squared_norms(rows.view, out.data(), pool);
      },
      Release(), nb::arg("rows"), nb::arg("out").noconvert(), nb::arg("pool"));
  m.def(
      "gram",
      [](const RowsHandle& rows, In<double> h, OutMatrix<double> H, Pool& pool) {
        const std::size_t width = rows.shape().width();
        check_length(h.shape(0), rows.shape().n, "h");
        check(H.shape(0) == width && H.shape(1) == width, "H must be width x width");
        gram(rows.view, h.data(), H.data(), pool);
      },
      Release(), nb::arg("rows"), nb::arg("h"), nb::arg("H").noconvert(), nb::arg("pool"),
      "H = sum_i h_i x_i x_i^T");
}

}  // namespace maxmargin
