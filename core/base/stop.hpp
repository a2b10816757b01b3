// A request to end early: by the user (interrupt), by the clock or by a callback. Passed to every
// long loop; there is no global one. Threads other than the caller's read only the flag; the
// calling thread also looks at the clock and runs `hook`, which lets the embedding language handle
// its signals.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>

namespace maxmargin {

enum class StopReason : int { none = 0, interrupted = 1, time = 2, callback = 3 };

struct Stopped : std::runtime_error {
  Stopped() : std::runtime_error("stopped before the end") {}
};

class Stop {
 public:
  using Clock = std::chrono::steady_clock;

  void request(StopReason reason) {
    int none = 0;
    reason_.compare_exchange_strong(none, static_cast<int>(reason));
  }
  void set_deadline(double seconds_from_now) {
    constexpr double century = 3e9;  // longer ones would overflow the clock
    has_deadline_ = seconds_from_now < century;
    if (has_deadline_)
      deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(seconds_from_now));
  }
  void set_hook(std::function<void()> hook) { hook_ = std::move(hook); }

  StopReason reason() const { return static_cast<StopReason>(reason_.load()); }
  bool requested() const { return reason_.load(std::memory_order_relaxed) != 0; }

  // For the calling thread, at most every few milliseconds of work: true if the loop should end.
  bool poll() {
    if (requested()) return true;
    const auto now = Clock::now();
    if (has_deadline_ && now >= deadline_) request(StopReason::time);
    if (hook_ && now >= next_hook_) {
      next_hook_ = now + std::chrono::milliseconds(20);
      hook_();
    }
    return requested();
  }
  void throw_if_requested() {
    if (poll()) throw Stopped();
  }

 private:
  std::atomic<int> reason_{0};
  bool has_deadline_ = false;
  Clock::time_point deadline_{};
  Clock::time_point next_hook_{};
  std::function<void()> hook_;
};

}  // namespace maxmargin
