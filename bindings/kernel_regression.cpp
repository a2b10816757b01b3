#include <nanobind/stl/string.h>

#include "common.hpp"
#include "kernel/regression.hpp"
#include "kernel_ranges.hpp"

namespace maxmargin {

namespace {

using Release = nb::call_guard<nb::gil_scoped_release>;

struct RegressionHandle {
  Out<double> beta, r;
  In<double> c, t;
  RegressionSteps solver;
};

}  // namespace

void bind_kernel_regression(nb::module_& m) {
  nb::class_<RegressionHandle>(m, "RegressionSteps",
                               "Steps in two dual variables for losses of residuals.")
      .def(
          "__init__",
          [](RegressionHandle* self, KernelRows& rows, RangeArray ranges, Out<double> beta,
             Out<double> r, In<double> c, In<double> t, const std::string& loss, double x) {
            for (std::size_t length : {beta.shape(0), r.shape(0), c.shape(0), t.shape(0)})
              check_length(length, rows.n(), "an array");
            new (self) RegressionHandle{beta, r, c, t,
                                        RegressionSteps(rows, ranges_of(ranges, rows.n()),
                                                        {beta.data(), r.data(), c.data(), t.data()},
                                                        shape_of(make_loss(loss, x)))};
          },
          nb::keep_alive<1, 2>(), nb::arg("rows"), nb::arg("ranges"), nb::arg("beta").noconvert(),
          nb::arg("r").noconvert(), nb::arg("c").noconvert(), nb::arg("t").noconvert(),
          nb::arg("loss"), nb::arg("x"))
      .def(
          "begin", [](RegressionHandle& self) { self.solver.begin(); }, Release())
      .def(
          "run",
          [](RegressionHandle& self, double tolerance, double scale, std::uint64_t limit,
             Stop* stop,
             bool owns_stop) { return self.solver.run(tolerance, scale, limit, stop, owns_stop); },
          Release(), nb::arg("tolerance"), nb::arg("scale"), nb::arg("limit"),
          nb::arg("stop").none() = nb::none(), nb::arg("owns_stop") = true)
      .def_prop_ro("gap", [](const RegressionHandle& self) { return self.solver.gap(); })
      .def_prop_ro("P", [](const RegressionHandle& self) { return self.solver.P(); })
      .def_prop_ro("iterations",
                   [](const RegressionHandle& self) { return self.solver.iterations(); });
  nb::class_<LossShape>(m, "LossShape", "Tube, least and largest slope, and bends of a loss.")
      .def("__init__", [](LossShape* self, const std::string& loss,
                          double x) { new (self) LossShape(shape_of(make_loss(loss, x))); })
      .def_ro("tube", &LossShape::tube)
      .def_ro("low", &LossShape::low)
      .def_ro("high", &LossShape::high)
      .def_ro("bend_below", &LossShape::bend_below)
      .def_ro("bend_above", &LossShape::bend_above);
}

}  // namespace maxmargin
