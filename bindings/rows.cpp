#include "common.hpp"

namespace maxmargin {

namespace {

template <class Value>
using Matrix = nb::ndarray<const Value, nb::ndim<2>, nb::device::cpu>;

template <class Value>
RowsHandle dense(Matrix<Value> X, double bias) {
  Shape shape{X.shape(0), X.shape(1), bias};
  RowsHandle handle;
  if (X.stride(1) == 1 || shape.d <= 1) {
    DenseRows<Value> view{shape, X.data(), X.stride(0)};
    handle.view = view;
  } else {
    check(X.stride(0) == 1 || shape.n <= 1,
          "dense rows must be contiguous along rows or along columns; pass numpy.ascontiguousarray(X)");
    ColumnRows<Value> view{shape, X.data(), X.stride(1)};
    handle.view = view;
  }
  handle.owner = std::make_shared<Matrix<Value>>(X);
  return handle;
}

template <class Value, class Index>
RowsHandle sparse(In<Value> values, In<Index> indices, In<Index> starts,
                                   std::size_t d, double bias) {
  check(starts.shape(0) >= 1, "starts must have n + 1 entries");
  const std::size_t n = starts.shape(0) - 1;
  const Index* start = starts.data();
  check(start[0] >= 0 && static_cast<std::size_t>(start[n]) <= values.shape(0) &&
            values.shape(0) <= indices.shape(0),
        "the row starts of the CSR matrix point outside its values");
  check_structure(start, n, indices.data(), d);
  RowsHandle handle;
  SparseRows<Value, Index> view{Shape{n, d, bias}, values.data(), indices.data(), start};
  handle.view = view;
  handle.owner = std::make_shared<std::tuple<In<Value>, In<Index>, In<Index>>>(values, indices, starts);
  return handle;
}

}  // namespace

void bind_rows(nb::module_& m) {
  nb::class_<RowsHandle>(m, "Rows", "A view of rows that lie in arrays; nothing is copied.")
      .def_prop_ro("n", [](const RowsHandle& self) { return self.shape().n; })
      .def_prop_ro("d", [](const RowsHandle& self) { return self.shape().d; })
      .def_prop_ro("width", [](const RowsHandle& self) { return self.shape().width(); })
      .def("thinned",
           [](const RowsHandle& self, std::size_t step) {
             check(step >= 1, "step must be at least 1");
             return RowsHandle{thinned(self.view, step), self.owner};
           })
      .def_prop_ro("bias", [](const RowsHandle& self) { return self.shape().bias; })
      .def_prop_ro("nnz", [](const RowsHandle& self) {
        return std::visit([](const auto& view) { return view.nnz(); }, self.view);
      });
  m.def("dense_rows", &dense<float>, nb::arg("X").noconvert(), nb::arg("bias"));
  m.def("dense_rows", &dense<double>, nb::arg("X").noconvert(), nb::arg("bias"));
  const auto bind_sparse = [&m]<class Value, class Index>(Value, Index) {
    m.def("sparse_rows", &sparse<Value, Index>, nb::arg("values").noconvert(),
          nb::arg("indices").noconvert(), nb::arg("starts").noconvert(), nb::arg("d"), nb::arg("bias"));
  };
  bind_sparse(float{}, std::int32_t{});
  bind_sparse(double{}, std::int32_t{});
  bind_sparse(float{}, std::int64_t{});
  bind_sparse(double{}, std::int64_t{});
}

}  // namespace maxmargin
