// Fails every allocation and every thread start in turn (`make asan`): each path of the core ends
// in bad_alloc or in the answer, nothing leaks, and the next run finds nothing amiss.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "kernel/rows.hpp"
#include "linear/cholesky.hpp"
#include "linear/gram.hpp"
#include "linear/products.hpp"
#include "linear/reduced_qp.hpp"
#include "linear/row_sets.hpp"
#include "losses/kinks.hpp"
#include "losses/pairs.hpp"
#include "losses/tables.hpp"
#include "rows/fasta.hpp"
#include "rows/features.hpp"
#include "rows/svmlight.hpp"
#include "rows/svmlight_scan.hpp"

using namespace maxmargin;

// ---------------------------------------------------------------- faults

namespace {

// Which of the events to come fails: the first one or, if it lasts, that and all after it.
class Fault {
 public:
  void arm(long which, bool lasts) {
    lasts_ = lasts;
    left_ = which;
  }
  void disarm() { left_ = kNever; }
  bool strikes() {
    if (left_.load() == kNever) return false;
    const long left = left_.fetch_sub(1);
    return left == 1 || (lasts_ && left < 1);
  }
  bool has_struck() const { return left_.load() < 1; }

 private:
  static constexpr long kNever = 1L << 60;
  std::atomic<long> left_{kNever};
  bool lasts_ = false;
};

Fault allocations, thread_starts;

}  // namespace

// The linker sends calls of malloc by the core here.
extern "C" void* __real_malloc(std::size_t size);
extern "C" void* __wrap_malloc(std::size_t size) {
  return allocations.strikes() ? nullptr : __real_malloc(size);
}

void* operator new(std::size_t size) {
  if (!allocations.strikes())
    if (void* memory = __real_malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocations.strikes() ? nullptr : __real_malloc(size ? size : 1);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  void* memory = nullptr;
  if (!allocations.strikes() &&
      posix_memalign(&memory, static_cast<std::size_t>(alignment), size ? size : 1) == 0)
    return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*start)(void*), void* argument) noexcept {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  return thread_starts.strikes() ? EAGAIN : create(thread, attributes, start, argument);
}

// ---------------------------------------------------------------- paths

