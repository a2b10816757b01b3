// What all binding files share: array types, and rows together with the arrays they look into.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/check.hpp"
#include "base/parallel.hpp"
#include "losses/pointwise.hpp"
#include "rows/rows.hpp"

namespace nb = nanobind;

namespace maxmargin {

template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using OutMatrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Python's Rows: the view, and owners that keep the memory alive.
struct RowsHandle {
  Rows view;
  std::shared_ptr<void> owner;
  const Shape& shape() const { return maxmargin::shape(view); }
};

// A pointwise loss of rows, and the arrays it looks into.
struct PointwiseHandle {
  PointwiseSum sum;
  In<double> q;
  std::optional<In<double>> t;
};

inline void check_length(std::size_t found, std::size_t wanted, const char* name) {
  check(found == wanted, std::string(name) + " has " + std::to_string(found) +
                             " entries; expected " + std::to_string(wanted));
}

// A new numpy array whose memory is handed over without a copy.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> give(std::vector<T>&& values) {
  auto* held = new std::vector<T>(std::move(values));
  nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T, nb::ndim<1>>(held->data(), {held->size()}, owner);
}

void bind_base(nb::module_& m);
void bind_rows(nb::module_& m);
void bind_linear(nb::module_& m);
void bind_cached_loops(nb::module_& m);
void bind_losses(nb::module_& m);
void bind_pointwise(nb::module_& m);
void bind_kernel(nb::module_& m);
void bind_kernel_regression(nb::module_& m);
void bind_kernel_sums(nb::module_& m);

}  // namespace maxmargin
