// The only threads there are. A Pool belongs to one computation and dies with it: nothing global to
// break after a fork, nothing shared between fits that run at the same time.
//
// Tasks are numbered and cut by the size of the data, never by the number of threads, and each
// writes to its own place. So every result is the same for any number of threads.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/stop.hpp"

namespace maxmargin {

class Pool {
 public:
  // Has as many threads as asked for, but no more than most_threads(), nor than the system
  // grants: with fewer, or with the caller alone, the same results take longer. They start with the
  // first round of several tasks: a computation that has none pays for no thread.
  // stop may be null: then the tasks always run to the end.
  explicit Pool(std::int64_t threads, Stop* stop = nullptr);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int threads() const { return threads_; }
  Stop* stop() const { return stop_; }

  // Working memory kept between calls, so that a product does not ask the system for pages each
  // time.
  double* scratch(std::size_t count) {
    if (scratch_.size() < count) scratch_.resize(count);
    return scratch_.data();
  }

  // Runs task(0) .. task(count - 1), the caller taking part; the first exception is rethrown here.
  // Throws Stopped when the stop flag is raised between tasks.
  void run(std::size_t count, const std::function<void(std::size_t)>& task);

 private:
  void start_workers();
  void work();
  void take_tasks(bool is_caller);

  Stop* stop_;
  int threads_;  // the caller included
  bool started_ = false;
  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::atomic<unsigned> round_{0};
  std::atomic<std::size_t> next_{0};
  std::atomic<int> taking_part_{0};  // workers in the current round
  bool open_ = false;                // whether they may still join it
  std::size_t count_ = 0;
  const std::function<void(std::size_t)>* task_ = nullptr;
  std::exception_ptr error_;
  std::vector<double> scratch_;
  bool closing_ = false;
};

// A range of rows [begin, end).
struct Range {
  std::size_t begin, end;
};

// Cuts [0, n) into `parts` ranges of nearly equal length.
inline Range part_of(std::size_t n, std::size_t parts, std::size_t k) {
  return {n * k / parts, n * (k + 1) / parts};
}

// How many pieces a loop over n elements is cut into: a function of n alone.
inline std::size_t pieces(std::size_t n, std::size_t least = 8192, std::size_t most = 64) {
  const std::size_t k = n / least;
  return k < 1 ? 1 : (k > most ? most : k);
}

// Adds up task results of any summable type in a fixed order.
template <class Sum, class Task>
Sum sum_pieces(std::size_t n, Pool& pool, Task task) {
  const std::size_t parts = pieces(n);
  std::vector<Sum> sums(parts);
  pool.run(parts, [&](std::size_t k) { sums[k] = task(part_of(n, parts, k)); });
  Sum total{};
  for (const Sum& sum : sums) total += sum;
  return total;
}

// Number of CPUs this process may use (its affinity mask where the system has one).
int available_cpus();

// The most threads a Pool makes, the caller included: more only wait for each other.
int most_threads();

}  // namespace maxmargin
