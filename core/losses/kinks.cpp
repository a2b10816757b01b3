#include "losses/kinks.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "base/check.hpp"
#include "base/clones.hpp"

namespace maxmargin {

namespace {

constexpr double kInfinity = kUnbounded;

// A piecewise linear f is   low (r - kink_0) + sum_j rise max(0, r - kink_j),   so each row has
// kKinks hinges: c_i max(0, r_i - kink_j) at step k is max(0, C_ij + k B_i), C_ij = c_i (r_i -
// kink_j).

struct Slopes {
  double low, high;  // of the loss at both ends of the bracket
  double value;      // where the line that the loss is at the low end meets k = 0
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

// C_ij of a row with prediction p
template <class Loss>
MAXMARGIN_INLINE double beyond(const Loss& f, const double* q, const double* t, std::size_t i,
                               double p, int j) {
  return std::fabs(q[i]) * (residual(f, q[i], t, i, p) - f.kink(j));
}

constexpr std::size_t kBlock = 512, kMostKinks = 2;

// Adds both slopes of some rows, at most a block, to `sums` and writes the kinks inside the bracket
// to `inside`: few, so they are picked out without a branch. Returns how many there are.
template <class Loss>
MAXMARGIN_INLINE std::size_t bracket_block(const Loss& f, const double* q, const double* t,
                                           const double* p, const double* dp, Range block,
                                           double low, double high, Slopes& sums, Kink* inside) {
  const bool unbounded = high == kInfinity;
  const double end = unbounded ? 0.0 : high, rise = f.rise(), base = f.low();
  const std::size_t first = block.begin, count = block.end - block.begin;
  double slope_low = sums.low, slope_high = sums.high, value = sums.value;
  std::int32_t crossing[kBlock];
  std::uint32_t found[kBlock];
  std::size_t kinks = 0;
  for (int j = 0; j < Loss::kKinks; ++j) {
    const double share = j == 0 ? base : 0.0;
#pragma omp simd reduction(+ : slope_low, slope_high, value)
    for (std::size_t m = 0; m < count; ++m) {
      const std::size_t i = first + m;
      const double B = -q[i] * dp[i], C = beyond(f, q, t, i, p[i], j);
      const bool at_low = active_after(C, B, low);
      const bool at_high = unbounded ? B > 0 : active_after(C, B, end);
      slope_low += (at_low ? rise + share : share) * B;
      slope_high += (at_high ? rise + share : share) * B;
      value += (at_low ? rise + share : share) * C;
      crossing[m] = at_low != at_high ? 1 : 0;
    }
    std::size_t passed = 0;
    for (std::size_t m = 0; m < count; ++m) {
      found[passed] = static_cast<std::uint32_t>(m);
      passed += static_cast<std::size_t>(crossing[m]);
    }
    for (std::size_t m = 0; m < passed; ++m) {
      const std::size_t i = first + found[m];
      const double B = -q[i] * dp[i], C = beyond(f, q, t, i, p[i], j);
      inside[kinks++] = {std::clamp(-C / B, low, high), rise * std::fabs(B)};
    }
  }
  sums = {slope_low, slope_high, value};
  return kinks;
}

template <class Loss>
std::pair<double, double> bracket_of_sample(const Loss& f, const PointwiseSum& sum, const double* p,
                                            const double* dp, double A0, double B0) {
  // n^(2/3): sorting the sample and selecting among the kinks it leaves then cost about the same
  const double root = std::cbrt(static_cast<double>(sum.n));
  const auto wanted = static_cast<std::size_t>(root * root) + 1;
  const std::size_t stride = sum.n / wanted;
  if (stride < 4) return {0.0, kInfinity};
  std::vector<Kink> kinks;
  kinks.reserve(wanted * Loss::kKinks);
  double slope = B0;
  const double weight = static_cast<double>(stride), rise = weight * f.rise();
  for (std::size_t i = stride / 2; i < sum.n; i += stride) {
    const double B = -sum.q[i] * dp[i];
    slope += weight * f.low() * B;
    for (int j = 0; j < Loss::kKinks; ++j) {
      const double C = beyond(f, sum.q, sum.t, i, p[i], j);
      if (active_after(C, B, 0)) slope += rise * B;
      if (B != 0 && active_after(C, B, 0) != (B > 0))
        kinks.push_back({-C / B, rise * std::fabs(B)});
    }
  }
  std::sort(kinks.begin(), kinks.end(), [](const Kink& a, const Kink& b) { return a.k < b.k; });
  std::size_t position = 0;
  while (position < kinks.size() && kinks[position].k * A0 + slope < 0)
    slope += kinks[position++].rise;
  // three standard deviations of the root's position among the kinks of the sample
  const std::size_t margin = 3 * static_cast<std::size_t>(std::sqrt(kinks.size())) / 2 + 4;
  return {position > margin ? kinks[position - margin].k : 0.0,
          position + margin < kinks.size() ? kinks[position + margin].k : kInfinity};
}

// One overload a piecewise linear loss, compiled for every target.
#define MAXMARGIN_KINK_LOOP(Loss)                                                                  \
  MAXMARGIN_CLONES std::size_t bracket_rows(const Loss& f, const double* q, const double* t,       \
                                            const double* p, const double* dp, Range block,        \
                                            double low, double high, Slopes& sums, Kink* inside) { \
    return bracket_block(f, q, t, p, dp, block, low, high, sums, inside);                          \
  }
MAXMARGIN_KINK_LOOP(Hinge)
MAXMARGIN_KINK_LOOP(EpsilonInsensitive)
MAXMARGIN_KINK_LOOP(Pinball)

Slopes bracket_part(const PointwiseSum& sum, const double* p, const double* dp, Range range,
                    double low, double high, std::vector<Kink>& inside) {
  Slopes sums{};
  Kink kinks[kMostKinks * kBlock];
  std::visit(
      [&](const auto& f) {
        if constexpr (std::decay_t<decltype(f)>::kPiecewiseLinear) {
          for (std::size_t begin = range.begin; begin < range.end; begin += kBlock) {
            const Range block{begin, std::min(begin + kBlock, range.end)};
            const std::size_t found =
                bracket_rows(f, sum.q, sum.t, p, dp, block, low, high, sums, kinks);
            inside.insert(inside.end(), kinks, kinks + found);
          }
        }
      },
      sum.loss);
  return sums;
}

void check_kinks(const PointwiseSum& sum) {
  check(is_piecewise_linear(sum.loss), "only piecewise linear losses have kinks to search");
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

std::pair<double, double> sampled_bracket(const PointwiseSum& sum, const double* p,
                                          const double* dp, double A0, double B0) {
  check_kinks(sum);
  return std::visit(
      [&](const auto& f) -> std::pair<double, double> {
        if constexpr (std::decay_t<decltype(f)>::kPiecewiseLinear)
          return bracket_of_sample(f, sum, p, dp, A0, B0);
        else
          return {0.0, kInfinity};
      },
      sum.loss);
}

double search_kinks(const PointwiseSum& sum, const double* p, const double* dp, double A0,
                    double B0, Pool& pool) {
  double low, high;  // no structured binding: clang before 16 cannot capture one
  std::tie(low, high) = sampled_bracket(sum, p, dp, A0, B0);
  const std::size_t parts = pieces(sum.n);
  for (;;) {
    std::vector<std::vector<Kink>> inside(parts);
    std::vector<Slopes> sums(parts);
    pool.run(parts, [&](std::size_t k) {
      sums[k] = bracket_part(sum, p, dp, part_of(sum.n, parts, k), low, high, inside[k]);
    });
    Slopes slopes{};
    for (const Slopes& part : sums) slopes += part;
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

KinkList list_kinks(const PointwiseSum& sum, const double* p, const double* dp, double low,
                    double high, Pool& pool) {
  check_kinks(sum);
  const std::size_t parts = pieces(sum.n);
  std::vector<std::vector<Kink>> inside(parts);
  std::vector<Slopes> sums(parts);
  pool.run(parts, [&](std::size_t k) {
    sums[k] = bracket_part(sum, p, dp, part_of(sum.n, parts, k), low, high, inside[k]);
    // Rows whose loss does not change have no kink, however far.
    std::erase_if(inside[k], [](const Kink& x) { return !(x.rise > 0) || x.k == kInfinity; });
  });
  KinkList list{low, high, 0, 0, {}};
  for (const Slopes& part : sums) {
    list.slope += part.low;
    list.value += part.value;
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

}  // namespace maxmargin
