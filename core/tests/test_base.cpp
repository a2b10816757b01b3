#include <cmath>
#include <numeric>
#include <set>
#include <stdexcept>
#include <vector>

#include "base/array.hpp"
#include "base/checksum.hpp"
#include "base/exponential.hpp"
#include "base/parallel.hpp"
#include "base/random.hpp"
#include "tests/testing.hpp"

using namespace maxmargin;

TEST(a_pool_runs_every_task_once) {
  for (const int threads : {1, 2, 5}) {
    Pool pool(threads);
    std::vector<int> ran(1000);
    pool.run(ran.size(), [&](std::size_t k) { ++ran[k]; });
    CHECK(std::accumulate(ran.begin(), ran.end(), 0) == 1000);
    CHECK(*std::min_element(ran.begin(), ran.end()) == 1);
  }
}

TEST(an_exception_of_a_task_reaches_the_caller_and_the_pool_lives_on) {
  Pool pool(3);
  CHECK_THROWS(std::domain_error, pool.run(50, [](std::size_t k) {
    if (k == 7) throw std::domain_error("seven");
  }));
  int last = 0;
  pool.run(1, [&](std::size_t) { last = 1; });
  CHECK(last == 1);
}

TEST(a_raised_stop_ends_a_run_between_tasks) {
  Stop stop;
  Pool pool(2, &stop);
  stop.request(StopReason::interrupted);
  CHECK_THROWS(Stopped, pool.run(10, [](std::size_t) {}));
  CHECK(stop.reason() == StopReason::interrupted);
}

TEST(parts_cover_a_range_without_overlap) {
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{17}, std::size_t{8192}})
    for (const std::size_t parts : {std::size_t{1}, std::size_t{3}, std::size_t{64}}) {
      std::size_t end = 0;
      for (std::size_t k = 0; k < parts; ++k) {
        const Range part = part_of(n, parts, k);
        CHECK(part.begin == end);
        end = part.end;
      }
      CHECK(end == n);
    }
}

TEST(sums_do_not_depend_on_the_number_of_threads) {
  std::vector<double> x(100000);
  Random random(1);
  for (double& value : x) value = static_cast<double>(random.next()) * 1e-15;
  const auto sum = [&](int threads) {
    Pool pool(threads);
    return sum_pieces<double>(x.size(), pool, [&](Range range) {
      return std::accumulate(x.begin() + static_cast<std::ptrdiff_t>(range.begin),
                             x.begin() + static_cast<std::ptrdiff_t>(range.end), 0.0);
    });
  };
  CHECK(sum(1) == sum(2));
  CHECK(sum(1) == sum(7));
}

TEST(crc32c_is_the_one_everybody_computes) {
  const char text[] = "123456789";
  CHECK(crc32c(text, 9) == 0xe3069283u);
  CHECK(crc32c_by_tables(text, 9) == 0xe3069283u);
  CHECK(crc32c(text + 4, 5, crc32c(text, 4)) == crc32c(text, 9));
}

TEST(a_seed_gives_the_same_numbers_and_a_shuffle_loses_none) {
  Random one(3), two(3), other(4);
  const std::uint64_t first = one.next();
  CHECK(first == two.next());
  CHECK(first != other.next());
  std::vector<int> values(100);
  std::iota(values.begin(), values.end(), 0);
  one.shuffle(values.data(), 50, 2);
  CHECK(std::set<int>(values.begin(), values.end()).size() == 100);
  for (std::size_t k = 0; k < 100; k += 2) CHECK(values[k] + 1 == values[k + 1]);
  for (int k = 0; k < 1000; ++k) CHECK(one.below(3) < 3);
}

TEST(an_array_keeps_what_it_has_when_it_grows_and_shrinks) {
  Array<int> numbers(3);
  for (int k = 0; k < 3; ++k) numbers[static_cast<std::size_t>(k)] = k;
  numbers.grow(100000);
  CHECK(numbers.size() == 100000);
  CHECK(numbers[2] == 2);
  numbers.shrink(2);
  CHECK(numbers.size() == 2);
  CHECK(numbers[1] == 1);
  CHECK_THROWS(std::bad_alloc, Array<double>(static_cast<std::size_t>(-1) / 4));
}

TEST(exponentials_and_logarithms_without_calls_are_those_of_the_library) {
  for (double x = 0; x > -760; x -= 0.0137) {
    const double e = std::exp(x), own = exp_of_negative(x);
    CHECK(x < -708 ? own == 0 : std::fabs(own - e) <= 1e-15 * e);
    CHECK(std::fabs(log_one_plus(own) - std::log1p(own)) <= 1e-15 * own);
  }
  for (double e = -0.5; e < 0; e += 0.00137)
    CHECK(std::fabs(log_one_plus(e) - std::log1p(e)) <= 1e-15 * std::fabs(e));
  for (double power = -307; power < 308; power += 0.0137) {
    const double x = std::pow(10, power), log = std::log(x);
    CHECK(std::fabs(log_of_positive(x) - log) <= 1e-15 * std::fabs(log) + 1e-17);
  }
  CHECK(log_of_positive(1) == 0);
}
