// Losses over contingency tables: the most harmful labelling of all rows at once.
//
//   R = C max over ybar of [ n Delta(a, b) - sum_{i : ybar_i != y_i} s_i y_i p_i ]
//
// where positives of weight a and negatives of weight b are labelled positive by ybar; n is the
// weight of all rows, n+ of the positives. For a given table the maximiser keeps the positives of
// largest p and takes the negatives of largest p, so with each class in descending order and
// running sums the value of a table is read off:
//
//   v(a, b) = n Delta(a, b) - (s p of the positives beyond the a largest)
//             + (s p of the b largest negatives)
//
// Without weights a labelling labels whole rows. With weights it may label a part of a row, which
// keeps the maximum over tables tractable: a is then worth trying only at whole rows (v is convex
// in a), and the best b for it lies inside a row or between two.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/parallel.hpp"
#include "losses/order.hpp"

namespace maxmargin {

class TableLoss {
 public:
  // positive[i] says which class row i belongs to; weight[i] >= 0, or null. Both classes must have
  // weight.
  TableLoss(std::size_t n, const std::uint8_t* positive, const double* weight);

  std::size_t n() const { return n_; }
  double positives() const { return classes_[1].total(); }
  double negatives() const { return classes_[0].total(); }

  // Delta = 1 - F_beta = 1 - (1 + beta^2) a / (a + b + beta^2 n+), over all tables.
  double evaluate_fbeta(const double* p, double beta, double C, double* l, Pool& pool);
  // Delta = 1 - a / (a + b) over the tables with a + b >= k, for k <= n+.
  double evaluate_precision(const double* p, double k, double C, double* l, Pool& pool);
  // Delta = 1 - a / n+ over the tables with a + b <= k, for k >= n+.
  double evaluate_recall(const double* p, double k, double C, double* l, Pool& pool);
  // Delta = 1 - a / n+ over the tables with a + b = n+.
  double evaluate_break_even(const double* p, double C, double* l, Pool& pool);

 private:
  // One class in ascending order of p. "The k largest" are counted from the end.
  struct Class {
    std::vector<std::uint32_t> rows;
    std::vector<Item> items, spare;
    std::vector<double> sums;     // sums[k]: s p of the k largest rows
    std::vector<double> weights;  // weights[k]: s of the k largest rows; empty if all s are 1

    std::size_t size() const { return rows.size(); }
    bool weighted() const { return !weights.empty(); }
    double weight(std::size_t k) const { return weighted() ? weights[k] : static_cast<double>(k); }
    double total() const { return weight(size()); }
    double value(std::size_t k) const { return items[size() - 1 - k].value; }
    std::size_t whole_rows(double x) const;
    double sum(double x) const;
  };
  struct Table {
    double value = 0, a = 0, b = 0;
    void improve(const Table& other) {
      if (other.value > value) *this = other;
    }
  };

  double all() const { return positives() + negatives(); }
  void order(const double* p, Pool& pool);
  void order(Class& one, const double* p, Pool& pool);
  double value(double delta, double a, double b) const;
  Table truth() const { return {0, positives(), 0}; }
  Table best_ratio(double square, double k, Range range) const;
  Table best_ratio(double square, double k, Pool& pool) const;
  Table best_of_exactly(double k, double best) const;
  double write(const Table& table, double C, double* l, Pool& pool) const;
  void write(const Class& one, double kept, double outside, double inside, double* l,
             Pool& pool) const;

  std::size_t n_;
  std::vector<double> weight_;  // of each row, empty if all are 1
  Class classes_[2];
};

}  // namespace maxmargin
