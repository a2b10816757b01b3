#include "tests/testing.hpp"

int main() { return maxmargin::testing::run_all(); }
