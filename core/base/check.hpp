// Errors of the core. The bindings turn InvalidInput into ValueError and Stopped into maxmargin's
// own.
#pragma once
#include <stdexcept>
#include <string>

namespace maxmargin {

struct InvalidInput : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Messages that have to be put together first are for what is checked once, not for each row.
inline void check(bool holds, const std::string& message) {
  if (!holds) throw InvalidInput(message);
}
inline void check(bool holds, const char* message) {
  if (!holds) throw InvalidInput(message);
}

}  // namespace maxmargin
