// Compiled with the semantics of finite numbers only (see CMakeLists.txt): that is what lets a
// compiler vectorise a maximum. The callers refuse kernel values that are not finite.
#include "kernel/sweep.hpp"

#include <cstdint>
#include <utility>

#include "base/clones.hpp"

namespace maxmargin {

namespace {

constexpr std::size_t kBlock = 256;

template <class T>
MAXMARGIN_INLINE T least(T x, T y) {
  return x < y ? x : y;
}
template <class T>
MAXMARGIN_INLINE T most(T x, T y) {
  return x > y ? x : y;
}

// The first place where `value` stands. Taking the least of all places is vectorised where leaving
// at the first would not be.
MAXMARGIN_INLINE std::ptrdiff_t place(const float* x, std::size_t n, float value) {
  constexpr std::int32_t nowhere = 1 << 30;
  std::int32_t least_place = nowhere;
#pragma omp simd reduction(min : least_place)
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(n); ++i)
    least_place = least(least_place, x[i] == value ? i : nowhere);
  return least_place;
}

template <bool kUnitDiagonal, bool kLoss>
MAXMARGIN_INLINE void sweep_range(const SweepArrays& arrays, const SweepUpdate& update,
                                  std::size_t begin, std::size_t end, double ceiling, double* E,
                                  Direction& best) {
  const double d_first = update.d_first, d_second = update.d_second;
  alignas(64) float memory[2][kBlock];
  float* gains = memory[0];  // of this block
  float* kept = memory[1];   // of the block with the largest gain so far: searched once, at the end
  std::size_t best_block = end, kept_length = 0;
  float best_gain = best.gain;
  double loss = 0;
  for (; begin < end; begin += kBlock) {
    const std::size_t length = end - begin < kBlock ? end - begin : kBlock;
    const float* first = update.first + begin;
    const float* second = update.second + begin;
    double* r = arrays.r + begin;
    const double* c = arrays.c + begin;
    const float* low = arrays.low + begin;
    const float* high = arrays.high + begin;
    const float* diagonal = kUnitDiagonal ? nullptr : arrays.diagonal + begin;
    const float* inverse = kUnitDiagonal ? nullptr : arrays.inverse + begin;
    float top = 0;
#pragma omp simd reduction(max : top) reduction(+ : loss)
    for (std::size_t i = 0; i < length; ++i) {
      // Two products subtracted one after the other: two fused operations instead of three.
      double ri = r[i] - d_first * static_cast<double>(first[i]);
      ri -= d_second * static_cast<double>(second[i]);
      r[i] = ri;
      if constexpr (kLoss) loss += most(0.0, c[i] * most(-ceiling, least(ri, ceiling)));
      const float g = static_cast<float>(ri);
      const float d = most(low[i], least(kUnitDiagonal ? g : g * inverse[i], high[i]));
      const float gain = d * (g - 0.5f * (kUnitDiagonal ? d : d * diagonal[i]));
      gains[i] = gain;
      top = most(top, gain);
    }
    if (top > best_gain) {
      best_gain = top;
      best_block = begin;
      kept_length = length;
      std::swap(gains, kept);
    }
  }
  if constexpr (kLoss) *E += loss;
  if (best_block < end)
    best = {best_gain,
            static_cast<std::ptrdiff_t>(best_block) + place(kept, kept_length, best_gain)};
}

#define MAXMARGIN_SWEEP(name, unit_diagonal, with_loss)                                     \
  MAXMARGIN_CLONES void name(const SweepArrays& arrays, const SweepUpdate& update,          \
                             std::size_t begin, std::size_t end, double ceiling, double* E, \
                             Direction& best) {                                             \
    sweep_range<unit_diagonal, with_loss>(arrays, update, begin, end, ceiling, E, best);    \
  }
MAXMARGIN_SWEEP(sweep_unit, true, false)
MAXMARGIN_SWEEP(sweep_unit_loss, true, true)
MAXMARGIN_SWEEP(sweep_any, false, false)
MAXMARGIN_SWEEP(sweep_any_loss, false, true)
#undef MAXMARGIN_SWEEP

MAXMARGIN_CLONES void gains_of_regression(const RegressionSweep& a, const SweepUpdate& update,
                                          std::size_t begin, std::size_t end, float* gains) {
  const double tube = a.tube;
#pragma omp simd
  for (std::size_t i = begin; i < end; ++i) {
    double r = a.r[i];
    r -= update.d_first * static_cast<double>(update.first[i]);
    r -= update.d_second * static_cast<double>(update.second[i]);
    a.r[i] = r;
    const double b = a.beta[i], k = a.diagonal[i], v = r + k * b;
    const double up = most(0.0, least((v - tube) * a.inverse_above[i], a.high[i]));
    const double down = least(0.0, most((v + tube) * a.inverse_below[i], a.low[i]));
    const double moved = v > 0 ? up : down, d = moved - b;
    const double old_bend = b < 0 ? a.bend_below[i] : a.bend_above[i];
    const double new_bend = v > 0 ? a.bend_above[i] : a.bend_below[i];
    const double size = b < 0 ? -b : b, new_size = moved < 0 ? -moved : moved;
    const double rise =
        new_size * (tube + 0.5 * new_bend * new_size) - size * (tube + 0.5 * old_bend * size);
    gains[i - begin] = static_cast<float>(d * (r - 0.5 * d * k) - rise);
  }
}

}  // namespace

void sweep_regression(const RegressionSweep& arrays, const SweepUpdate& update, std::size_t begin,
                      std::size_t end, Direction& best) {
  alignas(64) float gains[kBlock];
  for (; begin < end; begin += kBlock) {
    const std::size_t length = end - begin < kBlock ? end - begin : kBlock;
    gains_of_regression(arrays, update, begin, begin + length, gains);
    float top = 0;
#pragma omp simd reduction(max : top)
    for (std::size_t i = 0; i < length; ++i) top = most(top, gains[i]);
    if (top > best.gain)
      best = {top, static_cast<std::ptrdiff_t>(begin) + place(gains, length, top)};
  }
}

void sweep(const SweepArrays& arrays, const SweepUpdate& update, std::size_t begin, std::size_t end,
           double ceiling, double* E, Direction& best) {
  const auto run =
      arrays.diagonal ? (E ? sweep_any_loss : sweep_any) : (E ? sweep_unit_loss : sweep_unit);
  run(arrays, update, begin, end, ceiling, E, best);
}

}  // namespace maxmargin
