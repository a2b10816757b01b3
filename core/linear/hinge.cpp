#include "linear/hinge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "base/clones.hpp"

namespace maxmargin {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

MAXMARGIN_CLONES double hinge_part(const double* q, const double* p, Range range, double* l) {
  double sum = 0;
  if (l) {
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const double loss = std::fabs(q[i]) - q[i] * p[i];
      const bool active = loss > 0;
      sum += active ? loss : 0.0;
      l[i] = active ? -q[i] : 0.0;
    }
  } else {
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const double loss = std::fabs(q[i]) - q[i] * p[i];
      sum += loss > 0 ? loss : 0.0;
    }
  }
  return sum;
}

MAXMARGIN_CLONES double along_part(const double* q, const double* p, const double* dp, double k,
                                   Range range) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const double loss = std::fabs(q[i]) - q[i] * (p[i] + k * dp[i]);
    sum += loss > 0 ? loss : 0.0;
  }
  return sum;
}

// ---------------------------------------------------------------- exact line search
//
// B_i = -q_i dp_i and C_i = |q_i| - q_i p_i, so loss i at step k is max(0, C_i + k B_i) and
//   G'(k) = k A0 + B0 + sum over {C_i + k B_i > 0} B_i          non-decreasing, kinks at -C_i / B_i

struct Slopes {
  double low, high;  // sum of active B_i at both ends of the bracket
  double value;      // sum of C_i over the rows active at its low end
  Slopes& operator+=(const Slopes& other) {
    low += other.low;
    high += other.high;
    value += other.value;
    return *this;
  }
};

// At a kink the slope to the right counts, so that low = 0 gives G'(0+).
MAXMARGIN_INLINE bool active_after(double C, double B, double k) {
  const double loss = C + k * B;
  return (loss > 0) | ((loss == 0) & (B > 0));
}

constexpr std::size_t kBlock = 512;

// Adds both slopes of some rows, at most a block, to `sums` and writes the kinks inside the bracket
// to `inside`: few, so they are picked out without a branch. Returns how many there are.
MAXMARGIN_CLONES std::size_t bracket_block(const double* q, const double* p, const double* dp,
                                           std::size_t count, double low, double high, Slopes& sums,
                                           Kink* inside) {
  const bool unbounded = high == kInfinity;
  const double end = unbounded ? 0.0 : high;
  double slope_low = sums.low, slope_high = sums.high, value = sums.value;
  std::int32_t crossing[kBlock];
  std::uint32_t found[kBlock];
#pragma omp simd reduction(+ : slope_low, slope_high, value)
  for (std::size_t i = 0; i < count; ++i) {
    const double B = -q[i] * dp[i], C = std::fabs(q[i]) - q[i] * p[i];
    const bool at_low = active_after(C, B, low);
    const bool at_high = unbounded ? B > 0 : active_after(C, B, end);
    slope_low += at_low ? B : 0.0;
    slope_high += at_high ? B : 0.0;
    value += at_low ? C : 0.0;
    crossing[i] = at_low != at_high ? 1 : 0;
  }
  sums = {slope_low, slope_high, value};
  std::size_t kinks = 0;
  for (std::size_t i = 0; i < count; ++i) {
    found[kinks] = static_cast<std::uint32_t>(i);
    kinks += static_cast<std::size_t>(crossing[i]);
  }
  for (std::size_t m = 0; m < kinks; ++m) {
    const std::size_t i = found[m];
    const double B = -q[i] * dp[i], C = std::fabs(q[i]) - q[i] * p[i];
    inside[m] = {std::clamp(-C / B, low, high), std::fabs(B)};
  }
  return kinks;
}

