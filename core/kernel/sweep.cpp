// Compiled with the semantics of finite numbers only (see CMakeLists.txt): that is what lets a
// compiler vectorise a maximum. The callers refuse kernel values that are not finite.
#include "kernel/sweep.hpp"

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

template <bool kUnitDiagonal>
MAXMARGIN_INLINE void sweep_range(const SweepArrays& arrays, const SweepUpdate& update,
                                  std::size_t begin, std::size_t end, double ceiling, double& E,
                                  Direction& best) {
  const double d_first = update.d_first, d_second = update.d_second;
  alignas(64) float memory[2][kBlock];
  float* gains = memory[0];  // of this block
  float* kept = memory[1];   // of the block with the largest gain so far: searched once, at the end
  std::size_t best_block = end;
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
      const double ri = r[i] - (d_first * static_cast<double>(first[i]) +
                                d_second * static_cast<double>(second[i]));
      r[i] = ri;
      loss += most(0.0, c[i] * most(-ceiling, least(ri, ceiling)));
      const float g = static_cast<float>(ri);
      const float d = most(low[i], least(kUnitDiagonal ? g : g * inverse[i], high[i]));
      const float gain = d * (g - 0.5f * (kUnitDiagonal ? d : d * diagonal[i]));
      gains[i] = gain;
      top = most(top, gain);
    }
    if (top > best_gain) {
      best_gain = top;
      best_block = begin;
      std::swap(gains, kept);
    }
  }
  E += loss;
  if (best_block < end) {
    std::size_t i = 0;
    while (kept[i] != best_gain) ++i;
    best = {best_gain, static_cast<std::ptrdiff_t>(best_block + i)};
  }
}

MAXMARGIN_CLONES void sweep_unit(const SweepArrays& arrays, const SweepUpdate& update,
                                 std::size_t begin, std::size_t end, double ceiling, double& E,
                                 Direction& best) {
  sweep_range<true>(arrays, update, begin, end, ceiling, E, best);
}
MAXMARGIN_CLONES void sweep_any(const SweepArrays& arrays, const SweepUpdate& update,
                                std::size_t begin, std::size_t end, double ceiling, double& E,
                                Direction& best) {
  sweep_range<false>(arrays, update, begin, end, ceiling, E, best);
}

}  // namespace

void sweep(const SweepArrays& arrays, const SweepUpdate& update, std::size_t begin, std::size_t end,
           double ceiling, double& E, Direction& best) {
  const auto run = arrays.diagonal ? sweep_any : sweep_unit;
  run(arrays, update, begin, end, ceiling, E, best);
}

}  // namespace maxmargin
