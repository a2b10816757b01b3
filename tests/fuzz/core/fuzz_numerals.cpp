// Numerals: the short way gives what std::from_chars gives, to the bit.
#include <string>

#include "fuzz.hpp"
#include "rows/numerals.hpp"

using namespace maxmargin;

namespace {

template <class Value>
void compare(const std::string& text) {
  const char *begin = text.data(), *end = begin + text.size();
  Value found{}, wanted{};
  const char* rest = read_number(begin, end, found);
  const char* first = *begin == '+' && begin[1] != '-' && begin[1] != '+' ? begin + 1 : begin;
  const auto [stop, error] = std::from_chars(first, end, wanted);
  if (error == std::errc::result_out_of_range) return;  // zero or infinity: a rule of our own
  if (error == std::errc::invalid_argument) {
    require(rest == nullptr, "what the library refuses is refused");
    return;
  }
  if (wanted != wanted || wanted - wanted != 0) return;  // "inf" and "nan", with or without a sign
  require(rest == stop, "both end at the same place");
  require(std::memcmp(&found, &wanted, sizeof found) == 0, "both read the same number");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(bytes), size);
  text.push_back('\n');  // the caller's promise: no numeral ends with the text
  compare<double>(text);
  compare<float>(text);
  return 0;
}
