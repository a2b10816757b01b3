#include "linear/dual_descent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.hpp"
#include "base/vectors.hpp"
#include "linear/products.hpp"

namespace maxmargin {

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max() / 2;
constexpr std::size_t kPollEntries = 1 << 18;  // non-zeros between two looks at the stop flag
constexpr std::size_t kAhead = 4;              // rows fetched ahead of their visit
constexpr std::size_t kWindows = 8;            // fewer windows an epoch: one thread does better
constexpr double kTaken = 0.97;                // share of the threads' changes that must be usable
}  // namespace

DualDescent::DualDescent(const Rows& rows, const double* q, double* alpha, double* w,
                         std::uint64_t seed, Pool& pool)
    : rows_(rows), q_(q), alpha_(alpha), w_(w) {
  const std::size_t n = shape(rows).n, threads = static_cast<std::size_t>(pool.threads());
  check(n < std::numeric_limits<std::uint32_t>::max(), "dual descent takes at most 2^32 - 2 rows");
  norms_.resize(n);
  squared_norms(rows, norms_.data(), pool);
  for (std::size_t k = 0; k < threads; ++k) {
    Share share{{}, 0, 0, Random(seed + k), kInfinity, -kInfinity, {}, {}, {}};
    shares_.push_back(std::move(share));
  }
  // Shares are drawn at random: rows often come sorted by class, and threads that each see one
  // class only undo each other's work.
  Random draw(~seed);
  for (std::size_t i = 0; i < n; ++i) {
    Share& share = shares_[threads > 1 ? draw.below(threads) : 0];
    if (q[i] == 0) continue;  // weight zero: a_i = 0 for ever
    if (norms_[i] == 0)
      alpha[i] = std::fabs(q[i]);  // the constant loss of an empty row
    else
      share.order.push_back(static_cast<std::uint32_t>(i));
  }
  for (Share& share : shares_) share.active = share.order.size();
  in_windows_ = threads > 1;
  last_entries_ = std::visit([](const auto& view) { return view.nnz(); }, rows);
}

std::size_t DualDescent::active() const {
  std::size_t sum = 0;
  for (const Share& share : shares_) sum += share.active;
  return sum;
}

void DualDescent::Share::begin_epoch() {
  next = 0;
  epoch = Epoch{-kInfinity, kInfinity, 0, 0};
  for (std::size_t k = active; k > 1; --k) std::swap(order[k - 1], order[random.below(k)]);
}

void DualDescent::Share::end_epoch() {
  upper = epoch.most > 0 ? epoch.most : kInfinity;
  lower = epoch.least < 0 ? epoch.least : -kInfinity;
}

// Goes on through the share until it has touched `entries` non-zeros. Alone, w is the caller's and
// the stop flag is polled; else both are seen to between windows.
template <bool kAlone, class View>
void DualDescent::visit(const View& rows, Share& share, double* w, std::size_t entries,
                        Stop* stop) {
  std::uint32_t* order = share.order.data();
  Epoch& epoch = share.epoch;
  const std::size_t end = epoch.entries + entries;
  std::size_t polled = epoch.entries;
  for (; share.next < share.active && epoch.entries < end; ++share.next) {
    if (share.next + kAhead < share.active) rows.prefetch(order[share.next + kAhead]);
    const std::size_t i = order[share.next];
    const double y = q_[i] < 0 ? -1.0 : 1.0, cost = std::fabs(q_[i]), a = alpha_[i];
    const double G = y * dot(rows, i, w) - 1;
    epoch.entries += rows.entries(i) + 1;
    ++epoch.visited;
    double projected = G;
    bool set_aside = false;
    if (a == 0) {
      set_aside = G > share.upper;
      projected = std::min(G, 0.0);
    } else if (a == cost) {
      set_aside = G < share.lower;
      projected = std::max(G, 0.0);
    }
    if (set_aside) {
      std::swap(order[share.next--], order[--share.active]);
      continue;
    }
    epoch.most = std::max(epoch.most, projected);
    epoch.least = std::min(epoch.least, projected);
    if (projected != 0) {
      alpha_[i] = std::min(std::max(a - G / norms_[i], 0.0), cost);
      if constexpr (!kAlone) share.moves.push_back({static_cast<std::uint32_t>(i), a});
      add(rows, i, (alpha_[i] - a) * y, w);
    }
    if constexpr (kAlone) {
      if (epoch.entries - polled > kPollEntries) {
        polled = epoch.entries;
        if (stop) stop->throw_if_requested();
      }
    }
  }
}

