// Decimal numerals read exactly as std::from_chars reads them, faster where numerals are short.
//
//   value = m 10^k,   m the digits as an integer, k the exponent less the digits after the point
//
// For m <= 2^53 and |k| <= 22 both m and 10^|k| are doubles, so one multiplication or division
// gives the double nearest to the numeral (Clinger 1990). Rounding that double to float is right as
// well, unless it lies exactly half way between two floats, where the digits must be looked at
// again.
#pragma once
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/clones.hpp"

namespace maxmargin {

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

namespace numerals {

inline constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                          1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                          1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Whether a numeral outside the range of its type is so because it is near zero.
inline bool is_tiny(const char* p, const char* end) {
  std::int64_t exponent = 0;  // of the first digit that is not 0
  bool started = false, after_point = false;
  for (; p < end && (is_digit(*p) || *p == '.' || *p == '-'); ++p) {
    if (*p == '.') after_point = true;
    if (!is_digit(*p)) continue;
    started = started || *p != '0';
    if (started && !after_point) ++exponent;
    if (!started && after_point) --exponent;
  }
  if (p < end && (*p == 'e' || *p == 'E')) {
    ++p;
    const bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) ++p;
    std::int64_t power = 0;
    for (; p < end && is_digit(*p); ++p)
      if (power < (std::int64_t{1} << 50)) power = 10 * power + (*p - '0');
    exponent += negative ? -power : power;
  }
  return exponent < 0;
}

template <class Value>
const char* read_by_library(const char* p, const char* end, Value& value) {
  if (*p == '+' && (is_digit(p[1]) || p[1] == '.')) ++p;
  const auto [rest, error] = std::from_chars(p, end, value);
  if (error == std::errc::invalid_argument) return nullptr;
  if (error == std::errc::result_out_of_range) {
    value = is_tiny(p, rest) ? Value(0) : std::numeric_limits<Value>::infinity();
    if (*p == '-') value = -value;
  }
  return rest;
}

// Whether casting x to float rounds twice in the same direction (see the head of this file).
inline bool rounds_once(double x) {
  std::uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return (bits & 0x1fffffff) != 0x10000000;
}

}  // namespace numerals

// Reads the numeral at p, which must be followed by a character that belongs to no numeral before
// `end`. Returns where it ends, or null if there is none. Numerals too large for Value give
// infinity, too small ones zero; "inf" and "nan" are read as what they say.
template <class Value>
MAXMARGIN_INLINE const char* read_number(const char* const begin, const char* end, Value& value) {
  const char* p = begin;
  const bool negative = *p == '-';
  if (negative || *p == '+') ++p;

  std::uint64_t m = 0;
  const char* const whole = p;
  for (; is_digit(*p); ++p) m = 10 * m + static_cast<std::uint64_t>(*p - '0');
  std::ptrdiff_t digits = p - whole, k = 0;
  if (*p == '.') {
    const char* const fraction = ++p;
    for (; is_digit(*p); ++p) m = 10 * m + static_cast<std::uint64_t>(*p - '0');
    k = fraction - p;
    digits -= k;
  }
  if (digits == 0 || digits > 19) return numerals::read_by_library(begin, end, value);
  if ((*p | 0x20) == 'e') {
    const bool divides = p[1] == '-';
    const char* q = p + 1 + (divides || p[1] == '+');
    const char* const exponent = q;
    std::ptrdiff_t power = 0;
    for (; is_digit(*q) && q - exponent < 4; ++q) power = 10 * power + (*q - '0');
    if (q == exponent || is_digit(*q)) return numerals::read_by_library(begin, end, value);
    k += divides ? -power : power;
    p = q;
  }
  if (m > (std::uint64_t{1} << 53) || k < -22 || k > 22)
    return numerals::read_by_library(begin, end, value);

  double x = static_cast<double>(m);
  if (k < 0) x /= numerals::kPowersOfTen[-k];
  if (k > 0) x *= numerals::kPowersOfTen[k];
  if constexpr (std::is_same_v<Value, float>)
    if (!numerals::rounds_once(x)) return numerals::read_by_library(begin, end, value);
  value = static_cast<Value>(negative ? -x : x);
  return p;
}

}  // namespace maxmargin