namespace {

constexpr std::size_t kRows = 300, kWidth = 6;

struct Data {
  std::vector<double> x, q, p, dp, y;
  std::vector<std::uint8_t> positive;
  std::string text;
  int file = memfd_create("text", 0);
  Data() {
    Random random(1);
    const auto draw = [&] { return static_cast<double>(random.below(2001)) / 1000 - 1; };
    for (std::size_t i = 0; i < kRows * kWidth; ++i) x.push_back(draw());
    for (std::size_t i = 0; i < kRows; ++i) {
      q.push_back(i % 2 ? 1.0 : -1.0);
      p.push_back(draw());
      dp.push_back(draw());
      y.push_back(static_cast<double>(i % 20));
      positive.push_back(i % 3 == 0);
      text += "1 qid:" + std::to_string(i / 10) + " 1:0.5 " + std::to_string(2 + i) + ":-2e-3\n";
    }
    if (write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) std::abort();
  }
  Rows rows() const { return DenseRows<double>{Shape{kRows, kWidth, 1.0}, x.data(), kWidth}; }
};

using Answer = std::vector<double>;

Answer products(const Data& data, Pool& pool) {
  Answer a(kWidth + 1), p(kRows), H((kWidth + 1) * (kWidth + 1));
  combine(data.rows(), data.q.data(), a.data(), pool);
  predict(data.rows(), a.data(), p.data(), pool);
  const std::vector<double> h(kRows, 1.0);
  gram(data.rows(), h.data(), 1, GramUse::direction, H.data(), pool);
  cholesky_solve(H.data(), kWidth + 1, a.data(), pool);
  a.insert(a.end(), p.begin(), p.end());
  return a;
}

Answer line_search(const Data& data, Pool& pool) {
  const double *p = data.p.data(), *dp = data.dp.data();
  const PointwiseSum loss{Hinge{}, data.q.data(), nullptr, kRows};
  Answer l(kRows);
  l.push_back(evaluate(loss, p, l.data(), pool));
  l.push_back(search_kinks(loss, p, dp, 1.0, -1.0, pool));
  const KinkList list = list_kinks(loss, p, dp, 0.0, 2.0, pool);
  const KinkSummary summary = summarise(list.within(0.5, 1.5).kinks, 8);
  l.insert(l.end(), summary.edges.begin(), summary.edges.end());
  return l;
}

Answer planes(const Data& data, Pool&) {
  ReducedQP qp;
  for (std::size_t t = 0; t < 12; ++t) {
    std::vector<double> products(t + 1);
    for (std::size_t j = 0; j <= t; ++j)
      for (std::size_t k = 0; k < kWidth; ++k)
        products[j] += data.x[j * kWidth + k] * data.x[t * kWidth + k];
    qp.append(data.p[t], products.data());
    qp.solve(1e-9);
  }
  qp.keep({0, 3, 5, 7});
  qp.solve(1e-9);
  return qp.beta();
}

Answer sets(const Data& data, Pool& pool) {
  RowSets sets(kRows);
  for (std::size_t j = 0; j < 3; ++j) sets.append(j % 2 ? data.q.data() : data.p.data());
  Answer shares(kRows), sums(sets.size());
  sets.sums(data.p.data(), sums.data(), pool);
  sets.keep({0, 2});
  sets.shares(sums.data(), shares.data(), pool);
  return shares;
}

Answer pairs(const Data& data, Pool& pool) {
  PairLoss loss(kRows, data.y.data(), nullptr, 1, nullptr, pool);
  Answer l(kRows);
  l.push_back(loss.evaluate(data.p.data(), l.data(), pool));
  return l;
}

Answer tables(const Data& data, Pool& pool) {
  TableLoss loss(kRows, data.positive.data(), nullptr);
  Answer l(kRows);
  l.push_back(loss.evaluate_fbeta(data.p.data(), 1.0, 1.0, l.data(), pool));
  l.push_back(loss.evaluate_break_even(data.p.data(), 1.0, l.data(), pool));
  return l;
}

Answer kernel_rows(const Data& data, Pool& pool) {
  const KernelFunction k;
  CachedRows rows(data.rows(), k, 3, pool);
  Answer out(kRows);
  const std::vector<std::int64_t> indices{0, 5, 9, 5};
  const std::vector<double> coefficients{1, 2, 3, 4};
  add_rows(rows, indices.data(), coefficients.data(), indices.size(), {{0, kRows}}, out.data(),
           pool);
  return out;
}

Text of_memory(const Data& data) { return Text(std::string_view(data.text)); }
Text of_file(const Data& data) { return Text(data.file, 0, data.text.size()); }

template <Text (*of)(const Data&)>
Answer text(const Data& data, Pool& pool) {
  const auto read = read_svmlight<double>(of(data), {}, pool);
  const auto& rows = std::get<0>(read);
  const SparseRows<double, std::int32_t> view{Shape{rows.labels.size(), rows.d, 0},
                                              rows.values.data(), rows.indices.data(),
                                              rows.starts.data()};
  const std::string again =
      write_svmlight(Rows(view), rows.labels.data(), nullptr, 1, {0, rows.labels.size()}, pool);
  return {static_cast<double>(again.size()),
          static_cast<double>(scan_svmlight(data.text, pool).rows)};
}

Answer strings(const Data&, Pool& pool) {
  const FastaRows rows = read_fasta(">a label=1\nGATTACA\n>b label=-1\nTACCATA\n", true);
  const std::vector<std::int32_t> codes(2);
  const std::vector<double> costs(2, 1.0);
  const Format format{Form::text, 0, 1.0, std::make_shared<Ngrams>(Ngrams::Unit::byte, 3, 6)};
  const PackedBlock block = PackedBlock::of_strings(rows.letters.data(), rows.starts.data(), 2, 0,
                                                    {costs.data(), codes.data()}, format);
  const std::vector<double> w(format.width(), 0.5);
  Answer scores(2);
  score_block(block, format, w.data(), scores.data(), pool);
  const ExpandedBlock expanded = expand_block(block, format, pool);
  scores.insert(scores.end(), expanded.values.begin(), expanded.values.end());
  return scores;
}

struct Path {
  const char* name;
  Answer (*run)(const Data&, Pool&);
};
constexpr Path kPaths[] = {{"products", products},  {"line search", line_search},
                           {"planes", planes},      {"sets", sets},
                           {"pairs", pairs},        {"tables", tables},
                           {"kernel", kernel_rows}, {"text", text<of_memory>},
                           {"file", text<of_file>}, {"strings", strings}};

Answer run(const Path& path, const Data& data) {
  Pool pool(3);
  return path.run(data, pool);
}

// How many events there are to fail; ends the program where one ends badly.
long fail_each(const Path& path, const Data& data, Fault& fault, bool lasts, bool may_throw) {
  const Answer wanted = run(path, data);
  for (long which = 1;; ++which) {
    const char* end = nullptr;
    fault.arm(which, lasts);
    try {
      if (run(path, data) != wanted) end = "another answer";
    } catch (const std::bad_alloc&) {
      if (!may_throw) end = "bad_alloc";
    } catch (const std::exception& error) {
      end = error.what();
    }
    const bool struck = fault.has_struck();
    fault.disarm();
    if (end) {
      std::printf("%s: event %ld failed and gave: %s\n", path.name, which, end);
      std::exit(EXIT_FAILURE);
    }
    if (!struck) return which - 1;
  }
}

}  // namespace

int main() {
  const Data data;
  for (const Path& path : kPaths) {
    const long once = fail_each(path, data, allocations, false, true);
    fail_each(path, data, allocations, true, true);
    const long starts = fail_each(path, data, thread_starts, false, false);
    fail_each(path, data, thread_starts, true, false);
    std::printf("%-12s %4ld allocations and %ld thread starts failed in turn\n", path.name, once,
                starts);
  }
  return EXIT_SUCCESS;
}