Slopes bracket_part(const double* q, const double* p, const double* dp, Range range, double low,
                    double high, std::vector<Kink>& inside) {
  Slopes sums{};
  Kink kinks[kBlock];
  for (std::size_t begin = range.begin; begin < range.end; begin += kBlock) {
    const std::size_t count = std::min(kBlock, range.end - begin);
    const std::size_t found =
        bracket_block(q + begin, p + begin, dp + begin, count, low, high, sums, kinks);
    inside.insert(inside.end(), kinks, kinks + found);
  }
  return sums;
}

// The root of k A0 + slope + (rises of kinks below k) within (low, high), by weighted selection.
double select_root(std::vector<Kink>& kinks, double A0, double slope, double low, double high) {
  auto first = kinks.begin(), last = kinks.end();
  while (last - first > 48) {
    const double a = first->k, b = first[(last - first) / 2].k, c = last[-1].k;
    const double pivot = std::max(std::min(a, b), std::min(std::max(a, b), c));
    auto below = std::partition(first, last, [&](const Kink& kink) { return kink.k < pivot; });
    auto equal = std::partition(below, last, [&](const Kink& kink) { return kink.k == pivot; });
    double rise_below = 0, rise_equal = 0;
    for (auto kink = first; kink != below; ++kink) rise_below += kink->rise;
    for (auto kink = below; kink != equal; ++kink) rise_equal += kink->rise;
    if (pivot * A0 + slope + rise_below >= 0) {
      last = below;
      high = pivot;
    } else {
      slope += rise_below + rise_equal;
      low = pivot;
      if (pivot * A0 + slope >= 0) return pivot;
      first = equal;
    }
  }
  std::sort(first, last, [](const Kink& a, const Kink& b) { return a.k < b.k; });
  for (; first != last; ++first) {
    if (first->k * A0 + slope >= 0) {
      high = first->k;
      break;
    }
    slope += first->rise;
    low = first->k;
    if (low * A0 + slope >= 0) return low;
  }
  return A0 > 0 ? std::clamp(-slope / A0, low, high) : low;
}

}  // namespace

// A bracket that holds the root with high probability: the root of a subsampled problem, give or
// take three standard deviations of its position among the kinks of the sample.
std::pair<double, double> sampled_bracket(const double* q, const double* p, const double* dp,
                                          std::size_t n, double A0, double B0) {
  // n^(2/3): sorting the sample and selecting among the kinks it leaves then cost about the same
  const double root = std::cbrt(static_cast<double>(n));
  const auto wanted = static_cast<std::size_t>(root * root) + 1;
  const std::size_t stride = n / wanted;
  if (stride < 4) return {0.0, kInfinity};
  std::vector<Kink> kinks;
  kinks.reserve(wanted);
  double slope = B0;
  const double weight = static_cast<double>(stride);
  for (std::size_t i = stride / 2; i < n; i += stride) {
    const double B = -q[i] * dp[i], C = std::fabs(q[i]) - q[i] * p[i];
    if (active_after(C, B, 0)) slope += weight * B;
    if (B != 0 && active_after(C, B, 0) != (B > 0))
      kinks.push_back({-C / B, weight * std::fabs(B)});
  }
  std::sort(kinks.begin(), kinks.end(), [](const Kink& a, const Kink& b) { return a.k < b.k; });
  std::size_t position = 0;
  while (position < kinks.size() && kinks[position].k * A0 + slope < 0)
    slope += kinks[position++].rise;
  const std::size_t margin = 3 * static_cast<std::size_t>(std::sqrt(kinks.size())) / 2 + 4;
  return {position > margin ? kinks[position - margin].k : 0.0,
          position + margin < kinks.size() ? kinks[position + margin].k : kInfinity};
}

double hinge(const double* q, const double* p, std::size_t n, double* l, Pool& pool) {
  return sum_pieces<double>(n, pool, [&](Range range) { return hinge_part(q, p, range, l); });
}

double hinge_along(const double* q, const double* p, const double* dp, double k, std::size_t n,
                   Pool& pool) {
  return sum_pieces<double>(n, pool, [&](Range range) { return along_part(q, p, dp, k, range); });
}

