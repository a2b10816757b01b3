#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "common.hpp"
#include "linear/cholesky.hpp"
#include "linear/dual_descent.hpp"
#include "linear/gram.hpp"
#include "linear/hinge.hpp"
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
      "b <- H^-1 b, H overwritten; False if H is not positive definite");
  m.def(
      "hessian_product",
      [](const RowsHandle& rows, In<double> h, In<double> v, Out<double> out, Pool& pool) {
        check_length(h.shape(0), rows.shape().n, "h");
        check_length(v.shape(0), rows.shape().width(), "v");
        check_length(out.shape(0), rows.shape().width(), "out");
        hessian_product(rows.view, h.data(), v.data(), out.data(), pool);
      },
      Release(), nb::arg("rows"), nb::arg("h"), nb::arg("v"), nb::arg("out").noconvert(),
      nb::arg("pool"), "out = sum_i h_i <x_i, v> x_i");
}

void bind_hinge(nb::module_& m) {
  m.def(
      "hinge",
      [](In<double> q, In<double> p, Pool& pool) {
        check_length(p.shape(0), q.shape(0), "p");
        return hinge(q.data(), p.data(), q.shape(0), nullptr, pool);
      },
      Release(), nb::arg("q"), nb::arg("p"), nb::arg("pool"));
  m.def(
      "hinge",
      [](In<double> q, In<double> p, Out<double> l, Pool& pool) {
        check_length(p.shape(0), q.shape(0), "p");
        check_length(l.shape(0), q.shape(0), "l");
        return hinge(q.data(), p.data(), q.shape(0), l.data(), pool);
      },
      Release(), nb::arg("q"), nb::arg("p"), nb::arg("l").noconvert(), nb::arg("pool"));
  m.def(
      "hinge_search",
      [](In<double> q, In<double> p, In<double> dp, double A0, double B0, Pool& pool) {
        check_length(p.shape(0), q.shape(0), "p");
        check_length(dp.shape(0), q.shape(0), "dp");
        return hinge_search(q.data(), p.data(), dp.data(), q.shape(0), A0, B0, pool);
      },
      Release(), nb::arg("q"), nb::arg("p"), nb::arg("dp"), nb::arg("A0"), nb::arg("B0"),
      nb::arg("pool"));
  m.def(
      "hinge_along",
      [](In<double> q, In<double> p, In<double> dp, double k, Pool& pool) {
        check_length(p.shape(0), q.shape(0), "p");
        check_length(dp.shape(0), q.shape(0), "dp");
        return hinge_along(q.data(), p.data(), dp.data(), k, q.shape(0), pool);
      },
      Release(), nb::arg("q"), nb::arg("p"), nb::arg("dp"), nb::arg("k"), nb::arg("pool"));
  nb::class_<KinkList>(m, "KinkList", "Kinks of a part of the rows in (low, high].")
      .def_ro("low", &KinkList::low)
      .def_ro("high", &KinkList::high)
      .def_ro("slope", &KinkList::slope)
      .def_ro("value", &KinkList::value)
      .def("__len__", [](const KinkList& list) { return list.kinks.size(); })
      .def("within", &KinkList::within, Release(), nb::arg("low"), nb::arg("high"))
      .def(
          "summarise",
          [](const KinkList& list, std::size_t most) {
            check(most >= 1, "most must be at least 1");
            KinkSummary s;
            {
              nb::gil_scoped_release released;
              s = summarise(list.kinks, most);
            }
            return std::make_tuple(s.edges, s.rises, s.complete);
          },
          nb::arg("most"), "(edges, rises, complete)");
  m.def(
      "list_kinks",
      [](In<double> q, In<double> p, In<double> dp, double low, double high, Pool& pool) {
        check_length(p.shape(0), q.shape(0), "p");
        check_length(dp.shape(0), q.shape(0), "dp");
        return list_kinks(q.data(), p.data(), dp.data(), q.shape(0), low, high, pool);
      },
      Release(), nb::arg("q"), nb::arg("p"), nb::arg("dp"), nb::arg("low"), nb::arg("high"),
      nb::arg("pool"));
  m.def(
      "sampled_bracket",
      [](In<double> q, In<double> p, In<double> dp, double A0, double B0) {
        check_length(p.shape(0), q.shape(0), "p");
        check_length(dp.shape(0), q.shape(0), "dp");
        return sampled_bracket(q.data(), p.data(), dp.data(), q.shape(0), A0, B0);
      },
      Release(), nb::arg("q"), nb::arg("p"), nb::arg("dp"), nb::arg("A0"), nb::arg("B0"),
      "(low, high) around where the slope k A0 + B0 + ... is likely 0");
  m.def(
      "smoothed_along",
      [](In<double> q, In<double> nu, double sigma, In<double> p, In<double> dp, double k,
         Pool& pool) {
        check_length(nu.shape(0), q.shape(0), "nu");
        check_length(p.shape(0), q.shape(0), "p");
        check_length(dp.shape(0), q.shape(0), "dp");
        Smoothed s =
            smoothed_along(q.data(), nu.data(), sigma, p.data(), dp.data(), k, q.shape(0), pool);
        return std::make_tuple(s.value, s.slope, s.curvature);
      },
      Release(), nb::arg("q"), nb::arg("nu"), nb::arg("sigma"), nb::arg("p"), nb::arg("dp"),
      nb::arg("k"), nb::arg("pool"), "(value, slope, curvature) of the smoothed hinge at p + k dp");
  m.def(
      "multipliers",
      [](In<double> q, In<double> nu, double sigma, In<double> p, Out<double> ya, Out<double> h,
         Pool& pool) {
        for (std::size_t length : {nu.shape(0), p.shape(0), ya.shape(0), h.shape(0)})
          check_length(length, q.shape(0), "an argument");
        Multipliers s = multipliers(q.data(), nu.data(), sigma, p.data(), q.shape(0), ya.data(),
                                    h.data(), pool);
        return std::make_tuple(s.smoothed, s.hinge, s.sum, s.inner);
      },
      Release(), nb::arg("q"), nb::arg("nu"), nb::arg("sigma"), nb::arg("p"),
      nb::arg("ya").noconvert(), nb::arg("h").noconvert(), nb::arg("pool"),
      "(smoothed loss, hinge loss, sum of a, inner rows); fills ya and h");
}

