#include "base/checksum.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__)
#include <nmmintrin.h>
#define MAXMARGIN_CRC_INSTRUCTION 1
#endif

namespace maxmargin {

namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // Castagnoli's, bits reversed
constexpr std::size_t kWord = 8;

// tables[k][b]: what byte b, followed by k zero bytes, does to the checksum.
using Tables = std::array<std::array<std::uint32_t, 256>, kWord>;

constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kPolynomial : 0);
    tables[0][b] = crc;
  }
  for (std::uint32_t b = 0; b < 256; ++b)
    for (std::size_t k = 1; k < kWord; ++k)
      tables[k][b] = (tables[k - 1][b] >> 8) ^ tables[0][tables[k - 1][b] & 0xff];
  return tables;
}

constexpr Tables kTables = make_tables();

#ifdef MAXMARGIN_CRC_INSTRUCTION
__attribute__((target("sse4.2"))) std::uint32_t by_instruction(const unsigned char* p,
                                                               std::size_t size,
                                                               std::uint32_t crc) {
  std::uint64_t wide = crc;
  for (; size >= kWord; size -= kWord, p += kWord) {
    std::uint64_t word;
    std::memcpy(&word, p, kWord);
    wide = _mm_crc32_u64(wide, word);
  }
  crc = static_cast<std::uint32_t>(wide);
  for (; size; --size) crc = _mm_crc32_u8(crc, *p++);
  return crc;
}
#endif

}  // namespace

std::uint32_t crc32c_by_tables(const void* bytes, std::size_t size, std::uint32_t before) {
  const unsigned char* p = static_cast<const unsigned char*>(bytes);
  std::uint32_t crc = ~before;
  for (; size >= kWord; size -= kWord, p += kWord) {
    std::uint32_t next = 0;
    for (std::size_t k = 0; k < kWord; ++k) {
      const unsigned byte = k < 4 ? p[k] ^ ((crc >> (8 * k)) & 0xff) : p[k];
      next ^= kTables[kWord - 1 - k][byte];
    }
    crc = next;
  }
  for (; size; --size) crc = (crc >> 8) ^ kTables[0][(crc ^ *p++) & 0xff];
  return ~crc;
}

std::uint32_t crc32c(const void* bytes, std::size_t size, std::uint32_t before) {
#ifdef MAXMARGIN_CRC_INSTRUCTION
  if (__builtin_cpu_supports("sse4.2"))
    return ~by_instruction(static_cast<const unsigned char*>(bytes), size, ~before);
#endif
  return crc32c_by_tables(bytes, size, before);
}

}  // namespace maxmargin
