#include <nanobind/stl/optional.h>

#include <optional>
#include <string_view>

#include "common.hpp"
#include "rows/svmlight.hpp"

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
          "dense rows must be contiguous along rows or along columns; pass "
          "numpy.ascontiguousarray(X)");
    ColumnRows<Value> view{shape, X.data(), X.stride(1)};
    handle.view = view;
  }
  handle.owner = std::make_shared<Matrix<Value>>(X);
  return handle;
}

template <class Value, class Index>
RowsHandle sparse(In<Value> values, In<Index> indices, In<Index> starts, std::size_t d, double bias,
                  Pool* pool) {
  check(starts.shape(0) >= 1, "starts must have n + 1 entries");
  const std::size_t n = starts.shape(0) - 1;
  const Index* start = starts.data();
  check(start[0] >= 0 && static_cast<std::size_t>(start[n]) <= values.shape(0) &&
            values.shape(0) <= indices.shape(0),
        "the row starts of the CSR matrix point outside its values");
  {
    nb::gil_scoped_release release;
    Pool caller(1);
    check_structure(start, n, indices.data(), values.shape(0), d, pool ? *pool : caller);
  }
  RowsHandle handle;
  SparseRows<Value, Index> view{Shape{n, d, bias}, values.data(), indices.data(), start};
  handle.view = view;
  handle.owner =
      std::make_shared<std::tuple<In<Value>, In<Index>, In<Index>>>(values, indices, starts);
  return handle;
}

template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> give_array(Array<T>&& values) {
  auto* held = new Array<T>(std::move(values));
  nb::capsule owner(held, [](void* p) noexcept { delete static_cast<Array<T>*>(p); });
  return nb::ndarray<nb::numpy, T, nb::ndim<1>>(held->data(), {held->size()}, owner);
}

// (values, indices, starts, d, labels, qid or None, index_base)
template <class Value>
nb::tuple read_svmlight_text(In<std::uint8_t> text, std::optional<int> index_base,
                             std::optional<std::uint64_t> n_features, Pool& pool) {
  SvmlightData<Value> data;
  {
    nb::gil_scoped_release release;
    const std::string_view view(reinterpret_cast<const char*>(text.data()), text.shape(0));
    data = read_svmlight<Value>(view, {index_base, n_features}, pool);
  }
  return std::visit(
      [](auto&& rows) {
        nb::object qid = nb::none();
        if (rows.qid) qid = nb::cast(give_array(std::move(*rows.qid)));
        return nb::make_tuple(give_array(std::move(rows.values)),
                              give_array(std::move(rows.indices)),
                              give_array(std::move(rows.starts)), rows.d,
                              give_array(std::move(rows.labels)), qid, rows.index_base);
      },
      std::move(data));
}

nb::bytes write_svmlight_text(const RowsHandle& rows, In<double> labels,
                              std::optional<In<std::int64_t>> qid, int index_base,
                              std::size_t begin, std::size_t end, Pool& pool) {
  const std::size_t n = rows.shape().n;
  check_length(labels.shape(0), n, "labels");
  if (qid) check_length(qid->shape(0), n, "qid");
  check(begin <= end && end <= n, "the range of rows must lie within 0 and n");
  std::string text;
  {
    nb::gil_scoped_release release;
    text = write_svmlight(rows.view, labels.data(), qid ? qid->data() : nullptr, index_base,
                          {begin, end}, pool);
  }
  return nb::bytes(text.data(), text.size());
}

void bind_svmlight(nb::module_& m) {
  const auto bind_read = [&m](const char* name, auto* read) {
    m.def(name, read, nb::arg("text").noconvert(), nb::arg("index_base").none(),
          nb::arg("n_features").none(), nb::arg("pool"),
          "(values, indices, starts, d, labels, qid or None, index_base)");
  };
  bind_read("read_svmlight_float32", &read_svmlight_text<float>);
  bind_read("read_svmlight_float64", &read_svmlight_text<double>);
  m.def("write_svmlight", &write_svmlight_text, nb::arg("rows"), nb::arg("labels"),
        nb::arg("qid").none(), nb::arg("index_base"), nb::arg("begin"), nb::arg("end"),
        nb::arg("pool"), "Rows begin to end as bytes of svmlight text.");
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
          nb::arg("indices").noconvert(), nb::arg("starts").noconvert(), nb::arg("d"),
          nb::arg("bias"), nb::arg("pool").none() = nb::none());
  };
  bind_sparse(float{}, std::int32_t{});
  bind_sparse(double{}, std::int32_t{});
  bind_sparse(float{}, std::int64_t{});
  bind_sparse(double{}, std::int64_t{});
  const auto bind_finite = [&m]<class Value>(Value) {
    m.def(
        "all_finite",
        [](In<Value> x, Pool& pool) { return all_finite(x.data(), x.shape(0), pool); },
        nb::call_guard<nb::gil_scoped_release>(), nb::arg("x").noconvert(), nb::arg("pool"));
  };
  bind_finite(float{});
  bind_finite(double{});
  bind_svmlight(m);
}

}  // namespace maxmargin
