#include "losses/pointwise.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"
#include "base/clones.hpp"

namespace maxmargin {

namespace {

constexpr int kMostTries = 200;  // of a root in one variable

// ---------------------------------------------------------------- loops over one range of rows

template <class Loss>
MAXMARGIN_INLINE double evaluate_range(const Loss& f, const double* q, const double* t,
                                       const double* p, Range range, double* subgrad) {
  double sum = 0;
  if (subgrad) {
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const double r = residual(f, q[i], t, i, p[i]);
      sum += std::fabs(q[i]) * f.value(r);
      subgrad[i] = -q[i] * f.slope(r);
    }
  } else {
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = range.begin; i < range.end; ++i)
      sum += std::fabs(q[i]) * f.value(residual(f, q[i], t, i, p[i]));
  }
  return sum;
}

template <class Loss>
MAXMARGIN_INLINE double value_along_range(const Loss& f, const double* q, const double* t,
                                          const double* p, const double* dp, double k,
                                          Range range) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = range.begin; i < range.end; ++i)
    sum += std::fabs(q[i]) * f.value(residual(f, q[i], t, i, p[i] + k * dp[i]));
  return sum;
}

template <class Loss>
MAXMARGIN_INLINE Along along_range(const Loss& f, const double* q, const double* t,
                                   const double* nu, double s, const double* p, const double* dp,
                                   double k, Range range) {
  double slope = 0, curvature = 0;
#pragma omp simd reduction(+ : slope, curvature)
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const double r = residual(f, q[i], t, i, p[i] + k * dp[i]);
    const double u = f.step(r, nu[i], s);
    slope -= q[i] * dp[i] * u;
    curvature += std::fabs(q[i]) * dp[i] * dp[i] / (s + f.curvature(u));
  }
  return {slope, curvature};
}

template <class Loss>
MAXMARGIN_INLINE Proximal proximal_range(const Loss& f, const double* q, const double* t,
                                         const double* nu, double s, const double* p, Range range,
                                         double* b, double* h) {
  double value = 0, dual = 0, size = 0, inner = 0;
#pragma omp simd reduction(+ : value, dual, size, inner)
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const double cost = std::fabs(q[i]), r = residual(f, q[i], t, i, p[i]);
    const double u = f.step(r, nu[i], s);
    const double linear = target(f, t, i) * u, conjugate = f.conjugate(u);
    const double bend = cost / (s + f.curvature(u));
    value += cost * f.value(r);
    dual += cost * (linear - conjugate);
    size += cost * (std::fabs(linear) + std::fabs(conjugate));
    inner += bend > 0 ? 1.0 : 0.0;
    b[i] = q[i] * u;
    h[i] = bend;
  }
  return {value, {dual, size}, static_cast<std::size_t>(inner)};
}

// The same two of a smooth loss with logarithms, not rounded: u is the slope at r, where
// f*(u) = u r - f(r).
template <class Loss>
MAXMARGIN_INLINE Along smooth_along_range(const Loss& f, const double* q, const double* t,
                                          const double* p, const double* dp, double k,
                                          Range range) {
  double slope = 0, curvature = 0;
#pragma omp simd reduction(+ : slope, curvature)
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const double u = f.slope(residual(f, q[i], t, i, p[i] + k * dp[i]));
    slope -= q[i] * dp[i] * u;
    curvature += std::fabs(q[i]) * dp[i] * dp[i] / f.curvature(u);
  }
  return {slope, curvature};
}
template <class Loss>
MAXMARGIN_INLINE Proximal smooth_proximal_range(const Loss& f, const double* q, const double* t,
                                                const double* p, Range range, double* b,
                                                double* h) {
  double value = 0, dual = 0, size = 0, inner = 0;
#pragma omp simd reduction(+ : value, dual, size, inner)
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const double cost = std::fabs(q[i]), r = residual(f, q[i], t, i, p[i]);
    const double own = f.value(r), u = f.slope(r), linear = target(f, t, i) * u;
    const double bend = cost / f.curvature(u);
    value += cost * own;
    dual += cost * (linear - (u * r - own));
    size += cost * (std::fabs(linear) + std::fabs(u * r) + own);
    inner += bend > 0 ? 1.0 : 0.0;
    b[i] = q[i] * u;
    h[i] = bend;
  }
  return {value, {dual, size}, static_cast<std::size_t>(inner)};
}

template <class Loss>
MAXMARGIN_INLINE DualSum dual_range(const Loss& f, const double* q, const double* t,
                                    const double* u, Range range) {
  double dual = 0, size = 0;
#pragma omp simd reduction(+ : dual, size)
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const double linear = target(f, t, i) * u[i], conjugate = f.conjugate(u[i]);
    dual += std::fabs(q[i]) * (linear - conjugate);
    size += std::fabs(q[i]) * (std::fabs(linear) + std::fabs(conjugate));
  }
  return {dual, size};
}

