#include "rows/thrift.hpp"

namespace maxmargin {

unsigned ThriftReader::byte() {
  if (at_ >= data_.size()) throw Incomplete("its description ends too early");
  return static_cast<unsigned char>(data_[at_++]);
}

std::uint64_t ThriftReader::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    const unsigned next = byte();
    value |= static_cast<std::uint64_t>(next & 127) << shift;
    if (next < 128) return value;
  }
  throw InvalidInput("its description has a number without end");
}

std::int64_t ThriftReader::integer() {
  const std::uint64_t zigzag = varint();
  return static_cast<std::int64_t>(zigzag >> 1) ^ -static_cast<std::int64_t>(zigzag & 1);
}

void ThriftReader::skip_bytes(std::uint64_t count) {
  if (count > data_.size() - at_) throw Incomplete("its description ends too early");
  at_ += static_cast<std::size_t>(count);
}

ThriftReader::ListHead ThriftReader::list_head() {
  const unsigned head = byte();
  const int type = static_cast<int>(head & 15);
  return {head >> 4 == 15 ? varint() : head >> 4, type};
}

// In lists and maps a truth value takes a byte. So every element takes one at least, and a huge
// count no time.
void ThriftReader::skip_element(int type) { type == yes || type == no ? (void)byte() : skip(type); }

void ThriftReader::skip(int type) {
  const Depth inside(*this);
  switch (type) {
    case yes:
    case no:
      return;
    case i8:
      return skip_bytes(1);
    case i16:
    case i32:
    case i64:
      varint();
      return;
    case real:
      return skip_bytes(8);
    case binary:
      return skip_bytes(varint());
    case list:
    case set: {
      const auto [count, element] = list_head();
      for (std::uint64_t k = 0; k < count; ++k) skip_element(element);
      return;
    }
    case map: {
      const std::uint64_t count = varint();
      const unsigned types = count ? byte() : 0;
      for (std::uint64_t k = 0; k < count; ++k) {
        skip_element(static_cast<int>(types >> 4));
        skip_element(static_cast<int>(types & 15));
      }
      return;
    }
    case structure:
      return each_field([](int, int) { return false; });
    default:
      throw InvalidInput("its description has a field of an unknown type");
  }
}

}  // namespace maxmargin