double hinge_search(const double* q, const double* p, const double* dp, std::size_t n, double A0,
                    double B0, Pool& pool) {
  double low, high;  // no structured binding: clang before 16 cannot capture one
  std::tie(low, high) = sampled_bracket(q, p, dp, n, A0, B0);
  const std::size_t parts = pieces(n);
  for (;;) {
    std::vector<std::vector<Kink>> inside(parts);
    std::vector<Slopes> sums(parts);
    pool.run(parts, [&](std::size_t k) {
      sums[k] = bracket_part(q, p, dp, part_of(n, parts, k), low, high, inside[k]);
    });
    Slopes slopes{};
    for (const Slopes& sum : sums) slopes += sum;
    const bool root_below = low * A0 + B0 + slopes.low >= 0;
    const bool root_above = high < kInfinity && high * A0 + B0 + slopes.high < 0;
    if (root_below && low == 0) return 0.0;
    if (root_below) {
      high = low;
      low = 0;
    } else if (root_above) {
      low = high;
      high = kInfinity;
    } else {
      std::vector<Kink> kinks;
      for (auto& part : inside) kinks.insert(kinks.end(), part.begin(), part.end());
      return select_root(kinks, A0, B0 + slopes.low, low, high);
    }
  }
}

// ---------------------------------------------------------------- line search over parts

KinkList list_kinks(const double* q, const double* p, const double* dp, std::size_t n, double low,
                    double high, Pool& pool) {
  const std::size_t parts = pieces(n);
  std::vector<std::vector<Kink>> inside(parts);
  std::vector<Slopes> sums(parts);
  pool.run(parts, [&](std::size_t k) {
    sums[k] = bracket_part(q, p, dp, part_of(n, parts, k), low, high, inside[k]);
    // Rows whose loss does not change have no kink, however far.
    std::erase_if(inside[k], [](const Kink& x) { return !(x.rise > 0) || x.k == kInfinity; });
  });
  KinkList list{low, high, 0, 0, {}};
  for (const Slopes& sum : sums) {
    list.slope += sum.low;
    list.value += sum.value;
  }
  for (const auto& part : inside) list.kinks.insert(list.kinks.end(), part.begin(), part.end());
  return list;
}

KinkList KinkList::within(double from, double to) const {
  KinkList list{from, to, slope, value, {}};
  for (const Kink& kink : kinks) {
    if (kink.k <= from) {
      list.slope += kink.rise;
      list.value -= kink.rise * kink.k;
    } else if (kink.k <= to) {
      list.kinks.push_back(kink);
    }
  }
  return list;
}

KinkSummary summarise(const std::vector<Kink>& kinks, std::size_t most) {
  KinkSummary summary;
  if (kinks.empty()) return summary;
  // A sample places the edges where sorting all kinks would take longer than listing them did.
  constexpr std::size_t sampled = 1 << 14;
  const std::size_t stride = std::max<std::size_t>(1, kinks.size() / sampled);
  std::vector<double> some;
  double last = kinks[0].k;
  for (std::size_t i = 0; i < kinks.size(); ++i) {
    last = std::max(last, kinks[i].k);
    if (i % stride == 0) some.push_back(kinks[i].k);
  }
  std::sort(some.begin(), some.end());
  std::vector<double>& edges = summary.edges;
  most = std::min(most, some.size());
  for (std::size_t j = 1; j <= most; ++j) {
    const double k = some[some.size() * j / most - 1];
    if (edges.empty() || k > edges.back()) edges.push_back(k);
  }
  if (edges.back() < last) edges.back() = last;

  summary.rises.assign(edges.size(), 0.0);
  for (const Kink& kink : kinks) {
    const double* base = edges.data();
    std::size_t length = edges.size();
    while (length > 1) {  // the first edge not below the kink, without a branch
      const std::size_t half = length / 2;
      base += base[half - 1] < kink.k ? half : 0;
      length -= half;
    }
    summary.rises[static_cast<std::size_t>(base - edges.data())] += kink.rise;
    summary.complete &= *base == kink.k;
  }
  return summary;
}