struct Foretold {
  DualSum dual;
  double outside = 0;  // rows whose u is not in the domain
};
template <class Loss>
MAXMARGIN_INLINE Foretold foretell_range(const Loss& f, const double* q, const double* t,
                                         const double* b, const double* h, const double* dp,
                                         Range range, double* foretold) {
  double dual = 0, size = 0, outside = 0;
#pragma omp simd reduction(+ : dual, size, outside)
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const double moved = q[i] != 0 ? (b[i] - h[i] * dp[i]) / q[i] : 0.0, u = f.clip(moved);
    const double linear = target(f, t, i) * u, conjugate = f.conjugate(u);
    outside += u == moved ? 0.0 : 1.0;
    dual += std::fabs(q[i]) * (linear - conjugate);
    size += std::fabs(q[i]) * (std::fabs(linear) + std::fabs(conjugate));
    foretold[i] = q[i] * u;
  }
  return {{dual, size}, outside};
}

// One overload a loss, compiled for every target.
#define MAXMARGIN_LOSS_LOOPS(Loss, name, parameter, make, valid)                                   \
  MAXMARGIN_CLONES double evaluate_part(const Loss& f, const double* q, const double* t,           \
                                        const double* p, Range range, double* subgrad) {           \
    return evaluate_range(f, q, t, p, range, subgrad);                                             \
  }                                                                                                \
  MAXMARGIN_CLONES double value_along_part(const Loss& f, const double* q, const double* t,        \
                                           const double* p, const double* dp, double k,            \
                                           Range range) {                                          \
    return value_along_range(f, q, t, p, dp, k, range);                                            \
  }                                                                                                \
  MAXMARGIN_CLONES Along along_part(const Loss& f, const double* q, const double* t,               \
                                    const double* nu, double s, const double* p, const double* dp, \
                                    double k, Range range) {                                       \
    if constexpr (Loss::kVisitLogarithms > 0)                                                      \
      if (s == 0) return smooth_along_range(f, q, t, p, dp, k, range);                             \
    return along_range(f, q, t, nu, s, p, dp, k, range);                                           \
  }                                                                                                \
  MAXMARGIN_CLONES Proximal proximal_part(const Loss& f, const double* q, const double* t,         \
                                          const double* nu, double s, const double* p,             \
                                          Range range, double* b, double* h) {                     \
    if constexpr (Loss::kVisitLogarithms > 0)                                                      \
      if (s == 0) return smooth_proximal_range(f, q, t, p, range, b, h);                           \
    return proximal_range(f, q, t, nu, s, p, range, b, h);                                         \
  }                                                                                                \
  MAXMARGIN_CLONES Foretold foretell_part(const Loss& f, const double* q, const double* t,         \
                                          const double* b, const double* h, const double* dp,      \
                                          Range range, double* foretold) {                         \
    return foretell_range(f, q, t, b, h, dp, range, foretold);                                     \
  }                                                                                                \
  MAXMARGIN_CLONES DualSum dual_part(const Loss& f, const double* q, const double* t,              \
                                     const double* u, Range range) {                               \
    return dual_range(f, q, t, u, range);                                                          \
  }
MAXMARGIN_EACH_LOSS(MAXMARGIN_LOSS_LOOPS)

DualSum& operator+=(DualSum& sum, const DualSum& other) {
  sum.value += other.value;
  sum.size += other.size;
  return sum;
}
Foretold& operator+=(Foretold& sum, const Foretold& other) {
  sum.dual += other.dual;
  sum.outside += other.outside;
  return sum;
}
Along& operator+=(Along& sum, const Along& other) {
  sum.slope += other.slope;
  sum.curvature += other.curvature;
  return sum;
}
Proximal& operator+=(Proximal& sum, const Proximal& other) {
  sum.value += other.value;
  sum.dual += other.dual;
  sum.inner += other.inner;
  return sum;
}

// The sum of part(f, range) over all ranges, f being the loss by its own type.
template <class Result, class Part>
Result sum_rows(const PointwiseSum& sum, Pool& pool, Part part) {
  return std::visit(
      [&](const auto& f) {
        const std::size_t parts = pieces(sum.n);
        std::vector<Result> results(parts);
        pool.run(parts, [&](std::size_t k) { results[k] = part(f, part_of(sum.n, parts, k)); });
        Result total{};
        for (const Result& result : results) total += result;
        return total;
      },
      sum.loss);
}

}  // namespace

PointwiseLoss make_loss(const std::string& name, [[maybe_unused]] double x) {
#define MAXMARGIN_MAKE_LOSS(Loss, its_name, parameter, make, valid)                    \
  if (name == its_name) {                                                              \
    check(valid, "the parameter of loss " + name + " cannot be " + std::to_string(x)); \
    return make;                                                                       \
  }
  MAXMARGIN_EACH_LOSS(MAXMARGIN_MAKE_LOSS)
  throw InvalidInput("there is no pointwise loss " + name);
}

