// Exponentials and logarithms for loops over rows: without branches, calls or tables, so that a
// compiler works on several rows at a time. Exact but for the last digits.
#pragma once
#include <bit>
#include <cstdint>

#include "base/clones.hpp"

namespace maxmargin {

// e^x for x <= 0; 0 below -708, where e^x leaves the normal numbers.
MAXMARGIN_INLINE double exp_of_negative(double x) {
  constexpr double log2_e = 1.4426950408889634;
  constexpr double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
  constexpr double to_integer = 6755399441055744.0;  // 1.5 * 2^52: a sum has no digits behind it
  const bool vanishes = x < -708;
  x = vanishes ? 0.0 : x;
  const double shifted = x * log2_e + to_integer, k = shifted - to_integer;
  const double y = (x - k * ln2_high) - k * ln2_low, z = y * y;  // |y| <= ln(2) / 2
  const double even =
      1.0 +
      z * (1.0 / 2 +
           z * (1.0 / 24 +
                z * (1.0 / 720 + z * (1.0 / 40320 + z * (1.0 / 3628800 + z * (1.0 / 479001600))))));
  const double odd =
      1.0 + z * (1.0 / 6 +
                 z * (1.0 / 120 +
                      z * (1.0 / 5040 +
                           z * (1.0 / 362880 + z * (1.0 / 39916800 + z * (1.0 / 6227020800.0))))));
  const std::uint64_t exponent = (std::bit_cast<std::uint64_t>(shifted) << 52) + (1023ULL << 52);
  return vanishes ? 0.0 : (even + y * odd) * std::bit_cast<double>(exponent);
}

// log(1 + e) for -1/2 <= e <= 1, small ones to all their digits: 2 artanh(z), z = e / (2 + e),
// which is 1/3 from 0 at most.
MAXMARGIN_INLINE double log_one_plus(double e) {
  const double z = e / (2.0 + e), t = z * z, t2 = t * t;
  const double even =
      1.0 +
      t2 * (1.0 / 5 +
            t2 * (1.0 / 9 +
                  t2 * (1.0 / 13 + t2 * (1.0 / 17 + t2 * (1.0 / 21 + t2 * (1.0 / 25 + t2 / 29))))));
  const double odd =
      1.0 / 3 +
      t2 * (1.0 / 7 +
            t2 * (1.0 / 11 +
                  t2 * (1.0 / 15 + t2 * (1.0 / 19 + t2 * (1.0 / 23 + t2 * (1.0 / 27 + t2 / 31))))));
  return 2.0 * z * (even + t * odd);
}

// log x for a normal x > 0: that of 2^k and of a rest between sqrt(1/2) and sqrt(2).
MAXMARGIN_INLINE double log_of_positive(double x) {
  constexpr double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
  constexpr double to_integer = 4503599627370496.0;  // 2^52: its last bits are an integer
  const std::uint64_t to_root =
      std::bit_cast<std::uint64_t>(1.0) - std::bit_cast<std::uint64_t>(0.70710678118654752440);
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x), raised = (bits + to_root) >> 52;
  const double rest = std::bit_cast<double>(bits - (raised << 52) + (1023ULL << 52));
  const double k =
      std::bit_cast<double>(raised | std::bit_cast<std::uint64_t>(to_integer)) - to_integer - 1023;
  return k * ln2_high + (log_one_plus(rest - 1) + k * ln2_low);
}

}  // namespace maxmargin
