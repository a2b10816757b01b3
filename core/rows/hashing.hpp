// Features by hashing: a place by the low bits of a mixed key, a sign by the highest.
#pragma once
#include <cstdint>

#include "rows/packed.hpp"

namespace maxmargin {

// A bijection of 64 bits that spreads neighbours (the finaliser of splitmix64).
inline std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

inline void emit(std::uint64_t key, double value, int bits, Expanded& out) {
  const std::uint64_t h = mixed(key);
  out.indices.push_back(static_cast<std::uint32_t>(h & ((std::uint64_t{1} << bits) - 1)));
  out.values.push_back((h >> 63) != 0 ? -value : value);
}

// Adds up what fell into one place, in increasing order of places.
void merge(Expanded& out);

void to_length_one(Expanded& out);

}  // namespace maxmargin
