#include "kernel/rows.hpp"

#include <algorithm>
#include <string>

#include "base/check.hpp"
#include "base/clones.hpp"
#include "linear/products.hpp"

namespace maxmargin {

namespace {

// out += a x + b y + c z + d w: four rows at a time, so that out is read and written once for them
MAXMARGIN_CLONES void add_four(const float* x, const float* y, const float* z, const float* w,
                               const double* coefficient, std::size_t n, double* out) {
  const double a = coefficient[0], b = coefficient[1], c = coefficient[2], d = coefficient[3];
#pragma omp simd
  for (std::size_t j = 0; j < n; ++j)
    out[j] += (a * static_cast<double>(x[j]) + b * static_cast<double>(y[j])) +
              (c * static_cast<double>(z[j]) + d * static_cast<double>(w[j]));
}
MAXMARGIN_CLONES void add_one(const float* x, double a, std::size_t n, double* out) {
#pragma omp simd
  for (std::size_t j = 0; j < n; ++j) out[j] += a * static_cast<double>(x[j]);
}

}  // namespace

MatrixRows::MatrixRows(MatrixView K) : K_(K) {
  diagonal_.resize(K.n);
  for (std::size_t i = 0; i < K.n; ++i) diagonal_[i] = K.row(i)[i];
}

void copy_block(MatrixView from, const std::int64_t* places, std::size_t count, MatrixView to) {
  for (std::size_t i = 0; i < count; ++i) {
    const float* source = from.row(static_cast<std::size_t>(places[i]));
    float* row = to.row(i);
    for (std::size_t j = 0; j < count; ++j) row[j] = source[places[j]];
  }
}

RowMaker::RowMaker(const Rows& rows, const KernelFunction& k, Pool& pool)
    : rows_(rows), k_(k), pool_(pool), norms_(shape(rows).n), products_(shape(rows).n) {
  dense_.assign(shape(rows).width(), 0.0);
  squared_norms(rows_, norms_.data(), pool_);
}

std::vector<double> RowMaker::diagonals() const {
  std::vector<double> diagonal(n());
  for (std::size_t i = 0; i < n(); ++i) diagonal[i] = k_.diagonal(norms_[i]);
  return diagonal;
}

void RowMaker::compute(std::size_t i, float* out) {
  std::visit(
      [&](const auto& view) {
        view.each(i, [&](std::size_t j, double x) { dense_[j] += x; });
        if (view.bias != 0) dense_[view.d] = view.bias;
        predict(rows_, dense_.data(), products_.data(), pool_);
        view.each(i, [&](std::size_t j, double) { dense_[j] = 0; });
      },
      rows_);
  const std::size_t parts = pieces(n());
  pool_.run(parts, [&](std::size_t part) {
    const Range range = part_of(n(), parts, part);
    kernel_row(k_, products_.data() + range.begin, norms_[i], norms_.data() + range.begin,
               range.end - range.begin, out + range.begin);
  });
  out[i] = static_cast<float>(k_.diagonal(norms_[i]));
  ++computed_;
}

PartialRows::PartialRows(const Rows& rows, const KernelFunction& k, MatrixView K, Pool& pool)
    : maker_(rows, k, pool), K_(K), known_(K.n, 0) {
  check(maker_.n() == K.n, "a matrix of " + std::to_string(K.n) + " rows was given for " +
                               std::to_string(maker_.n()) + " points");
  diagonal_ = maker_.diagonals();
}

const float* PartialRows::row(std::size_t i) {
  if (!whole_ && !known_[i]) {
    maker_.compute(i, K_.row(i));
    known_[i] = 1;
  }
  return K_.row(i);
}

CachedRows::CachedRows(const Rows& rows, const KernelFunction& k, std::size_t capacity, Pool& pool)
    : maker_(rows, k, pool) {
  check(capacity >= kLeast, "a row cache needs room for at least " + std::to_string(kLeast) +
                                " kernel rows; got room for " + std::to_string(capacity));
  slots_.resize(std::min(capacity, std::max(n(), kLeast)));
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    slots_[s].older = (s + 1) % slots_.size();
    slots_[s].newer = (s + slots_.size() - 1) % slots_.size();
  }
  slot_of_.assign(n(), -1);
  diagonal_ = maker_.diagonals();
}

const float* CachedRows::row(std::size_t i) {
  if (slot_of_[i] >= 0) {
    touch(static_cast<std::size_t>(slot_of_[i]));
    return slots_[newest_].values.data();
  }
  const std::size_t oldest = slots_[newest_].newer;
  Slot& slot = slots_[oldest];
  if (slot.row >= 0) slot_of_[static_cast<std::size_t>(slot.row)] = -1;
  slot.row = -1;  // stays so if computing is interrupted
  slot.values.resize(n());
  maker_.compute(i, slot.values.data());
  slot.row = static_cast<std::int64_t>(i);
  slot_of_[i] = static_cast<std::int32_t>(oldest);
  newest_ = oldest;  // the ring turns by one place
  return slot.values.data();
}

// Moves a slot to the newest place of the ring: newest_ -> older -> ... -> oldest -> newest_.
void CachedRows::touch(std::size_t s) {
  if (s == newest_) return;
  Slot& slot = slots_[s];
  if (slots_[newest_].newer == s) {  // the oldest already sits beside the newest
    newest_ = s;
    return;
  }
  slots_[slot.newer].older = slot.older;
  slots_[slot.older].newer = slot.newer;
  const std::size_t oldest = slots_[newest_].newer;
  slot.older = newest_;
  slot.newer = oldest;
  slots_[oldest].older = s;
  slots_[newest_].newer = s;
  newest_ = s;
}

void add_rows(KernelRows& rows, const std::int64_t* indices, const double* coefficients,
              std::size_t count, const std::vector<Range>& ranges, double* out, Pool& pool) {
  if (!rows.whole()) {
    for (std::size_t q = 0; q < count; ++q) {
      const float* row = rows.row(static_cast<std::size_t>(indices[q]));
      for (const Range& range : ranges)
        add_one(row + range.begin, coefficients[q], range.end - range.begin, out + range.begin);
    }
    return;
  }
  std::vector<Range> blocks;  // short enough that a block of `out` stays in the first-level cache
  constexpr std::size_t block = 1024;
  for (const Range& range : ranges)
    for (std::size_t begin = range.begin; begin < range.end; begin += block)
      blocks.push_back({begin, std::min(range.end, begin + block)});
  pool.run(blocks.size(), [&](std::size_t b) {
    const std::size_t begin = blocks[b].begin, length = blocks[b].end - begin;
    const auto part = [&](std::size_t q) {
      return rows.row(static_cast<std::size_t>(indices[q])) + begin;
    };
    std::size_t q = 0;
    for (; q + 4 <= count; q += 4)
      add_four(part(q), part(q + 1), part(q + 2), part(q + 3), coefficients + q, length,
               out + begin);
    for (; q < count; ++q) add_one(part(q), coefficients[q], length, out + begin);
  });
}

}  // namespace maxmargin
