#include <vector>

#include "base/random.hpp"
#include "linear/cholesky.hpp"
#include "linear/growing_factor.hpp"
#include "tests/testing.hpp"

using namespace maxmargin;
using maxmargin::testing::near;

namespace {

// A positive definite matrix: A^T A + I of random A.
std::vector<double> positive_definite(std::size_t d, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> A(d * d), H(d * d);
  for (double& a : A) a = static_cast<double>(random.below(2001)) / 1000 - 1;
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = 0; j < d; ++j) {
      for (std::size_t k = 0; k < d; ++k) H[i * d + j] += A[k * d + i] * A[k * d + j];
      H[i * d + j] += i == j ? 1 : 0;
    }
  return H;
}

std::vector<double> product(const std::vector<double>& H, const std::vector<double>& x) {
  std::vector<double> b(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = 0; j < x.size(); ++j) b[i] += H[i * x.size() + j] * x[j];
  return b;
}

}  // namespace

TEST(cholesky_solves_what_it_is_given) {
  for (const std::size_t d : {std::size_t{1}, std::size_t{7}, std::size_t{130}}) {
    std::vector<double> H = positive_definite(d, d), x(d, 1.5);
    x[0] = -2;
    std::vector<double> b = product(H, x);
    Pool pool(2);
    CHECK(cholesky_solve(H.data(), d, b.data(), pool));
    for (std::size_t i = 0; i < d; ++i) CHECK(near(b[i], x[i], 1e-8));
  }
}

TEST(cholesky_says_where_there_is_no_factor) {
  std::vector<double> H = {1, 2, 2, 1}, b = {1, 1};
  Pool pool(1);
  CHECK(!cholesky_solve(H.data(), 2, b.data(), pool));
}

TEST(a_factor_that_gained_and_lost_rows_is_that_of_the_rows_left) {
  constexpr std::size_t d = 6;
  const std::vector<double> H = positive_definite(d, 11);
  GrowingFactor factor;
  for (std::size_t k = 0; k < d; ++k) {
    std::vector<double> reduced(H.begin() + static_cast<std::ptrdiff_t>(k * d),
                                H.begin() + static_cast<std::ptrdiff_t>(k * d + k));
    factor.forward(reduced);
    double pivot = H[k * d + k];
    for (const double r : reduced) pivot -= r * r;
    factor.append(reduced, pivot);
  }
  factor.remove(2);
  const std::vector<std::size_t> left = {0, 1, 3, 4, 5};
  std::vector<double> part, x = {1, -1, 2, 0.5, 3};
  for (const std::size_t i : left)
    for (const std::size_t j : left) part.push_back(H[i * d + j]);
  std::vector<double> b = product(part, x);
  factor.forward(b);
  factor.backward(b);
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(near(b[i], x[i], 1e-9));
}