// Holds on to the arrays the solver works in.
struct DualDescentHandle {
  RowsHandle rows;
  Out<double> w;
  DualDescent solver;
  DualDescentHandle(const RowsHandle& rows_, In<double> q, std::optional<In<double>> a0,
                    Out<double> w_, std::uint64_t seed)
      : rows(rows_),
        w(w_),
        solver(rows.view, q.data(), a0 ? a0->data() : nullptr, w.data(), seed) {}
};

void bind_dual_descent(nb::module_& m) {
  nb::class_<DualDescentHandle>(m, "DualDescent")
      .def(
          "__init__",
          [](DualDescentHandle* self, const RowsHandle& rows, In<double> q,
             std::optional<In<double>> a0, Out<double> w, std::uint64_t seed) {
            check_length(q.shape(0), rows.shape().n, "q");
            if (a0) check_length(a0->shape(0), rows.shape().n, "a0");
            check_length(w.shape(0), rows.shape().width(), "w");
            new (self) DualDescentHandle(rows, q, a0, w, seed);
          },
          nb::arg("rows"), nb::arg("q").noconvert(), nb::arg("a0").none(), nb::arg("w").noconvert(),
          nb::arg("seed"))
      .def(
          "epoch",
          [](DualDescentHandle& self, Pool& pool) {
            const DualDescent::Epoch e = self.solver.epoch(pool.stop());
            return std::make_tuple(e.gap, e.rise, e.visited, e.entries);
          },
          Release(), nb::arg("pool"),
          "(gap of the rows as they were visited, rise of D, rows visited, their non-zeros)")
      .def(
          "look",
          [](DualDescentHandle& self, In<double> p, Pool& pool) {
            check_length(p.shape(0), self.rows.shape().n, "p");
            const DualDescent::Sums s = self.solver.look(p.data(), pool);
            return std::make_tuple(s.a, s.ayp, s.hinge);
          },
          Release(), nb::arg("p"), nb::arg("pool"),
          "(sum of a, <w, sum a y x>, hinge loss); chooses the rows to visit")
      .def(
          "copy_dual",
          [](DualDescentHandle& self, Out<double> a) {
            check_length(a.shape(0), self.rows.shape().n, "a");
            self.solver.copy_dual(a.data());
          },
          Release(), nb::arg("a").noconvert())
      .def_prop_ro("active", [](const DualDescentHandle& self) { return self.solver.active(); });
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
  bind_hinge(m);
  bind_dual_descent(m);
  bind_reduced_qp(m);
  bind_row_sets(m);
}

}  // namespace maxmargin
