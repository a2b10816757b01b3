#include "linear/cached_loops.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.hpp"
#include "base/portable.hpp"

namespace maxmargin {

namespace {
constexpr double kFirstThreshold = 9;           // the paper's
constexpr double kSmallGap = 0.1;               // of the mean: what keeps rows out of the cache
constexpr double kTighten = 0.9;                // whenever rows in use had to leave the cache
constexpr std::size_t kChunkEntries = 1 << 18;  // between two looks at the stop flag
constexpr std::size_t kAhead = 4;               // visits ahead of which rows of a block are fetched
constexpr std::size_t kRowAhead = 8;            // the same in the cache, where more is far away:
constexpr std::size_t kAlphaAhead = 4;          // a row, and then its dual variable
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Kept for each slot and problem: a place, and an entry of the order.
constexpr std::size_t kSlotBytes = 2 * sizeof(std::uint32_t);

void prefetch(const PackedRow& row) {
  const char* at = reinterpret_cast<const char*>(&row);
  for (std::size_t b = 0; b < 256; b += 64) prefetch_read(at + b);
}
}  // namespace

void CachedLoops::Tally::note_extremes(const Tally& other) {
  most = std::max(most, other.most);
  least = std::min(least, other.least);
}

void CachedLoops::Tally::operator+=(const Tally& other) {
  note_extremes(other);
  gain += other.gain;
  losses += other.losses;
  dual += other.dual;
  gap += other.gap;
  visits += other.visits;
  entries += other.entries;
}

CachedLoops::CachedLoops(const Format& format, std::size_t n, std::size_t problems,
                         std::size_t budget, std::uint64_t seed)
    : format_(format),
      n_(n),
      problems_(problems),
      cache_(n, budget, kSlotBytes * problems, seed),
      random_(seed) {
  check(format.d() < std::numeric_limits<std::uint32_t>::max(),
        "the cached loops take at most 2^32 - 2 features");
  check(problems < std::numeric_limits<std::uint16_t>::max(), "too many classes");
  for (std::size_t k = 0; k < problems; ++k) {
    problems_[k].upper = kFirstThreshold;
    problems_[k].lower = -kFirstThreshold;
    problems_[k].random = Random(seed + 1 + k);
  }
  evicted_ = [this](std::uint32_t slot) {
    for (Problem& problem : problems_) deactivate(problem, slot);
  };
}

void CachedLoops::set_problem(std::size_t k, const PointwiseLoss& loss, std::int32_t positive,
                              DualVariables shares, double* w) {
  const bool margins = std::visit([](const auto& f) { return f.kOnMargins; }, loss);
  check(margins != format_.has_targets, "the rows are packed for losses of another kind");
  problems_[k].loss = loss;
  problems_[k].positive = positive;
  problems_[k].shares = shares;
  problems_[k].w = w;
}

void CachedLoops::leave_out(std::size_t k, const std::uint8_t* bits, std::uint8_t bit) {
  problems_[k].left_out = bits;
  problems_[k].bit = bit;
}

void CachedLoops::set_finished(std::size_t k) {
  Problem& problem = problems_[k];
  problem.finished = true;
  for (const std::uint32_t slot : problem.order) {
    problem.place[slot] = RowCache::kNone;
    cache_.release(slot);
  }
  problem.order.clear();
  problem.cursor = 0;
}

// ---------------------------------------------------------------- one row

template <class Loss, class Entries>
bool CachedLoops::visit(Problem& problem, const Loss& loss, const PackedRow& row, const Entries& x,
                        Tally& tally) {
  if (problem.leaves_out(row)) return false;
  const auto [y, t] = seen(loss, problem, row);
  const double u = problem.shares.get(row.id), r = t - y * x.dot(problem.w);
  const double value = loss.value(r), conjugate = loss.conjugate(u);
  const double gap = row.cost * (value - u * r + conjugate);
  ++tally.visits;
  tally.entries += x.entries() + 1;
  tally.losses += row.cost * value;
  tally.gap += gap;
  if (row.norm == 0) {  // a constant loss, whose slope is u
    const double slope = problem.shares.set(loss, row.id, loss.slope(r));
    tally.dual += row.cost * (t * slope - loss.conjugate(slope));
    return false;
  }
  tally.dual += row.cost * (t * u - conjugate);
  const Interval slopes = loss.conjugate_slope(u), G{slopes.low - r, slopes.high - r};
  if (!informative(loss, problem, row, G, gap)) return false;
  const double projected = std::min(std::max(0.0, G.low), G.high);
  tally.most = std::max(tally.most, projected);
  tally.least = std::min(tally.least, projected);
  if (projected != 0) {
    const double s = row.cost * row.norm;
    const double stored = problem.shares.set(loss, row.id, loss.step(r, u, s)), change = stored - u;
    const double bent = loss.conjugate(stored) - conjugate;
    x.add(change * y * row.cost, problem.w);
    tally.gain += row.cost * (change * (r - 0.5 * change * s) - bent);
    tally.dual += row.cost * (t * change - bent);
  }
  return true;
}

// ---------------------------------------------------------------- blocks as they arrive

// Rows are numbered one after the other, so that the ends tell of all; their number is where their
// dual variable lies.
void CachedLoops::check_block(const PackedBlock& block) {
  check(block.first() >= 0 && static_cast<std::size_t>(block.end()) <= n_,
        "there are more rows than there were when the data was opened: it changed, or says falsely "
        "how many rows it holds");
  if (chunk_ == 0) arrange(block);
}

// Before the first block is visited: the size of its rows tells how to divide the budget.
void CachedLoops::arrange(const PackedBlock& block) {
  const std::size_t row_bytes = block.bytes() / block.n() + 1;
  const std::size_t entries = format_.map ? format_.map->typical_entries() : row_bytes / 8;
  chunk_ = std::max<std::size_t>(16, kChunkEntries / (entries + 1));
  cache_.arrange(row_bytes);
  room_ = cache_.room_for(row_bytes);
  keep_all_ = n_ <= room_;
}

void CachedLoops::visit_rows(Problem& problem, const PackedBlock& block, Range range,
                             std::uint8_t* wanted, Arrival& tally) {
  with_loss(format_, problem.loss, [&](const auto& loss, auto access) {
    for (std::size_t q = range.begin; q < range.end; ++q) {
      if (q + kAhead < range.end) prefetch(block.row(permutation_[q + kAhead]));
      const PackedRow& row = block.row(permutation_[q]);
      wanted[q - range.begin] = visit(problem, loss, row, access(row), tally.fresh) ? 1 : 0;
      visit_cached(problem, loss, access, tally.cached);
    }
  });
}

CachedLoops::Arrival CachedLoops::consume(const PackedBlock& block, Pool& pool) {
  Arrival total;
  if (block.n() == 0) return total;
  check_block(block);
  permutation_.resize(block.n());
  std::iota(permutation_.begin(), permutation_.end(), 0U);
  random_.shuffle(permutation_.data(), block.n());
  std::vector<Arrival> tallies(problems_.size());
  for (std::size_t begin = 0; begin < block.n(); begin += chunk_) {
    const Range range{begin, std::min(begin + chunk_, block.n())};
    const std::size_t stride = range.end - range.begin;
    wanted_.assign(problems_.size() * stride, 0);
    release();
    pool.run(problems_.size(), [&](std::size_t k) {
      if (!problems_[k].finished)
        visit_rows(problems_[k], block, range, &wanted_[k * stride], tallies[k]);
    });
    release();
    for (std::size_t q = 0; q < stride; ++q)
      take(block.row(permutation_[begin + q]), &wanted_[q], stride);
  }
  for (std::size_t k = 0; k < problems_.size(); ++k) {
    problems_[k].pass += tallies[k].fresh;
    problems_[k].pass.note_extremes(tallies[k].cached);
    total.fresh += tallies[k].fresh;
    total.cached += tallies[k].cached;
  }
  return total;
}

// Whether thresholds are to be tightened: rows in use had to leave, or, in the paper, are many.
bool CachedLoops::tightens() {
  if (as_the_paper_) return 10 * longest_round() > 9 * room_;
  const bool changed = cache_.crowded() != crowded_;
  crowded_ = cache_.crowded();
  return changed;
}

// Into the cache, if a problem wants the row (`wanted` has an entry for each, `stride` apart).
void CachedLoops::take(const PackedRow& row, const std::uint8_t* wanted, std::size_t stride) {
  bool any = keep_all_;
  for (std::size_t k = 0; k < problems_.size() && !any; ++k) any = wanted[k * stride] != 0;
  if (!any) return;
  std::uint32_t slot = cache_.find(row.id);
  if (slot == RowCache::kNone) slot = cache_.insert(row, evicted_);
  if (slot == RowCache::kNone) return;
  for (std::size_t k = 0; k < problems_.size(); ++k)
    if (wanted[k * stride] != 0) activate(problems_[k], slot);
  if (tightens()) {
    for (Problem& problem : problems_) {
      problem.upper *= kTighten;
      problem.lower *= kTighten;
      problem.least_gap /= kTighten;
    }
  }
}

// ---------------------------------------------------------------- sweeps over the cache

template <class Loss, class Access>
void CachedLoops::visit_cached(Problem& problem, const Loss& loss, Access& access, Tally& tally) {
  auto& order = problem.order;
  if (order.empty()) return;
  if (problem.cursor >= order.size()) next_round(problem);
  if (problem.cursor + kRowAhead < order.size()) {
    prefetch(cache_.row(order[problem.cursor + kRowAhead]));
    problem.shares.prefetch(cache_.row(order[problem.cursor + kAlphaAhead]).id);
  }
  const std::uint32_t slot = order[problem.cursor];
  const PackedRow& row = cache_.row(slot);
  if (visit(problem, loss, row, access(row), tally)) {
    ++problem.cursor;
  } else {
    deactivate(problem, slot);
    problem.released.push_back(slot);
  }
  problem.most = std::max(problem.most, tally.most);
  problem.least = std::min(problem.least, tally.least);
}

void CachedLoops::sweep_problem(Problem& problem, std::size_t visits, Tally& tally) {
  with_loss(format_, problem.loss, [&](const auto& loss, auto access) {
    for (std::size_t t = 0; t < visits && !problem.order.empty(); ++t)
      visit_cached(problem, loss, access, tally);
  });
}

// Tells the cache which rows problems have set aside.
void CachedLoops::release() {
  for (Problem& problem : problems_) {
    for (const std::uint32_t slot : problem.released) cache_.release(slot);
    problem.released.clear();
  }
}

CachedLoops::Tally CachedLoops::sweep(std::size_t visits, Pool& pool) {
  std::vector<Tally> tallies(problems_.size());
  for (std::size_t done = 0; done < visits; done += chunk_) {
    release();
    const std::size_t count = std::min(chunk_, visits - done);
    pool.run(problems_.size(), [&](std::size_t k) {
      if (!problems_[k].finished) sweep_problem(problems_[k], count, tallies[k]);
    });
  }
  release();
  Tally total;
  for (std::size_t k = 0; k < problems_.size(); ++k) {
    problems_[k].pass.note_extremes(tallies[k]);
    total += tallies[k];
  }
  return total;
}

CachedLoops::Tally CachedLoops::sweep_while(Terms terms, const Flag* ready, Pool& pool) {
  Tally total;
  while (active() > 0) {
    const bool pays = terms.allowance > 0 && terms.rate > terms.least;
    if (!pays && (!ready || ready->is_set())) break;
    const Tally tally = sweep(terms.slice, pool);
    total += tally;
    terms.rate = tally.rate();
    terms.allowance -= std::min(terms.allowance, tally.visits);
  }
  return total;
}

void CachedLoops::start_pass() {
  for (Problem& problem : problems_) problem.pass = Tally();
}

void CachedLoops::end_pass() {
  for (Problem& problem : problems_) {
    if (problem.pass.visits == 0) continue;
    problem.upper = problem.pass.most > 0 ? problem.pass.most : kInfinity;
    problem.lower = problem.pass.least < 0 ? problem.pass.least : -kInfinity;
    if (as_the_paper_) {
      problem.upper = std::max(problem.pass.most, -problem.pass.least);
      problem.lower = -problem.upper;
    }
    const double mean = problem.pass.gap / static_cast<double>(problem.pass.visits);
    problem.least_gap = keep_all_ ? 0 : kSmallGap * std::max(mean, 0.0);
  }
}

std::size_t CachedLoops::active() const {
  std::size_t sum = 0;
  for (const Problem& problem : problems_) sum += problem.order.size();
  return sum;
}

std::size_t CachedLoops::longest_round() const {
  std::size_t most = 0;
  for (const Problem& problem : problems_) most = std::max(most, problem.order.size());
  return most;
}

}  // namespace maxmargin
