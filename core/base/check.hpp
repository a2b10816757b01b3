// Errors of the core. The bindings turn InvalidInput into ValueError and Stopped into maxmargin's
// own.
#pragma once
#include <stdexcept>
#include <string>

namespace maxmargin {

struct InvalidInput : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void check(bool holds, const std::string& message) {
  if (!holds) throw InvalidInput(message);
}

}  // namespace maxmargin
