// Seeded random numbers, one generator per computation (xoshiro256**, seeded by splitmix64).
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/portable.hpp"

namespace maxmargin {

class Random {
 public:
  explicit Random(std::uint64_t seed) {
    for (auto& word : state_) {
      seed += 0x9e3779b97f4a7c15ULL;
      std::uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
      word = z ^ (z >> 31);
    }
  }

  std::uint64_t next() {
    const std::uint64_t result = rotate(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  // Uniform in [0, n), n >= 1 (Lemire's multiplication; the bias of 2^-64 n is of no consequence).
  std::uint64_t below(std::uint64_t n) { return multiply_high(next(), n); }

  // Puts `count` units, each of `unit` values side by side, into random order.
  template <class Value>
  void shuffle(Value* values, std::size_t count, std::size_t unit = 1) {
    for (std::size_t k = count; k > 1; --k) {
      Value* last = values + (k - 1) * unit;
      Value* other = values + below(k) * unit;
      if (other != last) std::swap_ranges(last, last + unit, other);
    }
  }

 private:
  static std::uint64_t rotate(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  std::uint64_t state_[4];
};

}  // namespace maxmargin
