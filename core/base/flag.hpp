// A word from one thread to another that is looked at often: no lock, no waiting.
#pragma once
#include <atomic>

namespace maxmargin {

class Flag {
 public:
  void set(bool value) { value_.store(value, std::memory_order_relaxed); }
  bool is_set() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> value_{false};
};

}  // namespace maxmargin
