#include "base/parallel.hpp"

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

#if defined(__linux__)
#include <sched.h>
#elif defined(_MSC_VER)
#include <intrin.h>
#endif

namespace maxmargin {

namespace {
// Waking a sleeping thread costs tens of microseconds, a product over a small data set not much
// more. So idle threads spin briefly between two calls before they go to sleep.
constexpr int kSpins = 4000;
constexpr int kThreadsPerCpu = 4;

inline void pause() {
#if defined(_M_X64)
  _mm_pause();
#elif defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}
}  // namespace

Pool::Pool(std::int64_t threads, Stop* stop)
    : stop_(stop),
      threads_(static_cast<int>(std::clamp<std::int64_t>(threads, 1, most_threads()))) {}

// A limit on threads or memory is no reason to fail: the caller can do all of the work.
void Pool::start_workers() {
  if (std::exchange(started_, true)) return;
  try {
    for (int k = 1; k < threads_; ++k) workers_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
  threads_ = static_cast<int>(workers_.size()) + 1;
}

Pool::~Pool() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    round_.fetch_add(1);
  }
  wake_.notify_all();
  for (auto& worker : workers_) worker.join();
}

void Pool::run(std::size_t count, const std::function<void(std::size_t)>& task) {
  if (count > 1) start_workers();
  if (workers_.empty() || count <= 1) {
    for (std::size_t k = 0; k < count; ++k) {
      if (stop_) stop_->throw_if_requested();
      task(k);
    }
    return;
  }
  {
    std::lock_guard lock(mutex_);
    task_ = &task;
    count_ = count;
    error_ = nullptr;
    next_.store(0);
    open_ = true;
    round_.fetch_add(1, std::memory_order_release);
  }
  wake_.notify_all();
  take_tasks(true);
  // A thread that has not got a CPU by now is not waited for: it will find the round closed.
  {
    std::lock_guard lock(mutex_);
    open_ = false;
  }
  for (int spin = 0; taking_part_.load(std::memory_order_acquire) > 0 && spin < kSpins; ++spin)
    pause();
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return taking_part_.load(std::memory_order_acquire) == 0; });
  task_ = nullptr;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Pool::take_tasks(bool is_caller) {
  try {
    for (;;) {
      if (stop_) {
        if (is_caller)
          stop_->throw_if_requested();
        else if (stop_->requested())
          throw Stopped();
      }
      const std::size_t k = next_.fetch_add(1);
      if (k >= count_) return;
      (*task_)(k);
    }
  } catch (...) {
    next_.store(count_);  // the others find nothing left
    std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
  }
}

void Pool::work() {
  unsigned seen = 0;
  for (;;) {
    for (int spin = 0; round_.load(std::memory_order_acquire) == seen && spin < kSpins; ++spin)
      pause();
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return round_.load() != seen; });
      seen = round_.load();
      if (closing_) return;
      if (!open_) continue;
      taking_part_.fetch_add(1, std::memory_order_relaxed);
    }
    take_tasks(false);
    std::lock_guard lock(mutex_);
    if (taking_part_.fetch_sub(1, std::memory_order_acq_rel) == 1) done_.notify_one();
  }
}

int available_cpus() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
  const unsigned count = std::thread::hardware_concurrency();
  return count ? static_cast<int>(count) : 1;
}

int most_threads() { return kThreadsPerCpu * available_cpus(); }

}  // namespace maxmargin
