// Losses over contingency tables: the most harmful labelling of all rows at once.
//
//   R = C max over ybar of [ n Delta(a, b) - sum_{i : ybar_i != y_i} y_i p_i ]
//
// where a positives and b negatives are labelled positive by ybar. For a given table the maximiser
// keeps the a positives of largest p and takes the b negatives of largest p, so with each class in
// descending order and running sums the value of a table is read off:
//
//   v(a, b) = n Delta(a, b) - (sum of the n+ - a smallest positives) + (sum of the b largest
//   negatives)
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/parallel.hpp"
#include "losses/order.hpp"

namespace maxmargin {

class TableLoss {
 public:
  // positive[i] says which class row i belongs to. Both classes must be present.
  TableLoss(std::size_t n, const std::uint8_t* positive);

  std::size_t n() const { return n_; }
  std::size_t positives() const { return classes_[1].rows.size(); }
  std::size_t negatives() const { return classes_[0].rows.size(); }

  // Delta = 1 - F_beta = 1 - (1 + beta^2) a / (a + b + beta^2 n+), over all tables.
  double evaluate_fbeta(const double* p, double beta, double C, double* l, Pool& pool);
  // Delta = 1 - a / best over the tables with a + b = taken; and the true labelling, Delta = 0.
  double evaluate_taken(const double* p, std::size_t taken, double best, double C, double* l,
                        Pool& pool);

 private:
  struct Class {
    std::vector<std::uint32_t> rows;
    std::vector<Item> items, spare;  // items ascend in p
    std::vector<double> sums;        // sums[k]: of the k largest predictions
  };
  struct Table {
    double value = 0;
    std::size_t a = 0, b = 0;
  };
  void order(Class& one, const double* p, Pool& pool);
  double cost(double delta, std::size_t a, std::size_t b) const;
  Table best_fbeta(double beta, Range range) const;
  double write(const Table& table, double C, double* l, Pool& pool) const;

  std::size_t n_;
  Class classes_[2];
};

}  // namespace maxmargin
