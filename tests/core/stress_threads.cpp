// The threaded core under ThreadSanitizer (`make tsan`): a reader that packs blocks, a trainer
// whose problems run on a pool, a cache that is too small, products on the same pool, early ends.
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/random.hpp"
#include "linear/cached_loops.hpp"
#include "linear/products.hpp"
#include "rows/features.hpp"

using namespace maxmargin;

namespace {

constexpr std::size_t kRows = 4000, kWidth = 12, kBlock = 250, kClasses = 4;

// Blocks on their way from the reader to the trainer; either side may close it.
class Channel {
 public:
  bool put(PackedBlock block) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closed_ || blocks_.size() < 2; });
    if (closed_) return false;
    blocks_.push_back(std::move(block));
    ready.set(true);
    changed_.notify_all();
    return true;
  }
  std::optional<PackedBlock> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closed_ || !blocks_.empty(); });
    if (blocks_.empty()) return std::nullopt;
    std::optional<PackedBlock> block(std::move(blocks_.front()));
    blocks_.pop_front();
    ready.set(closed_ || !blocks_.empty());
    changed_.notify_all();
    return block;
  }
  void close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
    ready.set(true);
    changed_.notify_all();
  }

  Flag ready;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<PackedBlock> blocks_;
  bool closed_ = false;
};

struct Data {
  std::vector<float> values = std::vector<float>(kRows * kWidth);
  std::vector<std::int32_t> codes = std::vector<std::int32_t>(kRows);
  std::vector<double> costs = std::vector<double>(kRows, 0.1);
  Data() {
    Random random(1);
    for (auto& value : values) value = static_cast<float>(random.below(2000)) / 1000 - 1;
    for (std::size_t i = 0; i < kRows; ++i)
      codes[i] = static_cast<std::int32_t>(values[i * kWidth] > 0 ? i % kClasses : 0);
  }
  Rows rows(std::size_t first, std::size_t n) const {
    DenseRows<float> view{Shape{n, kWidth, 1.0}, values.data() + first * kWidth, kWidth};
    return view;
  }
};

// One run; its w tell whether threads changed the answer.
std::vector<double> train(const Data& data, int threads, int passes, int stop_after) {
  Stop stop;
  Pool pool(threads, &stop);
  Format format{Form::dense32, kWidth, 1.0, nullptr};
  std::vector<double> w(kClasses * format.width()), alpha(kClasses * kRows);
  CachedLoops loops(format, kRows, kClasses, 60000, 7);
  for (std::size_t k = 0; k < kClasses; ++k)
    loops.set_problem(k, Hinge{}, static_cast<std::int32_t>(k), {&alpha[k * kRows], nullptr},
                      &w[k * format.width()]);
  Channel channel;
  std::thread reader([&] {
    for (int pass = 0; pass < passes; ++pass)
      for (std::size_t first = 0; first < kRows; first += kBlock)
        if (!channel.put(PackedBlock::of_rows(data.rows(first, kBlock),
                                              static_cast<std::int64_t>(first),
                                              {&data.costs[first], &data.codes[first]}, format)))
          return;
    channel.close();
  });
  int seen = 0;
  try {
    loops.start_pass();
    while (auto block = channel.take()) {
      loops.consume(*block, pool);
      loops.sweep(500, pool);
      // What is swept while waiting is up to the clock: in runs whose answers are not compared.
      loops.sweep_while({100, 1000, 0.0, 1.0}, stop_after < 0 ? nullptr : &channel.ready, pool);
      if (++seen == stop_after) stop.request(StopReason::interrupted);
    }
    CachedLoops::Line line;
    std::vector<double> losses(kClasses * CachedLoops::kLine.size());
    const std::vector<double> frozen = w;  // a gap check sums w afresh
    for (std::size_t k = 0; k < kClasses; ++k) {
      line.from.push_back(&frozen[k * format.width()]);
      line.to.push_back(&frozen[k * format.width()]);
    }
    loops.start_check();
    loops.check_gap(PackedBlock::of_rows(data.rows(0, kRows), 0,
                                         {data.costs.data(), data.codes.data()}, format),
                    line, losses.data(), pool);
    loops.end_check();
  } catch (const Stopped&) {
  }
  channel.close();
  reader.join();
  return w;
}

}  // namespace

int main() {
  const Data data;
  const std::vector<double> one = train(data, 1, 4, -1);
  for (int threads = 2; threads <= 4; ++threads)
    if (train(data, threads, 4, -1) != one) {
      std::puts("the answer depends on the number of threads");
      return EXIT_FAILURE;
    }
  for (int stop_after = 1; stop_after < 20; stop_after += 3) train(data, 3, 4, stop_after);
  Pool pool(4);
  std::vector<double> p(kRows), w(kWidth + 1, 0.5), a(kWidth + 1);
  for (int k = 0; k < 200; ++k) {
    predict(data.rows(0, kRows), w.data(), p.data(), pool);
    combine(data.rows(0, kRows), p.data(), a.data(), pool);
  }
  std::puts("no race was seen, and threads did not change the answer");
  return EXIT_SUCCESS;
}
