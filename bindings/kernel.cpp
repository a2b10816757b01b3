#include <nanobind/stl/tuple.h>

#include "common.hpp"
#include "kernel/columns.hpp"
#include "kernel/functions.hpp"
#include "kernel/mean_shift.hpp"
#include "kernel/rows.hpp"
#include "kernel/starts.hpp"
#include "kernel/two_variable.hpp"
#include "kernel_ranges.hpp"

namespace maxmargin {

namespace {

using FloatMatrix = nb::ndarray<float, nb::ndim<2>, nb::device::cpu>;
using ConstFloatMatrix = nb::ndarray<const float, nb::ndim<2>, nb::device::cpu>;
using ConstMatrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using IntMatrix = nb::ndarray<std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using ConstIntMatrix = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Release = nb::call_guard<nb::gil_scoped_release>;

template <class Array>
MatrixView view_of(const Array& K) {
  check(K.stride(1) == 1 || K.shape(1) <= 1, "the rows of a kernel matrix must be contiguous");
  // The view is shared by readers and writers; bindings that only read never write through it.
  return {const_cast<float*>(K.data()), K.shape(0), K.shape(1),
          static_cast<std::size_t>(K.stride(0))};
}

template <class Array>
MatrixView square_view(const Array& K) {
  check(K.shape(0) == K.shape(1), "a kernel matrix must be square; got " +
                                      std::to_string(K.shape(0)) + " x " +
                                      std::to_string(K.shape(1)));
  return view_of(K);
}

template <class Value>
void define_mean_shift(nb::module_& m) {
  using Matrix = nb::ndarray<const Value, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
  m.def(
      "mean_shift",
      [](double gamma, Matrix points, In<double> norms, In<double> weights, Matrix b, Out<double> f,
         OutMatrix<double> s, Pool& pool) {
        check_length(norms.shape(0), points.shape(0), "norms");
        check_length(weights.shape(0), points.shape(0), "weights");
        check_length(b.shape(1), points.shape(1), "the rows of b");
        check_length(f.shape(0), b.shape(0), "f");
        check_length(s.shape(0), b.shape(0), "s");
        check_length(s.shape(1), b.shape(1), "the rows of s");
        mean_shift(gamma,
                   WeightedPoints<Value>{points.data(), norms.data(), weights.data(),
                                         points.shape(0), points.shape(1)},
                   b.data(), b.shape(0), f.data(), s.data(), pool);
      },
      Release(), nb::arg("gamma"), nb::arg("points").noconvert(), nb::arg("norms"),
      nb::arg("weights"), nb::arg("b").noconvert(), nb::arg("f").noconvert(),
      nb::arg("s").noconvert(), nb::arg("pool"),
      "f[j] = sum_q weights[q] k(b[j], points[q]), and s[j] the same sum of the points");
}

// Kernel rows together with the arrays they look into.
struct MatrixHandle : KernelRows {
  explicit MatrixHandle(ConstFloatMatrix K) : held(K), rows(square_view(held)) {
    diagonal_ = rows.diagonals();
  }
  std::size_t n() const override { return rows.n(); }
  const float* row(std::size_t i) override { return rows.row(i); }
  bool whole() const override { return true; }
  ConstFloatMatrix held;
  MatrixRows rows;
};

struct PartialHandle : KernelRows {
  PartialHandle(const RowsHandle& data, const KernelFunction& k, FloatMatrix K, Pool& pool)
      : held(K), rows(data.view, k, square_view(held), pool) {
    diagonal_ = rows.diagonals();
  }
  std::size_t n() const override { return rows.n(); }
  const float* row(std::size_t i) override { return rows.row(i); }
  bool whole() const override { return rows.whole(); }
  FloatMatrix held;
  PartialRows rows;
};

struct TwoVariableHandle {
  Out<double> beta, r;
  In<double> c;
  ConstIntMatrix neighbours;
  TwoVariable solver;
};

void bind_functions(nb::module_& m) {
  nb::enum_<KernelKind>(m, "KernelKind")
      .value("distance", KernelKind::distance)
      .value("rbf", KernelKind::rbf)
      .value("laplacian", KernelKind::laplacian)
      .value("poly", KernelKind::poly)
      .value("linear", KernelKind::linear);
  nb::enum_<MatrixFault>(m, "MatrixFault")
      .value("none", MatrixFault::none)
      .value("not_finite", MatrixFault::not_finite)
      .value("asymmetric", MatrixFault::asymmetric)
      .value("indefinite", MatrixFault::indefinite);
  nb::class_<KernelFunction>(m, "KernelFunction", "A kernel of inner products and norms.")
      .def(
          "__init__",
          [](KernelFunction* self, KernelKind kind, double gamma, double coef0, int degree,
             double constant) { new (self) KernelFunction{kind, gamma, coef0, degree, constant}; },
          nb::arg("kind"), nb::arg("gamma") = 1.0, nb::arg("coef0") = 0.0, nb::arg("degree") = 3,
          nb::arg("constant") = 0.0)
      .def("diagonal", &KernelFunction::diagonal, nb::arg("squared_norm"));

  m.def(
      "narrow_products",
      [](ConstMatrix left, ConstMatrix columns, OutMatrix<double> products, Pool& pool) {
        check_length(left.shape(1), columns.shape(0), "the columns");
        check_length(left.shape(0), products.shape(0), "products");
        check_length(columns.shape(1), products.shape(1), "the rows of products");
        narrow_products(left.data(), columns.data(), left.shape(0), columns.shape(1), left.shape(1),
                        products.data(), pool);
      },
      Release(), nb::arg("left"), nb::arg("columns"), nb::arg("products").noconvert(),
      nb::arg("pool"), "products[r, c] = <left[r], columns[:, c]>, for few features");
  m.def(
      "kernel_values",
      [](const KernelFunction& k, OutMatrix<double> products, In<double> row_norms,
         In<double> column_norms, Pool& pool) {
        check_length(row_norms.shape(0), products.shape(0), "row_norms");
        check_length(column_norms.shape(0), products.shape(1), "column_norms");
        kernel_values(k, products.data(), products.shape(0), products.shape(1), row_norms.data(),
                      column_norms.data(), pool);
      },
      Release(), nb::arg("function"), nb::arg("products").noconvert(), nb::arg("row_norms"),
      nb::arg("column_norms"), nb::arg("pool"), "In place: inner products become kernel values.");
  m.def(
      "kernel_columns",
      [](const KernelFunction& k, const RowsHandle& rows, In<double> norms, ConstMatrix points,
         In<double> point_norms, OutMatrix<double> out, Pool& pool) {
        const Shape& size = shape(rows.view);
        check_length(norms.shape(0), size.n, "norms");
        check_length(points.shape(1), size.width(), "points");
        check_length(point_norms.shape(0), points.shape(0), "point_norms");
        check_length(out.shape(0), points.shape(0), "out");
        check_length(out.shape(1), size.n, "the rows of out");
        kernel_columns(k, rows.view, norms.data(),
                       {points.data(), point_norms.data(), points.shape(0), points.shape(1)},
                       out.data(), pool);
      },
      Release(), nb::arg("function"), nb::arg("rows"), nb::arg("norms"), nb::arg("points"),
      nb::arg("point_norms"), nb::arg("out").noconvert(), nb::arg("pool"),
      "out[q, i] = k(x_i, points[q])");
  define_mean_shift<float>(m);
  define_mean_shift<double>(m);
  m.def(
      "fill_symmetric",
      [](const KernelFunction& k, OutMatrix<double> products, std::size_t row, std::size_t column,
         In<double> norms, FloatMatrix K, Pool& pool) {
        const MatrixView view = square_view(K);
        const ProductTile tile{products.data(), products.shape(0), products.shape(1), row, column};
        check_length(norms.shape(0), view.n, "norms");
        check(row <= column && row + tile.rows <= view.n && column + tile.columns <= view.n,
              "the tile of inner products does not fit above the diagonal of the kernel matrix");
        fill_symmetric(k, tile, norms.data(), view, pool);
      },
      Release(), nb::arg("function"), nb::arg("products").noconvert(), nb::arg("row"),
      nb::arg("column"), nb::arg("norms"), nb::arg("K").noconvert(), nb::arg("pool"),
      "A tile of inner products on or right of the diagonal becomes kernel values, mirrored.");
  m.def(
      "copy_block",
      [](ConstFloatMatrix from, In<std::int64_t> places, FloatMatrix to) {
        const MatrixView source = square_view(from), target = square_view(to);
        const std::size_t count = places.shape(0);
        check(count <= target.n, "the block does not fit the matrix");
        for (std::size_t i = 0; i < count; ++i)
          check(places.data()[i] >= (i ? places.data()[i - 1] + 1 : 0) &&
                    places.data()[i] < static_cast<std::int64_t>(source.n),
                "places must ascend and lie in the matrix");
        copy_block(source, places.data(), count, target);
      },
      Release(), nb::arg("from_").noconvert(), nb::arg("places"), nb::arg("to").noconvert(),
      "to[i, j] = from_[places[i], places[j]]; places ascend, and both may share their memory if "
      "their rows lie equally far apart");
  m.def(
      "kernel_from_distances",
      [](const KernelFunction& k, ConstFloatMatrix D, FloatMatrix K, Pool& pool) {
        check(k.kind == KernelKind::rbf || k.kind == KernelKind::laplacian,
              "only the rbf and laplacian kernels are functions of the distance");
        const MatrixView from = square_view(D), to = square_view(K);
        check_length(to.n, from.n, "K");
        kernel_from_distances(k, from, to, pool);
      },
      Release(), nb::arg("function"), nb::arg("D").noconvert(), nb::arg("K").noconvert(),
      nb::arg("pool"));
  m.def(
      "nearest_columns",
      [](ConstFloatMatrix distances, std::size_t first, IntMatrix nearest, Pool& pool) {
        check_length(nearest.shape(0), distances.shape(0), "nearest");
        nearest_columns(view_of(distances), first, nearest.shape(1), nearest.data(), pool);
      },
      Release(), nb::arg("distances").noconvert(), nb::arg("first"), nb::arg("nearest").noconvert(),
      nb::arg("pool"));
  m.def(
      "check_matrix",
      [](ConstFloatMatrix K, Pool& pool) {
        const MatrixCheck found = check_matrix(square_view(K), pool);
        return std::tuple(found.fault, found.row, found.column);
      },
      Release(), nb::arg("K").noconvert(), nb::arg("pool"), "(fault, row, column)");
}

void bind_kernel_rows(nb::module_& m) {
  nb::class_<KernelRows>(m, "KernelRows", "Kernel rows behind row(i) and diagonal(i).")
      .def_prop_ro("n", &KernelRows::n)
      .def_prop_ro("whole", &KernelRows::whole)
      .def_prop_ro(
          "diagonal",
          [](const KernelRows& self) { return give(std::vector<double>(self.diagonals())); },
          nb::rv_policy::move)
      .def("row", [](KernelRows& self, std::size_t i) {
        check(i < self.n(), "row " + std::to_string(i) + " of " + std::to_string(self.n()));
        const float* row = self.row(i);
        return give(std::vector<float>(row, row + self.n()));
      });
  nb::class_<MatrixHandle, KernelRows>(m, "MatrixRows", "A whole kernel matrix, used in place.")
      .def(nb::init<ConstFloatMatrix>(), nb::arg("K").noconvert());
  nb::class_<PartialHandle, KernelRows>(m, "PartialRows",
                                        "A matrix whose rows are computed when first asked for.")
      .def(nb::init<const RowsHandle&, const KernelFunction&, FloatMatrix, Pool&>(),
           nb::keep_alive<1, 2>(), nb::keep_alive<1, 5>(), nb::arg("rows"), nb::arg("function"),
           nb::arg("K").noconvert(), nb::arg("pool"))
      .def_prop_ro("computed", [](const PartialHandle& self) { return self.rows.computed(); })
      .def(
          "filled", [](PartialHandle& self) { self.rows.filled(); },
          "Says that the whole matrix has been filled by somebody else.");
  nb::class_<CachedRows, KernelRows>(m, "CachedRows", "The kernel rows used last, within a budget.")
      .def(
          "__init__",
          [](CachedRows* self, const RowsHandle& rows, const KernelFunction& k,
             std::size_t capacity,
             Pool& pool) { new (self) CachedRows(rows.view, k, capacity, pool); },
          nb::keep_alive<1, 2>(), nb::keep_alive<1, 5>(), nb::arg("rows"), nb::arg("function"),
          nb::arg("capacity"), nb::arg("pool"))
      .def_ro_static("least", &CachedRows::kLeast)
      .def_prop_ro("capacity", &CachedRows::capacity)
      .def_prop_ro("computed", &CachedRows::computed);
  m.def(
      "add_rows",
      [](KernelRows& rows, In<std::int64_t> indices, In<double> coefficients, RangeArray ranges,
         Out<double> out, Pool& pool) {
        check_length(coefficients.shape(0), indices.shape(0), "coefficients");
        check_length(out.shape(0), rows.n(), "out");
        for (std::size_t q = 0; q < indices.shape(0); ++q)
          if (indices(q) < 0 || static_cast<std::size_t>(indices(q)) >= rows.n())
            throw InvalidInput("index " + std::to_string(indices(q)) + " of " +
                               std::to_string(rows.n()) + " rows");
        add_rows(rows, indices.data(), coefficients.data(), indices.shape(0),
                 ranges_of(ranges, rows.n()), out.data(), pool);
      },
      Release(), nb::arg("rows"), nb::arg("indices"), nb::arg("coefficients"), nb::arg("ranges"),
      nb::arg("out").noconvert(), nb::arg("pool"),
      "out += sum_q coefficients[q] row(indices[q]) over the columns of the ranges");
}

void bind_start(nb::module_& m, const char* name, decltype(&start_expand) start) {
  m.def(
      name,
      [start](KernelRows& rows, RangeArray ranges, Out<double> beta, Out<double> r, In<double> y,
              In<double> c, In<double> new_c, double ratio, Pool& pool) {
        for (const std::size_t length :
             {beta.shape(0), r.shape(0), y.shape(0), c.shape(0), new_c.shape(0)})
          check_length(length, rows.n(), "an array of a start");
        start(rows, ranges_of(ranges, rows.n()),
              {beta.data(), r.data(), y.data(), c.data(), new_c.data(), ratio}, pool);
      },
      Release(), nb::arg("rows"), nb::arg("ranges"), nb::arg("beta").noconvert(),
      nb::arg("r").noconvert(), nb::arg("y"), nb::arg("c"), nb::arg("new_c"), nb::arg("ratio"),
      nb::arg("pool"));
}

void bind_solver(nb::module_& m) {
  bind_start(m, "start_expand", start_expand);
  bind_start(m, "start_cut", start_cut);

  nb::enum_<RunEnd>(m, "RunEnd")
      .value("tolerance", RunEnd::tolerance)
      .value("limit", RunEnd::limit)
      .value("stopped", RunEnd::stopped)
      .value("stalled", RunEnd::stalled);
  nb::enum_<GapRule>(m, "GapRule")
      .value("clipped", GapRule::clipped)
      .value("plain", GapRule::plain)
      .value("relative", GapRule::relative);
  nb::class_<TwoVariableHandle>(m, "TwoVariable",
                                "Steps in two dual variables; see two_variable.py.")
      .def(
          "__init__",
          [](TwoVariableHandle* self, KernelRows& rows, RangeArray ranges, Out<double> beta,
             Out<double> r, In<double> c, ConstIntMatrix neighbours, std::size_t n_neighbours,
             int working_set, GapRule rule, std::uint64_t seed) {
            check_length(beta.shape(0), rows.n(), "beta");
            check_length(r.shape(0), rows.n(), "r");
            check_length(c.shape(0), rows.n(), "c");
            const bool has_table = neighbours.shape(1) > 0;
            if (has_table) check_length(neighbours.shape(0), rows.n(), "neighbours");
            std::int32_t furthest = -1;
            for (std::size_t q = 0; q < neighbours.shape(0) * neighbours.shape(1); ++q)
              furthest = std::max(furthest, neighbours.data()[q]);
            check(furthest < static_cast<std::int64_t>(rows.n()),
                  "a neighbour lies outside the data");
            const Neighbours near{has_table ? neighbours.data() : nullptr,
                                  has_table ? neighbours.shape(1) : 0, n_neighbours};
            new (self) TwoVariableHandle{
                beta, r, c, neighbours,
                TwoVariable(rows, ranges_of(ranges, rows.n()), {beta.data(), r.data(), c.data()},
                            near, {working_set, rule, seed})};
          },
          nb::keep_alive<1, 2>(), nb::arg("rows"), nb::arg("ranges"), nb::arg("beta").noconvert(),
          nb::arg("r").noconvert(), nb::arg("c").noconvert(), nb::arg("neighbours").noconvert(),
          nb::arg("n_neighbours"), nb::arg("working_set") = 7, nb::arg("rule") = GapRule::relative,
          nb::arg("seed") = 0)
      .def(
          "begin", [](TwoVariableHandle& self) { self.solver.begin(); }, Release())
      .def(
          "run",
          [](TwoVariableHandle& self, double tolerance, std::uint64_t limit, Stop* stop,
             bool owns_stop) { return self.solver.run(tolerance, limit, stop, owns_stop); },
          Release(), nb::arg("tolerance"), nb::arg("limit"), nb::arg("stop").none() = nb::none(),
          nb::arg("owns_stop") = true)
      .def_prop_ro("T", [](const TwoVariableHandle& self) { return self.solver.T(); })
      .def_prop_ro("E", [](const TwoVariableHandle& self) { return self.solver.E(); })
      .def_prop_ro("S", [](const TwoVariableHandle& self) { return self.solver.S(); })
      .def_prop_ro("P", [](const TwoVariableHandle& self) { return self.solver.P(); })
      .def_prop_ro("gained", [](const TwoVariableHandle& self) { return self.solver.gained(); })
      .def_prop_ro("iterations",
                   [](const TwoVariableHandle& self) { return self.solver.iterations(); });
}

}  // namespace

void bind_kernel(nb::module_& m) {
  bind_functions(m);
  bind_kernel_rows(m);
  bind_solver(m);
  bind_kernel_regression(m);
  bind_kernel_sums(m);
}

}  // namespace maxmargin