// w + k sum_s (w_s - w) and alpha likewise, with the k in (0, 1] that the dual gains most by.
double DualDescent::merge(Pool& pool) {
  const std::size_t width = shape(rows_).width(), parts = pieces(width);
  std::vector<double> linear(parts), square(parts);
  double* change = pool.scratch(width);
  pool.run(parts, [&](std::size_t part) {
    const Range range = part_of(width, parts, part);
    for (std::size_t j = range.begin; j < range.end; ++j) {
      double sum = 0;
      for (const Share& share : shares_) sum += share.w[j] - w_[j];
      change[j] = sum;
      linear[part] += w_[j] * sum;
      square[part] += sum * sum;
    }
  });
  double gain = 0, curvature = 0;
  for (const Share& share : shares_)
    for (const Move& move : share.moves) gain += alpha_[move.row] - move.before;
  for (std::size_t part = 0; part < parts; ++part) {
    gain -= linear[part];
    curvature += square[part];
  }
  const double k = curvature > 0 ? std::clamp(gain / curvature, 0.0, 1.0) : 1.0;
  pool.run(parts, [&](std::size_t part) {
    const Range range = part_of(width, parts, part);
    for (std::size_t j = range.begin; j < range.end; ++j) w_[j] += k * change[j];
    for (Share& share : shares_)
      std::copy(w_ + range.begin, w_ + range.end, share.w.data() + range.begin);
  });
  for (Share& share : shares_) {
    if (k < 1)
      for (const Move& move : share.moves)
        alpha_[move.row] = move.before + k * (alpha_[move.row] - move.before);
    share.moves.clear();
  }
  return k;
}

// One thread goes on with all rows in one random order. (Visiting one share after the other would
// need several times as many epochs: what the shares disagree on is corrected once an epoch only.)
void DualDescent::fuse() {
  Share all{{}, 0, 0, shares_[0].random, -kInfinity, kInfinity, {}, {}, {}};
  for (const bool active : {true, false})
    for (const Share& share : shares_) {
      const auto middle = share.order.begin() + static_cast<std::ptrdiff_t>(share.active);
      all.order.insert(all.order.end(), active ? share.order.begin() : middle,
                       active ? middle : share.order.end());
      if (active) all.active = all.order.size();
      all.upper = std::max(all.upper, share.upper);
      all.lower = std::min(all.lower, share.lower);
    }
  shares_.assign(1, std::move(all));
}

template <class View>
void DualDescent::epoch_in_windows(const View& rows, std::size_t window, Pool& pool) {
  for (Share& share : shares_) share.w.assign(w_, w_ + rows.width());
  const auto unfinished = [](const Share& share) { return !share.done(); };
  double taken = 0, merges = 0;
  while (std::any_of(shares_.begin(), shares_.end(), unfinished)) {
    pool.run(shares_.size(), [&](std::size_t k) {
      visit<false>(rows, shares_[k], shares_[k].w.data(), window, nullptr);
    });
    taken += merge(pool);
    ++merges;
  }
  // Changes that have to be cut back undo each other; from then on one thread gets further.
  in_windows_ = taken >= kTaken * merges;
}

DualDescent::Epoch DualDescent::epoch(Pool& pool) {
  if (pool.stop()) pool.stop()->throw_if_requested();
  // Merging costs a few operations a feature, so a window touches several times as many.
  const std::size_t window = std::max<std::size_t>(4 * shape(rows_).width(), 1 << 16);
  if (shares_.size() > 1 && (!in_windows_ || last_entries_ < kWindows * window)) fuse();
  for (Share& share : shares_) share.begin_epoch();
  std::visit(
      [&](const auto& view) {
        if (shares_.size() > 1)
          epoch_in_windows(view, window, pool);
        else
          visit<true>(view, shares_[0], w_, kUnlimited, pool.stop());
      },
      rows_);
  Epoch total{-kInfinity, kInfinity, 0, 0};
  for (Share& share : shares_) {
    share.end_epoch();
    total.most = std::max(total.most, share.epoch.most);
    total.least = std::min(total.least, share.epoch.least);
    total.visited += share.epoch.visited;
    total.entries += share.epoch.entries;
  }
  last_entries_ = total.entries;
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
