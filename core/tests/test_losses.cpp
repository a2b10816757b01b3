#include <algorithm>
#include <vector>

#include "base/random.hpp"
#include "losses/order.hpp"
#include "losses/pairs.hpp"
#include "losses/rank_counters.hpp"
#include "tests/testing.hpp"

using namespace maxmargin;
using maxmargin::testing::near;

namespace {

std::vector<double> draw(std::size_t n, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> x(n);
  for (double& value : x) value = static_cast<double>(random.below(1 << 20)) / (1 << 18) - 2;
  return x;
}

}  // namespace

TEST(counters_of_ranks_agree_with_counting) {
  constexpr std::size_t kRanks = 1000;
  RankTree<std::int32_t> tree(kRanks);
  std::vector<int> inserted(kRanks);
  Random random(5);
  for (int k = 0; k < 3000; ++k) {
    const auto rank = static_cast<std::uint32_t>(random.below(kRanks));
    tree.insert(rank, 1);
    ++inserted[rank];
  }
  int below = 0;
  for (std::uint32_t r = 0; r < kRanks; ++r) {
    CHECK(tree.below(r) == below);
    below += inserted[r];
    CHECK(tree.upto(r) == below);
  }
}

TEST(rows_are_put_in_the_order_of_their_predictions) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{100}, std::size_t{50000}}) {
    const std::vector<double> p = draw(n, n);
    std::vector<Item> items(n), spare(n);
    Pool pool(2);
    order_rows(p.data(), {n}, items.data(), spare.data(), pool);
    std::vector<double> sorted = p;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t k = 0; k < n; ++k) CHECK(items[k].value == sorted[k]);
  }
}

TEST(the_pair_loss_and_its_subgradient_are_sums_over_pairs) {
  for (const std::size_t n : {std::size_t{5}, std::size_t{40}, std::size_t{300}}) {
    const std::vector<double> p = draw(n, 7 + n);
    std::vector<double> y(n), subgradient(n), expected(n);
    Random random(n);
    for (double& target : y) target = static_cast<double>(random.below(4));
    Pool pool(2);
    PairLoss loss(n, y.data(), nullptr, 1, nullptr, pool);
    loss.set_scale(0, 1.0);
    const double R = loss.evaluate(p.data(), subgradient.data(), pool);
    double sum = 0, pairs = 0;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        if (y[i] <= y[j]) continue;
        pairs += 1;
        if (p[i] - p[j] >= 1) continue;
        sum += 1 - (p[i] - p[j]);
        expected[i] -= 1;
        expected[j] += 1;
      }
    CHECK(near(R, sum, 1e-10));
    CHECK(near(loss.value(p.data()), sum));
    CHECK(loss.pairs(0) == pairs);
    for (std::size_t i = 0; i < n; ++i) CHECK(near(subgradient[i], expected[i]));
  }
}
