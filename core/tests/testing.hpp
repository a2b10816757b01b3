// Tests of the core without Python: TEST names a behaviour, CHECK states what must hold.
// A program of them runs all, says which expression failed where, and ends with 1 if any did.
#pragma once
#include <cmath>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace maxmargin::testing {

struct Case {
  const char* name;
  void (*run)();
};

inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

inline int& failures() {
  static int count = 0;
  return count;
}

struct Registration {
  Registration(const char* name, void (*run)()) { cases().push_back({name, run}); }
};

inline void fail(const char* file, int line, const std::string& what) {
  ++failures();
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
}

inline bool near(double found, double expected, double tolerance = 1e-12) {
  return std::abs(found - expected) <= tolerance * (1 + std::abs(expected));
}

inline int run_all() {
  for (const Case& test : cases()) {
    const int before = failures();
    try {
      test.run();
    } catch (const std::exception& error) {
      fail(test.name, 0, std::string("threw ") + error.what());
    }
    if (failures() > before) std::fprintf(stderr, "FAILED %s\n", test.name);
  }
  std::printf("%zu tests of the core, %d failures\n", cases().size(), failures());
  return failures() == 0 ? 0 : 1;
}

}  // namespace maxmargin::testing

#define TEST(name)                                                                   \
  static void name();                                                                \
  static const ::maxmargin::testing::Registration registration_##name(#name, &name); \
  static void name()
#define CHECK(...) \
  if (!(__VA_ARGS__)) ::maxmargin::testing::fail(__FILE__, __LINE__, "does not hold: " #__VA_ARGS__)
#define CHECK_THROWS(exception, ...)                                                               \
  try {                                                                                            \
    __VA_ARGS__;                                                                                   \
    ::maxmargin::testing::fail(__FILE__, __LINE__, "did not throw " #exception ": " #__VA_ARGS__); \
  } catch (const exception&) {                                                                     \
  }
