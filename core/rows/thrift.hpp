// Thrift's compact protocol, in which Parquet files describe themselves.
//
// Structs are read as generated code reads them: a field counts if it has the type expected of it,
// the last one of a number wins, and numbers wrap around. So nothing can be described to this
// reader and not to another.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.hpp"

namespace maxmargin {

class ThriftReader {
 public:
  enum Type : int { yes = 1, no, i8, i16, i32, i64, real, binary, list, set, map, structure };
  // The data end too early.
  struct Incomplete : InvalidInput {
    using InvalidInput::InvalidInput;
  };

  explicit ThriftReader(std::string_view data) : data_(data) {}
  std::size_t at() const { return at_; }

  // Calls field(number, type) for each field of a struct. It reads the value and returns true, or
  // leaves it to be skipped.
  template <class Field>
  void each_field(Field field) {
    const Depth inside(*this);
    std::int16_t number = 0;
    while (const unsigned head = byte()) {
      if (head >> 4)
        number = static_cast<std::int16_t>(number + static_cast<int>(head >> 4));
      else
        number = static_cast<std::int16_t>(integer());
      const int type = static_cast<int>(head & 15);
      if (!field(number, type)) skip(type);
    }
  }

  // Calls element() for each struct of a list.
  template <class Element>
  void each_struct(Element element) {
    const auto [count, type] = list_head();
    check(type == structure || count == 0, "its description has a list of another kind");
    for (std::uint64_t k = 0; k < count; ++k) element();
  }

  std::int64_t integer();
  std::int32_t integer32() { return static_cast<std::int32_t>(integer()); }
  void skip(int type);

 private:
  struct ListHead {
    std::uint64_t count;
    int type;
  };
  class Depth {
   public:
    explicit Depth(ThriftReader& reader) : reader_(reader) {
      check(++reader_.depth_ <= 32, "its description is nested without end");
    }
    ~Depth() { --reader_.depth_; }

   private:
    ThriftReader& reader_;
  };

  unsigned byte();
  std::uint64_t varint();
  void skip_bytes(std::uint64_t count);
  void skip_element(int type);
  ListHead list_head();

  std::string_view data_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace maxmargin
