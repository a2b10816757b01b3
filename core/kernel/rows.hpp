// Kernel rows behind row(i) and diagonal(i): a whole matrix in memory, a matrix whose rows are
// computed when they are first asked for, or a cache of the rows used last.
//
// Rows are float32 and unsigned (no labels in them), so one matrix serves every fold, every
// weighting and every one-vs-rest problem.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/parallel.hpp"
#include "kernel/functions.hpp"
#include "rows/rows.hpp"

namespace maxmargin {

class KernelRows {
 public:
  virtual ~KernelRows() = default;
  virtual std::size_t n() const = 0;
  // k(x_i, x_j) for every j. Valid until the second call after this one.
  virtual const float* row(std::size_t i) = 0;
  virtual bool whole() const = 0;  // all rows at hand: row() costs nothing and threads may share it

  double diagonal(std::size_t i) const { return diagonal_[i]; }
  const std::vector<double>& diagonals() const { return diagonal_; }

 protected:
  std::vector<double> diagonal_;
};

class MatrixRows final : public KernelRows {
 public:
  explicit MatrixRows(MatrixView K);
  std::size_t n() const override { return K_.n; }
  const float* row(std::size_t i) override { return K_.row(i); }
  bool whole() const override { return true; }

 private:
  MatrixView K_;
};

// to[i][j] = from[places[i]][places[j]] for i, j < count; places ascend. Both may be in the same
// memory if they begin at the same place and the rows of `to` lie no further apart.
void copy_block(MatrixView from, const std::int64_t* places, std::size_t count, MatrixView to);

// Computes single kernel rows from the data: O(n d) each, threaded over the points.
class RowMaker {
 public:
  RowMaker(const Rows& rows, const KernelFunction& k, Pool& pool);
  std::size_t n() const { return norms_.size(); }
  std::vector<double> diagonals() const;
  void compute(std::size_t i, float* out);
  std::uint64_t computed() const { return computed_; }

 private:
  Rows rows_;
  KernelFunction k_;
  Pool& pool_;
  std::vector<double> norms_, dense_, products_;
  std::uint64_t computed_ = 0;
};

// A matrix whose rows are computed when they are first asked for. Somebody who has filled the whole
// matrix by tiles says so with `filled`; from then on it is like MatrixRows.
class PartialRows final : public KernelRows {
 public:
  PartialRows(const Rows& rows, const KernelFunction& k, MatrixView K, Pool& pool);
  std::size_t n() const override { return K_.n; }
  const float* row(std::size_t i) override;
  bool whole() const override { return whole_; }
  std::uint64_t computed() const { return maker_.computed(); }
  void filled() { whole_ = true; }

 private:
  RowMaker maker_;
  MatrixView K_;
  std::vector<char> known_;
  bool whole_ = false;
};

// Computes a row when it is asked for and keeps the `capacity` rows used last.
class CachedRows final : public KernelRows {
 public:
  static constexpr std::size_t kLeast =
      3;  // the two rows of a step, and one that is being computed

  CachedRows(const Rows& rows, const KernelFunction& k, std::size_t capacity, Pool& pool);
  std::size_t n() const override { return maker_.n(); }
  const float* row(std::size_t i) override;
  bool whole() const override { return false; }

  std::size_t capacity() const { return slots_.size(); }
  std::uint64_t computed() const { return maker_.computed(); }

 private:
  struct Slot {
    std::vector<float> values;
    std::int64_t row = -1;
    std::size_t newer, older;  // a ring through all slots in order of use
  };
  void touch(std::size_t slot);

  RowMaker maker_;
  std::vector<std::int32_t> slot_of_;  // -1: not in the cache
  std::vector<Slot> slots_;
  std::size_t newest_ = 0;
};

// out += sum_q coefficients[q] * row(indices[q]), over the columns of `ranges`. Threaded for whole
// matrices, float64 sums, the same for any number of threads.
void add_rows(KernelRows& rows, const std::int64_t* indices, const double* coefficients,
              std::size_t count, const std::vector<Range>& ranges, double* out, Pool& pool);

}  // namespace maxmargin
