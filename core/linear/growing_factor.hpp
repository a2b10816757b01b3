// The Cholesky factor L of a matrix that gains and loses a row and column at a time: A = L L^T.
#pragma once
#include <cstddef>
#include <vector>

namespace maxmargin {

class GrowingFactor {
 public:
  using Vector = std::vector<double>;

  void clear() { L_.clear(); }
  // A gains a row and column: `reduced` is L^-1 times its part above the diagonal, `pivot` what is
  // left of its diagonal entry.
  void append(Vector reduced, double pivot);
  // A loses a row and column.
  void remove(std::size_t position);
  void forward(Vector& x) const;             // x <- L^-1 x
  void forward(Vector& x, Vector& y) const;  // both in one pass over L
  void backward(Vector& x) const;            // x <- L^-T x

 private:
  std::vector<Vector> L_;  // lower triangle by rows
};

}  // namespace maxmargin