// ---------------------------------------------------------------- smoothed hinge

namespace {

struct SmoothedSum : Smoothed {
  SmoothedSum& operator+=(const SmoothedSum& other) {
    value += other.value;
    slope += other.slope;
    curvature += other.curvature;
    return *this;
  }
};

MAXMARGIN_CLONES SmoothedSum smoothed_part(const double* q, const double* nu, double sigma,
                                           const double* p, const double* dp, double k,
                                           Range range) {
  double value = 0, slope = 0, curvature = 0;
#pragma omp simd reduction(+ : value, slope, curvature)
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const double cost = std::fabs(q[i]);
    const double loss = cost - q[i] * (p[i] + k * dp[i]);  // C_i (1 - y_i p_i)
    const double ct = sigma * loss + cost * nu[i];         // C_i t_i
    const double clipped = ct < 0 ? 0.0 : (ct > cost ? cost : ct);
    const double step = q[i] * dp[i];
    // C h(t) = clipped (t - clipped / (2 C)): zero cost rows add nothing
    const double inverse = cost > 0 ? 1.0 / cost : 0.0;
    value += clipped * (ct - 0.5 * clipped) * inverse;
    slope -= step * clipped * inverse;
    curvature += (ct > 0 && ct < cost) ? step * step * inverse : 0.0;
  }
  SmoothedSum sum;
  sum.value = value / sigma;
  sum.slope = slope;
  sum.curvature = curvature * sigma;
  return sum;
}

struct MultipliersSum : Multipliers {
  MultipliersSum& operator+=(const MultipliersSum& other) {
    smoothed += other.smoothed;
    hinge += other.hinge;
    sum += other.sum;
    inner += other.inner;
    return *this;
  }
};

MAXMARGIN_CLONES MultipliersSum multipliers_part(const double* q, const double* nu, double sigma,
                                                 const double* p, Range range, double* ya,
                                                 double* h) {
  double smoothed = 0, hinge = 0, sum = 0, inner = 0;
#pragma omp simd reduction(+ : smoothed, hinge, sum, inner)
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const double cost = std::fabs(q[i]);
    const double loss = cost - q[i] * p[i];
    const double ct = sigma * loss + cost * nu[i];
    const double clipped = ct < 0 ? 0.0 : (ct > cost ? cost : ct);
    const double inverse = cost > 0 ? 1.0 / cost : 0.0;
    const bool is_inner = ct > 0 && ct < cost;
    smoothed += clipped * (ct - 0.5 * clipped) * inverse;
    hinge += loss > 0 ? loss : 0.0;
    sum += clipped;
    inner += is_inner ? 1.0 : 0.0;
    ya[i] = q[i] < 0 ? -clipped : clipped;
    h[i] = is_inner ? sigma * cost : 0.0;
  }
  MultipliersSum total;
  total.smoothed = smoothed / sigma;
  total.hinge = hinge;
  total.sum = sum;
  total.inner = static_cast<std::size_t>(inner);
  return total;
}

}  // namespace

Smoothed smoothed_along(const double* q, const double* nu, double sigma, const double* p,
                        const double* dp, double k, std::size_t n, Pool& pool) {
  return sum_pieces<SmoothedSum>(
      n, pool, [&](Range range) { return smoothed_part(q, nu, sigma, p, dp, k, range); });
}

Multipliers multipliers(const double* q, const double* nu, double sigma, const double* p,
                        std::size_t n, double* ya, double* h, Pool& pool) {
  return sum_pieces<MultipliersSum>(
      n, pool, [&](Range range) { return multipliers_part(q, nu, sigma, p, range, ya, h); });
}

}  // namespace maxmargin
