// CRC-32C (Castagnoli): tells a damaged block of a file from a whole one.
#pragma once
#include <cstddef>
#include <cstdint>

namespace maxmargin {

// The checksum of `size` bytes, or of all bytes before them too if `before` is the checksum of
// those. By the processor's own instruction where there is one, else by tables.
std::uint32_t crc32c(const void* bytes, std::size_t size, std::uint32_t before = 0);

// By tables alone: what processors without the instruction use.
std::uint32_t crc32c_by_tables(const void* bytes, std::size_t size, std::uint32_t before = 0);

}  // namespace maxmargin
