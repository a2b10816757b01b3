#include "losses/order.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/check.hpp"

namespace maxmargin {

void check_finite(bool finite) {
  check(finite,
        "a prediction is infinite or not a number; expected finite values. Scale the features or "
        "lower C");
}

namespace {

constexpr std::size_t kFew = 24;           // insertion sort up to here
constexpr std::size_t kMostSpread = 2048;  // buckets of one spreading step
constexpr std::size_t kRoomy = 2;          // buckets an item, so that most hold one or none
constexpr int kSpreadings = 4;             // then comparisons: the values defy interpolation

bool before(const Item& a, const Item& b) { return a.value < b.value; }

void insertion_sort(Item* items, std::size_t n) {
  for (std::size_t k = 1; k < n; ++k) {
    const Item item = items[k];
    std::size_t at = k;
    for (; at > 0 && item.value < items[at - 1].value; --at) items[at] = items[at - 1];
    items[at] = item;
  }
}

// Monotone map of values to buckets, whatever the rounding: each operation is monotone by itself.
struct Buckets {
  double least = 0, scale = 0;
  std::size_t count = 1;

  Buckets(double low, double high, std::size_t wanted) {
    const double width = high - low;
    const double s = static_cast<double>(wanted) / width;
    // A width that overflows, or is so small that its inverse does, leaves a single bucket.
    if (width > 0 && std::isfinite(width) && std::isfinite(s)) {
      least = low;
      scale = s;
      count = wanted;
    }
  }
  std::size_t of(double value) const {
    const std::size_t k = static_cast<std::size_t>((value - least) * scale);
    return k < count ? k : count - 1;
  }
};

// Writes `from` to `to` in ascending order; both have room for n items and both are overwritten.
void sort_items(Item* from, Item* to, std::size_t n, int spreadings) {
  if (n <= kFew) {
    std::copy_n(from, n, to);
    return insertion_sort(to, n);
  }
  double least = from[0].value, most = from[0].value;
  for (std::size_t k = 1; k < n; ++k) {
    least = std::min(least, from[k].value);
    most = std::max(most, from[k].value);
  }
  const Buckets buckets(least, most, std::min(kMostSpread, kRoomy * n));
  if (spreadings == 0 || buckets.count == 1) {
    std::copy_n(from, n, to);
    return std::sort(to, to + n, before);
  }
  std::uint32_t start[kMostSpread + 1];
  std::fill_n(start, buckets.count + 1, 0);
  for (std::size_t k = 0; k < n; ++k) ++start[buckets.of(from[k].value) + 1];
  std::uint32_t fullest = 0;
  for (std::size_t b = 0; b < buckets.count; ++b) {
    fullest = std::max(fullest, start[b + 1]);
    start[b + 1] += start[b];
  }
  for (std::size_t k = 0; k < n; ++k) to[start[buckets.of(from[k].value)]++] = from[k];
  // No item is further from its place than its bucket is long: one pass puts all in order.
  if (fullest <= kFew) return insertion_sort(to, n);
  for (std::size_t b = 0, begin = 0; b < buckets.count; ++b) {
    const std::size_t end = start[b], count = end - begin;  // scattering turned starts into ends
    if (count <= kFew) {
      insertion_sort(to + begin, count);
    } else {
      std::copy_n(to + begin, count, from + begin);
      sort_items(from + begin, to + begin, count, spreadings - 1);
    }
    begin = end;
  }
}

struct Extent {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
  bool finite = true;
};

Extent extent_of(const double* p, const Selection& selection, Range range) {
  Extent extent;
  double poison = 0;  // 0 * x is 0 for finite x and NaN otherwise
  for (std::size_t k = range.begin; k < range.end; ++k) {
    const double value = p[selection.row(k)];
    extent.least = std::min(extent.least, value);
    extent.most = std::max(extent.most, value);
    poison += 0 * value;
  }
  extent.finite = poison == 0;
  return extent;
}

Item item_of(const double* p, const Selection& selection, std::size_t k) {
  const std::uint32_t row = selection.row(k);
  return {p[row], row, selection.rank(k)};
}

}  // namespace

void order_rows(const double* p, const Selection& selection, Item* items, Item* spare) {
  const std::size_t n = selection.count;
  check_finite(extent_of(p, selection, {0, n}).finite);
  for (std::size_t k = 0; k < n; ++k) spare[k] = item_of(p, selection, k);
  sort_items(spare, items, n, kSpreadings);
}

void order_rows(const double* p, const Selection& selection, Item* items, Item* spare, Pool& pool) {
  const std::size_t n = selection.count, parts = pieces(n);
  if (parts == 1) return order_rows(p, selection, items, spare);

  std::vector<Extent> extents(parts);
  pool.run(parts,
           [&](std::size_t t) { extents[t] = extent_of(p, selection, part_of(n, parts, t)); });
  Extent whole;
  for (const Extent& extent : extents) {
    whole.least = std::min(whole.least, extent.least);
    whole.most = std::max(whole.most, extent.most);
    whole.finite = whole.finite && extent.finite;
  }
  check_finite(whole.finite);

  const Buckets buckets(whole.least, whole.most, 1024);
  std::vector<std::uint32_t> start(parts * buckets.count);
  pool.run(parts, [&](std::size_t t) {
    std::uint32_t* count = start.data() + t * buckets.count;
    const Range range = part_of(n, parts, t);
    for (std::size_t k = range.begin; k < range.end; ++k) ++count[buckets.of(p[selection.row(k)])];
  });
  std::vector<std::uint32_t> edge(buckets.count + 1);
  std::uint32_t sum = 0;
  for (std::size_t b = 0; b < buckets.count; ++b) {
    edge[b] = sum;
    for (std::size_t t = 0; t < parts; ++t) {
      const std::uint32_t count = start[t * buckets.count + b];
      start[t * buckets.count + b] = sum;
      sum += count;
    }
  }
  edge[buckets.count] = sum;
  pool.run(parts, [&](std::size_t t) {
    std::uint32_t* next = start.data() + t * buckets.count;
    const Range range = part_of(n, parts, t);
    for (std::size_t k = range.begin; k < range.end; ++k) {
      const Item item = item_of(p, selection, k);
      spare[next[buckets.of(item.value)]++] = item;
    }
  });
  // Buckets are handed out in runs of about equal numbers of rows.
  std::vector<std::size_t> runs{0};
  for (std::size_t b = 0; b < buckets.count; ++b)
    if (edge[b + 1] - edge[runs.back()] >= n / parts || b + 1 == buckets.count)
      runs.push_back(b + 1);
  pool.run(runs.size() - 1, [&](std::size_t t) {
    for (std::size_t b = runs[t]; b < runs[t + 1]; ++b)
      sort_items(spare + edge[b], items + edge[b], edge[b + 1] - edge[b], kSpreadings);
  });
}

}  // namespace maxmargin