std::vector<LossInfo> loss_table() {
#define MAXMARGIN_LOSS_INFO(Loss, its_name, parameter, make, valid) \
  {its_name, parameter, Loss::kOnMargins, Loss::kPiecewiseLinear, Loss::kVisitLogarithms},
  return {MAXMARGIN_EACH_LOSS(MAXMARGIN_LOSS_INFO)};
#undef MAXMARGIN_LOSS_INFO
}

bool is_on_margins(const PointwiseLoss& loss) {
  return std::visit([](const auto& f) { return std::decay_t<decltype(f)>::kOnMargins; }, loss);
}
bool is_piecewise_linear(const PointwiseLoss& loss) {
  return std::visit([](const auto& f) { return std::decay_t<decltype(f)>::kPiecewiseLinear; },
                    loss);
}

Interval domain_of(const PointwiseLoss& loss) {
  return std::visit(
      [](const auto& f) -> Interval { return {f.clip(-kUnbounded), f.clip(kUnbounded)}; }, loss);
}

double middle_slope(const PointwiseLoss& loss) {
  const Interval domain = domain_of(loss);
  return is_piecewise_linear(loss) ? 0.5 * (domain.low + domain.high) : 0.0;
}

double evaluate(const PointwiseSum& sum, const double* p, double* subgrad, Pool& pool) {
  return sum_rows<double>(sum, pool, [&](const auto& f, Range range) {
    return evaluate_part(f, sum.q, sum.t, p, range, subgrad);
  });
}

double value_along(const PointwiseSum& sum, const double* p, const double* dp, double k,
                   Pool& pool) {
  return sum_rows<double>(sum, pool, [&](const auto& f, Range range) {
    return value_along_part(f, sum.q, sum.t, p, dp, k, range);
  });
}

DualSum dual_sum(const PointwiseSum& sum, const double* u, Pool& pool) {
  return sum_rows<DualSum>(
      sum, pool, [&](const auto& f, Range range) { return dual_part(f, sum.q, sum.t, u, range); });
}

Along along(const PointwiseSum& sum, const double* nu, double s, const double* p, const double* dp,
            double k, Pool& pool) {
  return sum_rows<Along>(sum, pool, [&](const auto& f, Range range) {
    return along_part(f, sum.q, sum.t, nu, s, p, dp, k, range);
  });
}

void slopes_along(const PointwiseSum& sum, const double* nu, double s, const double* p,
                  const double* dp, const double* ks, std::size_t count, double* slopes,
                  Pool& pool) {
  const std::size_t parts = pieces(sum.n);
  std::vector<double> found(parts * count);
  std::visit(
      [&](const auto& f) {
        pool.run(parts, [&](std::size_t part) {
          const Range range = part_of(sum.n, parts, part);
          for (std::size_t j = 0; j < count; ++j)
            found[part * count + j] = along_part(f, sum.q, sum.t, nu, s, p, dp, ks[j], range).slope;
        });
      },
      sum.loss);
  std::fill_n(slopes, count, 0.0);
  for (std::size_t part = 0; part < parts; ++part)
    for (std::size_t j = 0; j < count; ++j) slopes[j] += found[part * count + j];
}

double root_along(const PointwiseSum& sum, const double* nu, double s, const double* p,
                  const double* dp, double small, Pool& pool) {
  double k = 0, low = -kUnbounded, high = kUnbounded, stride = 1;
  for (int tries = 0; tries < kMostTries; ++tries) {
    const Along at = along(sum, nu, s, p, dp, k, pool);
    if (std::fabs(at.slope) <= small) break;
    (at.slope > 0 ? high : low) = k;
    double next = k - at.slope / at.curvature;
    if (!(at.curvature > 0 && next > low && next < high)) {
      if (std::isfinite(low) && std::isfinite(high)) {
        next = 0.5 * (low + high);
      } else {
        next = k - std::copysign(stride, at.slope);
        stride *= 2;
      }
    }
    if (next == k || next == low || next == high) break;
    k = next;
  }
  return k;
}

Proximal proximal(const PointwiseSum& sum, const double* nu, double s, const double* p, double* b,
                  double* h, Pool& pool) {
  return sum_rows<Proximal>(sum, pool, [&](const auto& f, Range range) {
    return proximal_part(f, sum.q, sum.t, nu, s, p, range, b, h);
  });
}

bool foretell_dual(const PointwiseSum& sum, const double* b, const double* h, const double* dp,
                   double* foretold, DualSum* dual, Pool& pool) {
  const Foretold found = sum_rows<Foretold>(sum, pool, [&](const auto& f, Range range) {
    return foretell_part(f, sum.q, sum.t, b, h, dp, range, foretold);
  });
  *dual = found.dual;
  return found.outside == 0;
}

}  // namespace maxmargin
