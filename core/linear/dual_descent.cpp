#include "linear/dual_descent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.hpp"
#include "linear/products.hpp"

namespace maxmargin {

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kPollEntries = 1 << 18;  // non-zeros between two looks at the stop flag
constexpr std::size_t kAhead = 4;              // rows fetched ahead of their visit
}  // namespace

DualDescent::DualDescent(const Rows& rows, const double* q, double* alpha, double* w,
                         std::uint64_t seed, Pool& pool)
    : rows_(rows),
      q_(q),
      alpha_(alpha),
      w_(w),
      random_(seed),
      upper_(kInfinity),
      lower_(-kInfinity) {
  const std::size_t n = shape(rows).n;
  check(n < std::numeric_limits<std::uint32_t>::max(), "dual descent takes at most 2^32 - 2 rows");
  norms_.resize(n);
  squared_norms(rows, norms_.data(), pool);
  order_.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (q[i] == 0) continue;  // weight zero: a_i = 0 for ever
    if (norms_[i] == 0)
      alpha[i] = std::fabs(q[i]);  // the constant loss of an empty row
    else
      order_.push_back(static_cast<std::uint32_t>(i));
  }
  active_ = order_.size();
}

template <class View>
DualDescent::Epoch DualDescent::visit(const View& rows, Stop* stop) {
  Epoch epoch{-kInfinity, kInfinity, 0, 0};
  std::uint32_t* order = order_.data();
  for (std::size_t k = active_; k > 1; --k) std::swap(order[k - 1], order[random_.below(k)]);
  std::size_t polled = 0;
  for (std::size_t k = 0; k < active_; ++k) {
    if (k + kAhead < active_) rows.prefetch(order[k + kAhead]);
    const std::size_t i = order[k];
    const double y = q_[i] < 0 ? -1.0 : 1.0, cost = std::fabs(q_[i]), a = alpha_[i];
    const double G = y * dot(rows, i, w_) - 1;
    epoch.entries += rows.entries(i) + 1;
    ++epoch.visited;
    double projected = G;
    bool set_aside = false;
    if (a == 0) {
      set_aside = G > upper_;
      projected = std::min(G, 0.0);
    } else if (a == cost) {
      set_aside = G < lower_;
      projected = std::max(G, 0.0);
    }
    if (set_aside) {
      std::swap(order[k--], order[--active_]);
      continue;
    }
    epoch.most = std::max(epoch.most, projected);
    epoch.least = std::min(epoch.least, projected);
    if (projected != 0) {
      alpha_[i] = std::min(std::max(a - G / norms_[i], 0.0), cost);
      add(rows, i, (alpha_[i] - a) * y, w_);
    }
    if (epoch.entries - polled > kPollEntries) {
      polled = epoch.entries;
      if (stop) stop->throw_if_requested();
    }
  }
  upper_ = epoch.most > 0 ? epoch.most : kInfinity;
  lower_ = epoch.least < 0 ? epoch.least : -kInfinity;
  return epoch;
}

DualDescent::Epoch DualDescent::epoch(Stop* stop) {
  if (stop) stop->throw_if_requested();
  return std::visit([&](const auto& view) { return visit(view, stop); }, rows_);
}

void DualDescent::refresh(const double* p) {
  const auto wanted = [&](std::uint32_t i) {
    const double y = q_[i] < 0 ? -1.0 : 1.0, G = y * p[i] - 1;
    if (alpha_[i] == 0) return G <= upper_;
    if (alpha_[i] == std::fabs(q_[i])) return G >= lower_;
    return true;
  };
  const auto end = std::partition(order_.begin(), order_.end(), wanted);
  active_ = static_cast<std::size_t>(end - order_.begin());
}

}  // namespace maxmargin
