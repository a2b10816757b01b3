// What compilers spell differently: hints to fetch memory, and products of 128 bits.
#pragma once
#include <cstdint>

#if defined(_MSC_VER)
#include <intrin.h>
#endif

namespace maxmargin {

// Memory that is read soon. A hint: it never faults.
inline void prefetch_read([[maybe_unused]] const void* at) {
#if defined(__GNUC__)
  __builtin_prefetch(at);
#elif defined(_M_X64)
  _mm_prefetch(static_cast<const char*>(at), _MM_HINT_T0);
#elif defined(_M_ARM64)
  __prefetch(at);
#endif
}

// Memory that is written soon.
inline void prefetch_write([[maybe_unused]] const void* at) {
#if defined(__GNUC__)
  __builtin_prefetch(at, 1);
#else
  prefetch_read(at);
#endif
}

// The high half of a * b.
inline std::uint64_t multiply_high(std::uint64_t a, std::uint64_t b) {
#if defined(__SIZEOF_INT128__)
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(a) * b) >> 64);
#elif defined(_MSC_VER)
  return __umulh(a, b);
#else
  const std::uint64_t low = 0xffffffffULL;
  const std::uint64_t middle = (a >> 32) * (b & low) + (((a & low) * (b & low)) >> 32);
  return (a >> 32) * (b >> 32) + (middle >> 32) + (((a & low) * (b >> 32) + (middle & low)) >> 32);
#endif
}

}  // namespace maxmargin
