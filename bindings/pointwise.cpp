#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "common.hpp"
#include "losses/kinks.hpp"

namespace maxmargin {

namespace {

using Release = nb::call_guard<nb::gil_scoped_release>;
using Loss = PointwiseHandle;

void make_pointwise(Loss* self, const std::string& name, double x, In<double> q,
                    std::optional<In<double>> t) {
  const PointwiseLoss loss = make_loss(name, x);
  check(is_on_margins(loss) == !t, "loss " + name + (t ? " takes no" : " needs its") + " targets");
  if (t) check_length(t->shape(0), q.shape(0), "t");
  const PointwiseSum sum{loss, q.data(), t ? t->data() : nullptr, q.shape(0)};
  new (self) Loss{sum, q, t};
}

void check_rows(const Loss& loss, const In<double>& p, const char* name) {
  check_length(p.shape(0), loss.sum.n, name);
}
void check_line(const Loss& loss, const In<double>& p, const In<double>& dp) {
  check_rows(loss, p, "p");
  check_rows(loss, dp, "dp");
}

void bind_sums(nb::class_<Loss>& pointwise) {
  pointwise
      .def(
          "value",
          [](const Loss& self, In<double> p, Pool& pool) {
            check_rows(self, p, "p");
            return evaluate(self.sum, p.data(), nullptr, pool);
          },
          Release(), nb::arg("p"), nb::arg("pool"))
      .def(
          "evaluate",
          [](const Loss& self, In<double> p, Out<double> subgrad, Pool& pool) {
            check_rows(self, p, "p");
            check_length(subgrad.shape(0), self.sum.n, "subgrad");
            return evaluate(self.sum, p.data(), subgrad.data(), pool);
          },
          Release(), nb::arg("p"), nb::arg("subgrad").noconvert(), nb::arg("pool"))
      .def(
          "value_along",
          [](const Loss& self, In<double> p, In<double> dp, double k, Pool& pool) {
            check_line(self, p, dp);
            return value_along(self.sum, p.data(), dp.data(), k, pool);
          },
          Release(), nb::arg("p"), nb::arg("dp"), nb::arg("k"), nb::arg("pool"))
      .def(
          "dual_sum",
          [](const Loss& self, In<double> u, Pool& pool) {
            check_rows(self, u, "u");
            const DualSum s = dual_sum(self.sum, u.data(), pool);
            return std::make_pair(s.value, s.size);
          },
          Release(), nb::arg("u"), nb::arg("pool"),
          "(sum of c (t u - f*(u)), the same with all terms positive)")
      .def(
          "along",
          [](const Loss& self, In<double> nu, double s, In<double> p, In<double> dp, double k,
             Pool& pool) {
            check_rows(self, nu, "nu");
            check_line(self, p, dp);
            const Along a = along(self.sum, nu.data(), s, p.data(), dp.data(), k, pool);
            return std::make_pair(a.slope, a.curvature);
          },
          Release(), nb::arg("nu"), nb::arg("s"), nb::arg("p"), nb::arg("dp"), nb::arg("k"),
          nb::arg("pool"), "(slope, curvature) of the rounded loss at p + k dp")
      .def(
          "slopes_along",
          [](const Loss& self, In<double> nu, double s, In<double> p, In<double> dp, In<double> ks,
             Out<double> slopes, Pool& pool) {
            check_rows(self, nu, "nu");
            check_line(self, p, dp);
            check_length(slopes.shape(0), ks.shape(0), "slopes");
            slopes_along(self.sum, nu.data(), s, p.data(), dp.data(), ks.data(), ks.shape(0),
                         slopes.data(), pool);
          },
          Release(), nb::arg("nu"), nb::arg("s"), nb::arg("p"), nb::arg("dp"), nb::arg("ks"),
          nb::arg("slopes"), nb::arg("pool"), "The slopes of `along` at several k.")
      .def(
          "root_along",
          [](const Loss& self, In<double> nu, double s, In<double> p, In<double> dp, double small,
             Pool& pool) {
            check_rows(self, nu, "nu");
            check_line(self, p, dp);
            return root_along(self.sum, nu.data(), s, p.data(), dp.data(), small, pool);
          },
          Release(), nb::arg("nu"), nb::arg("s"), nb::arg("p"), nb::arg("dp"), nb::arg("small"),
          nb::arg("pool"), "k, of either sign, where the slope of the rounded loss is about 0")
      .def(
          "proximal",
          [](const Loss& self, In<double> nu, double s, In<double> p, Out<double> b, Out<double> h,
             Pool& pool) {
            for (std::size_t length : {nu.shape(0), p.shape(0), b.shape(0), h.shape(0)})
              check_length(length, self.sum.n, "an argument");
            const Proximal x = proximal(self.sum, nu.data(), s, p.data(), b.data(), h.data(), pool);
            return std::make_tuple(x.value, x.dual.value, x.dual.size, x.inner);
          },
          Release(), nb::arg("nu"), nb::arg("s"), nb::arg("p"), nb::arg("b").noconvert(),
          nb::arg("h").noconvert(), nb::arg("pool"),
          "(loss, dual sum, its size, rows with curvature); fills b and h")
      .def(
          "foretell_dual",
          [](const Loss& self, In<double> b, In<double> h, In<double> dp, Out<double> foretold,
             Pool& pool) -> std::optional<std::pair<double, double>> {
            for (std::size_t length : {b.shape(0), h.shape(0), dp.shape(0), foretold.shape(0)})
              check_length(length, self.sum.n, "an argument");
            DualSum dual;
            const bool is_feasible = foretell_dual(self.sum, b.data(), h.data(), dp.data(),
                                                   foretold.data(), &dual, pool);
            if (!is_feasible) return std::nullopt;
            return std::make_pair(dual.value, dual.size);
          },
          Release(), nb::arg("b"), nb::arg("h"), nb::arg("dp"), nb::arg("foretold").noconvert(),
          nb::arg("pool"), "The dual sum of b - h dp and its size, if that is feasible; else None");
}

void bind_line_search(nb::module_& m, nb::class_<Loss>& pointwise) {
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
  pointwise
      .def(
          "search_kinks",
          [](const Loss& self, In<double> p, In<double> dp, double A0, double B0, Pool& pool) {
            check_line(self, p, dp);
            return search_kinks(self.sum, p.data(), dp.data(), A0, B0, pool);
          },
          Release(), nb::arg("p"), nb::arg("dp"), nb::arg("A0"), nb::arg("B0"), nb::arg("pool"))
      .def(
          "list_kinks",
          [](const Loss& self, In<double> p, In<double> dp, double low, double high, Pool& pool) {
            check_line(self, p, dp);
            return list_kinks(self.sum, p.data(), dp.data(), low, high, pool);
          },
          Release(), nb::arg("p"), nb::arg("dp"), nb::arg("low"), nb::arg("high"), nb::arg("pool"))
      .def(
          "sampled_bracket",
          [](const Loss& self, In<double> p, In<double> dp, double A0, double B0) {
            check_line(self, p, dp);
            return sampled_bracket(self.sum, p.data(), dp.data(), A0, B0);
          },
          Release(), nb::arg("p"), nb::arg("dp"), nb::arg("A0"), nb::arg("B0"),
          "(low, high) around where the slope k A0 + B0 + ... is likely 0");
}

}  // namespace

void bind_pointwise(nb::module_& m) {
  nb::class_<LossInfo>(m, "LossInfo", "A line of the table of pointwise losses.")
      .def_ro("name", &LossInfo::name)
      .def_ro("parameter", &LossInfo::parameter, "what its parameter is called, or an empty word")
      .def_ro("on_margins", &LossInfo::on_margins)
      .def_ro("piecewise_linear", &LossInfo::piecewise_linear)
      .def_ro("visit_logarithms", &LossInfo::visit_logarithms,
              "what the logarithms of a visit of dual descent cost, in entries of a row");
  m.def("loss_table", &loss_table, "The pointwise losses there are.");
  auto pointwise = nb::class_<Loss>(m, "Pointwise", "A sum over rows of a loss of one residual.");
  pointwise
      .def("__init__", &make_pointwise, nb::arg("name"), nb::arg("x"), nb::arg("q").noconvert(),
           nb::arg("t").noconvert().none())
      .def_prop_ro("on_margins", [](const Loss& self) { return is_on_margins(self.sum.loss); })
      .def_prop_ro("domain",
                   [](const Loss& self) {
                     const Interval domain = domain_of(self.sum.loss);
                     return std::make_pair(domain.low, domain.high);
                   })
      .def_prop_ro("middle", [](const Loss& self) { return middle_slope(self.sum.loss); })
      .def_prop_ro("piecewise_linear",
                   [](const Loss& self) { return is_piecewise_linear(self.sum.loss); });
  bind_sums(pointwise);
  bind_line_search(m, pointwise);
}

}  // namespace maxmargin
