#include "losses/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.hpp"
#include "base/clones.hpp"
#include "base/exponential.hpp"

namespace maxmargin {

namespace {

constexpr int kNewtonSteps = 100;
constexpr double kRounding = 1e-13;  // of a sum over rows, relative
constexpr double kSlopeLeft = 1e-10;
constexpr double kShortest = 1e-10;     // step, before the search gives up
constexpr double kArmijo = 1e-4;        // share of the rate that a step must keep
constexpr double kRidge = 1e-12;        // so that the 2 x 2 system always has a solution
constexpr double kLargestLogOdds = 30;  // beyond, a probability is 0 or 1 in float64, or nearly

// The objective at A, B with its slope and curvature.
struct Point {
  double A = 0, B = 0;
  double value = 0, gA = 0, gB = 0, hAA = 0, hAB = 0, hBB = 0;
};

// x are the scores, of mean 0 and deviation 1.
MAXMARGIN_CLONES void evaluate(const double* x, const double* t, const double* s, std::size_t n,
                               Point& at) {
  const double A = at.A, B = at.B;
  double value = 0, gA = 0, gB = 0, hAA = 0, hAB = 0, hBB = 0;
#pragma omp simd reduction(+ : value, gA, gB, hAA, hAB, hBB)
  for (std::size_t i = 0; i < n; ++i) {
    const double z = A * x[i] + B, e = exp_of_negative(-std::fabs(z));
    const double p = (z > 0 ? 1.0 : e) / (1 + e);
    value += s[i] * (std::max(z, 0.0) + log_one_plus(e) - t[i] * z);
    const double slope = s[i] * (p - t[i]), bend = s[i] * p * (1 - p);
    gA += slope * x[i];
    gB += slope;
    hAA += bend * x[i] * x[i];
    hAB += bend * x[i];
    hBB += bend;
  }
  at = {A, B, value, gA, gB, hAA + kRidge, hAB, hBB + kRidge};
}

}  // namespace

SigmoidMap fit_sigmoid(const double* f, const double* t, const double* s, std::size_t n) {
  double total = 0, mean = 0, prior = 0, variance = 0;
  for (std::size_t i = 0; i < n; ++i) {
    total += s[i];
    mean += s[i] * f[i];
    prior += s[i] * t[i];
  }
  check(total > 0, "the weights of a calibration add up to 0");
  mean /= total;
  prior /= total;
  for (std::size_t i = 0; i < n; ++i) variance += s[i] * (f[i] - mean) * (f[i] - mean);
  const double scale = std::sqrt(variance / total), B = std::log(prior / (1 - prior));
  if (!(scale > 1e-12 * std::max(std::fabs(mean), 1e-300))) return {0.0, B, 0};
  std::vector<double> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = (f[i] - mean) / scale;
  Point at{0.0, B};
  evaluate(x.data(), t, s, n, at);
  int evaluations = 1;
  for (int k = 0; k < kNewtonSteps; ++k) {
    if (std::max(std::fabs(at.gA), std::fabs(at.gB)) <= kSlopeLeft * total) break;
    const double determinant = at.hAA * at.hBB - at.hAB * at.hAB;
    const double dA = (at.hAB * at.gB - at.hBB * at.gA) / determinant;
    const double dB = (at.hAB * at.gA - at.hAA * at.gB) / determinant;
    const double rate = at.gA * dA + at.gB * dB;
    if (-rate <= kRounding * at.value) break;  // the value can no longer tell better from worse
    double step = 1;
    Point next;
    do {
      next = {at.A + step * dA, at.B + step * dB};
      evaluate(x.data(), t, s, n, next);
      ++evaluations;
    } while (!(next.value <= at.value + kArmijo * step * rate) && (step /= 2) > kShortest);
    if (step <= kShortest) break;
    at = next;
  }
  return {at.A / scale, at.B - at.A * mean / scale, evaluations};
}

IsotonicMap fit_isotonic(const double* f, const double* t, const double* s, std::size_t n) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [f](std::size_t a, std::size_t b) { return f[a] != f[b] ? f[a] < f[b] : a < b; });
  struct Block {
    double first, last, weight, sum;
    double level() const { return sum / weight; }
  };
  std::vector<Block> blocks;
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t i = order[k];
    Block block{f[i], f[i], s[i], s[i] * t[i]};
    for (; k + 1 < n && f[order[k + 1]] == block.first; ++k) {
      block.weight += s[order[k + 1]];
      block.sum += s[order[k + 1]] * t[order[k + 1]];
    }
    for (; !blocks.empty() && blocks.back().level() >= block.level(); blocks.pop_back()) {
      block.first = blocks.back().first;
      block.weight += blocks.back().weight;
      block.sum += blocks.back().sum;
    }
    blocks.push_back(block);
  }
  IsotonicMap map;
  for (const Block& block : blocks) {
    const double p = block.level(), z = std::log(p / (1 - p));
    const double value = std::clamp(z, -kLargestLogOdds, kLargestLogOdds);
    map.knots.push_back(block.first);
    map.values.push_back(value);
    if (block.last == block.first) continue;
    map.knots.push_back(block.last);
    map.values.push_back(value);
  }
  return map;
}

}  // namespace maxmargin
