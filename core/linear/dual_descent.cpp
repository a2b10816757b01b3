#include "linear/dual_descent.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>

#include "base/check.hpp"
#include "linear/products.hpp"

namespace maxmargin {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kPollEntries = 1 << 18;  // non-zeros between two looks at the stop flag
constexpr std::size_t kAhead = 4;              // rows fetched ahead of their visit

// w as one thread sees it: plain memory, or memory others write at the same time.
template <bool kShared>
MAXMARGIN_INLINE double load(const double* w) {
  if constexpr (kShared)
    return std::atomic_ref<double>(*const_cast<double*>(w)).load(std::memory_order_relaxed);
  else
    return *w;
}
template <bool kShared>
MAXMARGIN_INLINE void add_to(double* w, double change) {
  if constexpr (kShared) {
    std::atomic_ref<double> shared(*w);
    shared.store(shared.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
  } else {
    *w += change;
  }
}

template <bool kShared, class View>
MAXMARGIN_INLINE double dot_with(const View& rows, std::size_t i, const double* w) {
  if constexpr (!kShared) {
    return dot(rows, i, w);
  } else {
    double sum = rows.bias != 0 ? rows.bias * load<true>(w + rows.d) : 0.0;
    rows.each(i, [&](std::size_t j, double x) { sum += x * load<true>(w + j); });
    return sum;
  }
}
template <bool kShared, class View>
MAXMARGIN_INLINE void add_row(const View& rows, std::size_t i, double c, double* w) {
  if constexpr (!kShared) {
    add(rows, i, c, w);
  } else {
    rows.each(i, [&](std::size_t j, double x) { add_to<true>(w + j, c * x); });
    if (rows.bias != 0) add_to<true>(w + rows.d, c * rows.bias);
  }
}

}  // namespace

DualDescent::DualDescent(const Rows& rows, const double* q, double* alpha, double* w,
                         std::uint64_t seed, int threads)
    : rows_(rows), q_(q), alpha_(alpha), w_(w) {
  const std::size_t n = shape(rows).n;
  check(n < std::numeric_limits<std::uint32_t>::max(), "dual descent takes at most 2^32 - 2 rows");
  norms_.resize(n);
  Pool pool(threads);
  squared_norms(rows, norms_.data(), pool);
  for (int k = 0; k < threads; ++k) {
    Share share{{}, 0, Random(seed + 0x51ed2701ULL * static_cast<std::uint64_t>(k)), kInfinity, -kInfinity};
    const Range range = part_of(n, static_cast<std::size_t>(threads), static_cast<std::size_t>(k));
    for (std::size_t i = range.begin; i < range.end; ++i) {
      if (q[i] == 0) continue;             // weight zero: a_i = 0 for ever
      if (norms_[i] == 0) alpha[i] = std::fabs(q[i]);  // the constant loss of an empty row
      else share.order.push_back(static_cast<std::uint32_t>(i));
    }
    share.active = share.order.size();
    shares_.push_back(std::move(share));
  }
}

std::size_t DualDescent::active() const {
  std::size_t sum = 0;
  for (const Share& share : shares_) sum += share.active;
  return sum;
}

template <bool kShared, class View>
DualDescent::Epoch DualDescent::visit(const View& rows, Share& share, Stop* stop, bool is_caller) {
  Epoch epoch;
  epoch.most = -kInfinity;
  epoch.least = kInfinity;
  std::uint32_t* order = share.order.data();
  for (std::size_t k = share.active; k > 1; --k)
    std::swap(order[k - 1], order[share.random.below(k)]);

  std::size_t polled = 0;
  for (std::size_t k = 0; k < share.active; ++k) {
    if (k + kAhead < share.active) rows.prefetch(order[k + kAhead]);
    const std::size_t i = order[k];
    const double y = q_[i] < 0 ? -1.0 : 1.0, cost = std::fabs(q_[i]);
    const double G = y * dot_with<kShared>(rows, i, w_) - 1;
    epoch.entries += rows.entries(i);
    ++epoch.visited;
    double projected = G;
    const double a = alpha_[i];
    bool set_aside = false;
    if (a == 0) {
      set_aside = G > share.upper;
      projected = std::min(G, 0.0);
    } else if (a == cost) {
      set_aside = G < share.lower;
      projected = std::max(G, 0.0);
    }
    if (set_aside) {
      --share.active;
      std::swap(order[k], order[share.active]);
      --k;
      continue;
    }
    epoch.most = std::max(epoch.most, projected);
    epoch.least = std::min(epoch.least, projected);
    if (std::fabs(projected) > 1e-12) {
      const double moved = std::min(std::max(a - G / norms_[i], 0.0), cost);
      alpha_[i] = moved;
      add_row<kShared>(rows, i, (moved - a) * y, w_);
    }
    if (epoch.entries - polled > kPollEntries) {
      polled = epoch.entries;
      if (stop && (is_caller ? stop->poll() : stop->requested())) throw Stopped();
    }
  }
  share.upper = epoch.most > 0 ? epoch.most : kInfinity;
  share.lower = epoch.least < 0 ? epoch.least : -kInfinity;
  return epoch;
}

DualDescent::Epoch DualDescent::epoch(Pool& pool) {
  std::vector<Epoch> epochs(shares_.size());
  const auto caller = std::this_thread::get_id();
  pool.run(shares_.size(), [&](std::size_t k) {
    const bool is_caller = std::this_thread::get_id() == caller;
    epochs[k] = std::visit(
        [&](const auto& view) {
          return shares_.size() == 1 ? visit<false>(view, shares_[k], pool.stop(), is_caller)
                                     : visit<true>(view, shares_[k], pool.stop(), is_caller);
        },
        rows_);
  });
  Epoch total;
  for (const Epoch& epoch : epochs) {
    total.most = std::max(total.most, epoch.most);
    total.least = std::min(total.least, epoch.least);
    total.visited += epoch.visited;
    total.entries += epoch.entries;
  }
  return total;
}

void DualDescent::refresh(const double* p) {
  for (Share& share : shares_) {
    const auto wanted = [&](std::uint32_t i) {
      const double y = q_[i] < 0 ? -1.0 : 1.0, G = y * p[i] - 1;
      if (alpha_[i] == 0) return G <= share.upper;
      if (alpha_[i] == std::fabs(q_[i])) return G >= share.lower;
      return true;
    };
    const auto end = std::partition(share.order.begin(), share.order.end(), wanted);
    share.active = static_cast<std::size_t>(end - share.order.begin());
  }
}

}  // namespace maxmargin
