#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "common.hpp"
#include "linear/cholesky.hpp"
#include "linear/dual_descent.hpp"
#include "linear/gram.hpp"
#include "linear/inverse_forms.hpp"
#include "linear/products.hpp"
#include "linear/reduced_qp.hpp"
#include "linear/row_sets.hpp"

namespace maxmargin {

namespace {

using Release = nb::call_guard<nb::gil_scoped_release>;

void bind_products(nb::module_& m) {
  m.def(
      "matvec",
      [](const RowsHandle& rows, In<double> w, Out<double> p, Pool& pool) {
        check_length(w.shape(0), rows.shape().width(), "w");
        check_length(p.shape(0), rows.shape().n, "p");
        predict(rows.view, w.data(), p.data(), pool);
      },
      Release(), nb::arg("rows"), nb::arg("w"), nb::arg("p").noconvert(), nb::arg("pool"),
      "p = X w");
  m.def(
      "rmatvec",
      [](const RowsHandle& rows, In<double> l, Out<double> a, Pool& pool) {
        check_length(l.shape(0), rows.shape().n, "l");
        check_length(a.shape(0), rows.shape().width(), "a");
        combine(rows.view, l.data(), a.data(), pool);
      },
      Release(), nb::arg("rows"), nb::arg("l"), nb::arg("a").noconvert(), nb::arg("pool"),
      "a = X^T l");
  m.def(
      "rmatvec_onto",
      [](const RowsHandle& rows, In<double> l, Out<double> a, Pool& pool) {
        check_length(l.shape(0), rows.shape().n, "l");
        check_length(a.shape(0), rows.shape().width(), "a");
        combine_onto(rows.view, l.data(), a.data(), pool);
      },
      Release(), nb::arg("rows"), nb::arg("l"), nb::arg("a").noconvert(), nb::arg("pool"),
      "a += X^T l");
  m.def(
      "squared_norms",
      [](const RowsHandle& rows, Out<double> out, Pool& pool) {
        check_length(out.shape(0), rows.shape().n, "out");
        squared_norms(rows.view, out.data(), pool);
      },
      Release(), nb::arg("rows"), nb::arg("out").noconvert(), nb::arg("pool"));
  m.def(
      "gram",
      [](const RowsHandle& rows, In<double> h, std::size_t every, bool for_direction,
         OutMatrix<double> H, Pool& pool) {
        const std::size_t width = rows.shape().width();
        check(every >= 1, "every must be at least 1");
        check_length(h.shape(0), rows.shape().n, "h");
        check(H.shape(0) == width && H.shape(1) == width, "H must be width x width");
        const GramUse use = for_direction ? GramUse::direction : GramUse::values;
        gram(rows.view, h.data(), every, use, H.data(), pool);
      },
      Release(), nb::arg("rows"), nb::arg("h"), nb::arg("every"), nb::arg("for_direction"),
      nb::arg("H").noconvert(), nb::arg("pool"),
      "H = sum_i h_i x_i x_i^T; float32 products if they are enough for a Newton direction");
  m.def("gram_steps_per_row", [](const RowsHandle& rows) { return gram_steps_per_row(rows.view); });
  m.def(
      "cholesky_solve",
      [](OutMatrix<double> H, Out<double> b, Pool& pool) {
        check(H.shape(0) == H.shape(1), "H must be square");
        check_length(b.shape(0), H.shape(0), "b");
        return cholesky_solve(H.data(), H.shape(0), b.data(), pool);
      },
      Release(), nb::arg("H").noconvert(), nb::arg("b").noconvert(), nb::arg("pool"),
      "b <- H^-1 b, H overwritten by its factor; False if H is not positive definite");
  m.def(
      "solve_triangles",
      [](OutMatrix<double> L, Out<double> b) {
        check(L.shape(0) == L.shape(1), "L must be square");
        check_length(b.shape(0), L.shape(0), "b");
        solve_triangles(L.data(), L.shape(0), b.data());
      },
      Release(), nb::arg("L").noconvert(), nb::arg("b").noconvert(),
      "b <- (L L^T)^-1 b, L the lower triangle that `cholesky_solve` left");
  m.def(
      "inverse_forms",
      [](const RowsHandle& rows, In<std::uint32_t> chosen, OutMatrix<double> H, Out<double> out,
         Pool& pool) {
        const std::size_t width = rows.shape().width();
        check(H.shape(0) == width && H.shape(1) == width, "H must be width x width");
        check_length(out.shape(0), chosen.shape(0), "out");
        return inverse_forms(rows.view, chosen.data(), chosen.shape(0), H.data(), out.data(), pool);
      },
      Release(), nb::arg("rows"), nb::arg("chosen"), nb::arg("H").noconvert(),
      nb::arg("out").noconvert(), nb::arg("pool"),
      "out_m = <x, H^-1 x> for x the row chosen_m, H overwritten; False if H is not positive "
      "definite");
  m.def(
      "hessian_product",
      [](const RowsHandle& rows, In<double> h, In<double> v, Out<double> out, Pool& pool,
         std::optional<Out<double>> image) {
        check_length(h.shape(0), rows.shape().n, "h");
        check_length(v.shape(0), rows.shape().width(), "v");
        check_length(out.shape(0), rows.shape().width(), "out");
        if (image) check_length(image->shape(0), rows.shape().n, "image");
        hessian_product(rows.view, h.data(), v.data(), out.data(), pool,
                        image ? image->data() : nullptr);
      },
      Release(), nb::arg("rows"), nb::arg("h"), nb::arg("v"), nb::arg("out").noconvert(),
      nb::arg("pool"), nb::arg("image").noconvert() = nb::none(),
      "out = sum_i h_i <x_i, v> x_i, image = X v");
}

// Holds on to the arrays the solver works in.
struct DualDescentHandle {
  RowsHandle rows;
  Out<double> w;
  std::unique_ptr<DualDescent> solver;
};

void bind_dual_descent(nb::module_& m) {
  nb::class_<DualDescentHandle>(m, "DualDescent")
      .def(
          "__init__",
          [](DualDescentHandle* self, const RowsHandle& rows, const PointwiseHandle& loss,
             std::optional<In<double>> u0, Out<double> w, std::uint64_t seed) {
            check_length(loss.sum.n, rows.shape().n, "loss");
            if (u0) check_length(u0->shape(0), rows.shape().n, "u0");
            check_length(w.shape(0), rows.shape().width(), "w");
            auto solver =
                make_dual_descent(rows.view, loss.sum, u0 ? u0->data() : nullptr, w.data(), seed);
            new (self) DualDescentHandle{rows, w, std::move(solver)};
          },
          nb::arg("rows"), nb::arg("loss"), nb::arg("u0").none(), nb::arg("w").noconvert(),
          nb::arg("seed"))
      .def(
          "epoch",
          [](DualDescentHandle& self, Pool& pool) {
            const DualDescent::Epoch e = self.solver->epoch(pool.stop());
            return std::make_tuple(e.gap, e.rise, e.visited, e.entries);
          },
          Release(), nb::arg("pool"),
          "(gap of the rows as they were visited, rise of D, rows visited, their non-zeros)")
      .def(
          "check_gap",
          [](DualDescentHandle& self, In<double> p, Pool& pool) {
            check_length(p.shape(0), self.rows.shape().n, "p");
            const DualDescent::Sums s = self.solver->check_gap(p.data(), pool);
            return std::make_tuple(s.dual.value, s.dual.size, s.bp, s.value);
          },
          Release(), nb::arg("p"), nb::arg("pool"),
          "(dual sum, its size, <w, sum b x>, loss); chooses the rows to visit")
      .def(
          "copy_dual",
          [](DualDescentHandle& self, Out<double> u) {
            check_length(u.shape(0), self.rows.shape().n, "u");
            self.solver->copy_dual(u.data());
          },
          Release(), nb::arg("u").noconvert())
      .def_prop_ro("active", [](const DualDescentHandle& self) { return self.solver->active(); });
}

void check_increasing(const std::vector<std::size_t>& places, std::size_t end,
                      const char* message) {
  for (std::size_t k = 0; k < places.size(); ++k)
    check(places[k] < end && (k == 0 || places[k] > places[k - 1]), message);
}

void bind_reduced_qp(nb::module_& m) {
  nb::class_<ReducedQP>(m, "ReducedQP")
      .def(nb::init<>())
      .def(
          "append",
          [](ReducedQP& self, double b, In<double> products) {
            check_length(products.shape(0), self.size() + 1, "products");
            self.append(b, products.data());
          },
          nb::arg("b"), nb::arg("products"))
      .def(
          "keep",
          [](ReducedQP& self, const std::vector<std::size_t>& planes) {
            check_increasing(planes, self.size(), "planes must increase");
            self.keep(planes);
          },
          nb::arg("planes"))
      .def(
          "widen",
          [](ReducedQP& self, In<double> coordinates) {
            check_length(coordinates.shape(0), self.size(), "coordinates");
            self.widen(coordinates.data());
          },
          nb::arg("coordinates"))
      .def(
          "solve",
          [](ReducedQP& self, double tolerance, Pool* pool) {
            return self.solve(tolerance, pool ? pool->stop() : nullptr);
          },
          Release(), nb::arg("tolerance"), nb::arg("pool") = nb::none())
      .def_prop_ro(
          "beta", [](const ReducedQP& self) { return give(std::vector<double>(self.beta())); },
          nb::rv_policy::move)
      .def("__len__", &ReducedQP::size);
}

// A new array that is filled while other Python threads may run.
template <class Fill>
auto filled(std::size_t count, Fill fill) {
  std::vector<double> values(count);
  {
    nb::gil_scoped_release release;
    fill(values.data());
  }
  return give(std::move(values));
}

void bind_row_sets(nb::module_& m) {
  nb::class_<RowSets>(m, "RowSets")
      .def(nb::init<std::size_t>(), nb::arg("n"))
      .def(
          "append",
          [](RowSets& self, In<double> l) {
            check_length(l.shape(0), self.n(), "l");
            self.append(l.data());
          },
          nb::arg("l"), "adds the set of rows with l_i != 0")
      .def(
          "keep",
          [](RowSets& self, const std::vector<std::size_t>& sets) {
            check_increasing(sets, self.size(), "sets must increase");
            self.keep(sets);
          },
          Release(), nb::arg("sets"))
      .def(
          "sums",
          [](const RowSets& self, In<double> v, Pool& pool) {
            check_length(v.shape(0), self.n(), "v");
            return filled(self.size(), [&](double* out) { self.sums(v.data(), out, pool); });
          },
          nb::arg("v"), nb::arg("pool"), "the sum of v_i over the rows of each set")
      .def(
          "shares",
          [](const RowSets& self, In<double> beta, Pool& pool) {
            check_length(beta.shape(0), self.size(), "beta");
            return filled(self.n(), [&](double* out) { self.shares(beta.data(), out, pool); });
          },
          nb::arg("beta"), nb::arg("pool"), "for each row the sum of beta_j over its sets")
      .def("__len__", &RowSets::size);
}

}  // namespace

void bind_linear(nb::module_& m) {
  bind_products(m);
  bind_dual_descent(m);
  bind_reduced_qp(m);
  bind_row_sets(m);
}

}  // namespace maxmargin
