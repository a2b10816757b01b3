#include <nanobind/stl/optional.h>

#include <optional>
#include <string_view>

#include "common.hpp"
#include "rows/fasta.hpp"
#include "rows/parquet.hpp"
#include "rows/svmlight.hpp"
#include "rows/svmlight_scan.hpp"

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

template <class Index>
void check_rows(const In<Index>& indices, const In<Index>& starts, std::size_t entries,
                std::size_t d, Pool* pool) {
  check(starts.shape(0) >= 1, "starts must have n + 1 entries");
  check(entries <= indices.shape(0),
        "some values of the CSR matrix lie outside its column numbers");
  nb::gil_scoped_release release;
  Pool caller(1);
  check_structure(starts.data(), starts.shape(0) - 1, indices.data(), entries, d,
                  pool ? *pool : caller);
}

template <class Value, class Index>
RowsHandle sparse(In<Value> values, In<Index> indices, In<Index> starts, std::size_t d, double bias,
                  Pool* pool) {
  check_rows(indices, starts, values.shape(0), d, pool);
  const Shape shape{starts.shape(0) - 1, d, bias};
  RowsHandle handle;
  SparseRows<Value, Index> view{shape, values.data(), indices.data(), starts.data()};
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

std::string_view text_of(const In<std::uint8_t>& text) {
  return {reinterpret_cast<const char*>(text.data()), text.shape(0)};
}

// (values, indices, starts, d, labels, qid or None, index_base)
template <class Value>
nb::tuple read_svmlight_rows(const Text& text, const SvmlightOptions& options, Pool& pool) {
  SvmlightData<Value> data;
  {
    nb::gil_scoped_release release;
    data = read_svmlight<Value>(text, options, pool);
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

template <class Value>
nb::tuple read_svmlight_text(In<std::uint8_t> text, std::optional<int> index_base,
                             std::optional<std::uint64_t> n_features, Pool& pool,
                             std::size_t longest_line) {
  return read_svmlight_rows<Value>(Text(text_of(text)), {index_base, n_features, longest_line},
                                   pool);
}

template <class Value>
nb::tuple read_svmlight_file(int file, std::size_t begin, std::size_t size,
                             std::optional<int> index_base, std::optional<std::uint64_t> n_features,
                             Pool& pool, std::size_t longest_line) {
  check(file >= 0, "file must be an open descriptor");
  return read_svmlight_rows<Value>(Text(file, begin, size), {index_base, n_features, longest_line},
                                   pool);
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

// (rows, entries at most, line ends, least index or None, one past the largest index)
nb::tuple scan_svmlight_text(In<std::uint8_t> text, Pool& pool) {
  SvmlightScan scan;
  {
    nb::gil_scoped_release release;
    scan = scan_svmlight(text_of(text), pool);
  }
  nb::object least = nb::none();
  if (scan.index_end > 0) least = nb::int_(scan.least_index);
  return nb::make_tuple(scan.rows, scan.entries, scan.lines, least, scan.index_end);
}

// (letters, starts, labels, label starts)
nb::tuple read_fasta_text(In<std::uint8_t> text, bool labelled) {
  FastaRows rows;
  {
    nb::gil_scoped_release release;
    rows = read_fasta(text_of(text), labelled);
  }
  return nb::make_tuple(give_array(std::move(rows.letters)), give(std::move(rows.starts)),
                        give(std::move(rows.labels)), give(std::move(rows.label_starts)));
}

std::string_view text_of(const nb::bytes& text) { return {text.c_str(), text.size()}; }

// (whether a column is text, for each; (codec, values, packed, first page, dictionary) of each
// column of each row group)
nb::tuple read_footer(const nb::bytes& text) {
  const ParquetFooter footer = read_parquet_footer(text_of(text));
  nb::list is_text, groups;
  for (const bool is : footer.is_text) is_text.append(is);
  for (const auto& columns : footer.row_groups) {
    nb::list group;
    for (const ParquetColumn& c : columns)
      group.append(nb::make_tuple(c.codec, c.values, c.packed, c.first_page, c.dictionary));
    groups.append(group);
  }
  return nb::make_tuple(is_text, groups);
}

// (kind, unpacked, packed, values, encoding, bytes of the head)
nb::object read_page(const nb::bytes& text) {
  const auto page = read_parquet_page(text_of(text));
  if (!page) return nb::none();
  return nb::make_tuple(page->kind, page->unpacked, page->packed, page->values, page->encoding,
                        page->head);
}

void bind_parquet(nb::module_& m) {
  m.def("read_parquet_footer", &read_footer, nb::arg("footer"),
        "(is text, for each column; row groups of columns as (codec, values, packed, first page, "
        "dictionary))");
  m.def("read_parquet_page", &read_page, nb::arg("head"),
        "(kind, unpacked, packed, values, encoding, bytes of the head); None if it is incomplete");
}

void bind_svmlight(nb::module_& m) {
  const auto bind_read = [&m](const char* name, auto* read) {
    m.def(name, read, nb::arg("text").noconvert(), nb::arg("index_base").none(),
          nb::arg("n_features").none(), nb::arg("pool"),
          nb::arg("longest_line") = SvmlightOptions().longest_line,
          "(values, indices, starts, d, labels, qid or None, index_base)");
  };
  const auto bind_read_file = [&m](const char* name, auto* read) {
    m.def(name, read, nb::arg("file"), nb::arg("begin"), nb::arg("size"),
          nb::arg("index_base").none(), nb::arg("n_features").none(), nb::arg("pool"),
          nb::arg("longest_line"),
          "The same of `size` bytes of an open file, which may change meanwhile.");
  };
  bind_read("read_svmlight_float32", &read_svmlight_text<float>);
  bind_read("read_svmlight_float64", &read_svmlight_text<double>);
  bind_read_file("read_svmlight_file_float32", &read_svmlight_file<float>);
  bind_read_file("read_svmlight_file_float64", &read_svmlight_file<double>);
  m.def("write_svmlight", &write_svmlight_text, nb::arg("rows"), nb::arg("labels"),
        nb::arg("qid").none(), nb::arg("index_base"), nb::arg("begin"), nb::arg("end"),
        nb::arg("pool"), "Rows begin to end as bytes of svmlight text.");
  m.def("scan_svmlight", &scan_svmlight_text, nb::arg("text").noconvert(), nb::arg("pool"),
        "(rows, entries at most, line ends, least index or None, one past the largest index)");
  m.def("read_fasta", &read_fasta_text, nb::arg("text").noconvert(), nb::arg("labelled"),
        "(letters, starts, labels, label starts)");
  m.def(
      "has_fasta_label", [](In<std::uint8_t> text) { return has_fasta_label(text_of(text)); },
      nb::arg("text").noconvert(), "whether the first header holds a label");
}

}  // namespace

void bind_rows(nb::module_& m) {
  nb::class_<RowsHandle>(m, "Rows", "A view of rows that lie in arrays; nothing is copied.")
      .def_prop_ro("n", [](const RowsHandle& self) { return self.shape().n; })
      .def_prop_ro("d", [](const RowsHandle& self) { return self.shape().d; })
      .def_prop_ro("width", [](const RowsHandle& self) { return self.shape().width(); })
      .def("subsample",
           [](const RowsHandle& self, std::size_t step) {
             check(step >= 1, "step must be at least 1");
             return RowsHandle{subsample(self.view, step), self.owner};
           })
      .def_prop_ro("bias", [](const RowsHandle& self) { return self.shape().bias; })
      .def_prop_ro("nnz", [](const RowsHandle& self) {
        return std::visit([](const auto& view) { return view.nnz(); }, self.view);
      });
  m.def("dense_rows", &dense<float>, nb::arg("X").noconvert(), nb::arg("bias"));
  m.def("dense_rows", &dense<double>, nb::arg("X").noconvert(), nb::arg("bias"));
  m.def("dense_rows", &dense<std::uint8_t>, nb::arg("X").noconvert(), nb::arg("bias"));
  m.def("dense_rows", &dense<std::int8_t>, nb::arg("X").noconvert(), nb::arg("bias"));
  const auto bind_sparse = [&m]<class Value, class Index>(Value, Index) {
    m.def("sparse_rows", &sparse<Value, Index>, nb::arg("values").noconvert(),
          nb::arg("indices").noconvert(), nb::arg("starts").noconvert(), nb::arg("d"),
          nb::arg("bias"), nb::arg("pool").none() = nb::none());
  };
  bind_sparse(float{}, std::int32_t{});
  bind_sparse(double{}, std::int32_t{});
  bind_sparse(float{}, std::int64_t{});
  bind_sparse(double{}, std::int64_t{});
  const auto bind_check = [&m]<class Index>(Index) {
    m.def("check_csr", &check_rows<Index>, nb::arg("indices").noconvert(),
          nb::arg("starts").noconvert(), nb::arg("entries"), nb::arg("d"),
          nb::arg("pool").none() = nb::none(),
          "ValueError unless all rows lie inside their arrays; Unordered if only order is wrong.");
  };
  bind_check(std::int32_t{});
  bind_check(std::int64_t{});
  const auto bind_finite = [&m]<class Value>(Value) {
    m.def(
        "all_finite",
        [](In<Value> x, Pool& pool) { return all_finite(x.data(), x.shape(0), pool); },
        nb::call_guard<nb::gil_scoped_release>(), nb::arg("x").noconvert(), nb::arg("pool"));
  };
  bind_finite(float{});
  bind_finite(double{});
  bind_svmlight(m);
  bind_parquet(m);
}

}  // namespace maxmargin
