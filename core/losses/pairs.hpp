// The loss over pairs of rows with different targets, value and subgradient in O(n log n).
//
//   R = sum_q c_q sum over pairs (i, j) of query q, y_i > y_j, of  s_i s_j max(0, 1 - (p_i - p_j))
//   c+_i = sum of s_j over { j : y_j < y_i, p_i - p_j < 1 }
//   c-_i = sum of s_j over { j : y_j > y_i, p_j - p_i < 1 }
//   l_i = -c_q s_i (c+_i - c-_i),     R = sum_i c_q s_i (c+_i - (c+_i - c-_i) p_i)
//
// With the rows of a query in ascending order of p, both counts are questions about a growing
// prefix of that order: "how much weight of ranks below r is among the first t rows?". One sweep
// inserts each row once and asks twice a row; a counter of ranks answers (section 3 of the paper
// sweeps once for each rank instead).
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/parallel.hpp"
#include "losses/order.hpp"
#include "losses/pair_sweep.hpp"

namespace maxmargin {

class PairLoss {
 public:
  // query[i] in [0, queries), or null for a single query; target[i] finite; weight[i] >= 0 or null.
  PairLoss(std::size_t n, const double* target, const std::uint32_t* query, std::size_t queries,
           const double* weight, Pool& pool);

  std::size_t n() const { return n_; }
  std::size_t queries() const { return starts_.size() - 1; }
  // Weight of all pairs of query q: the m of its normalisation.
  double pairs(std::size_t q) const { return pairs_[q]; }
  // Weight of all rows of query q.
  double rows(std::size_t q) const { return weights_[q]; }
  void set_scale(std::size_t q, double c) { scale_[q] = c; }

  // R(p); writes the subgradient to l.
  double evaluate(const double* p, double* l, Pool& pool);
  // Whether `value` is affordable: so few pairs that a look at each takes little time.
  bool has_few_pairs() const;
  // R(p) summed over the pairs themselves: terms >= 0, so no digit is lost to differences of
  // counts.
  double value(const double* p) const;

 private:
  std::size_t size(std::size_t q) const { return starts_[q + 1] - starts_[q]; }
  void add_ranks(std::size_t q, const double* target, const std::uint32_t* place, Pool& pool);
  Selection selection(std::size_t q) const;
  Sweep sweep(std::size_t q);
  bool is_merged(std::size_t q) const;
  double finish(std::size_t q, Range range, double centre, double* l) const;
  double by_pairs(std::size_t q, const double* p, double* l) const;  // l may be null
  double evaluate_small(std::size_t q, const double* p, double* l);
  double evaluate_large(std::size_t q, const double* p, double* l, Pool& pool);

  std::size_t n_;
  // Rows grouped by query: members_[starts_[q] .. starts_[q + 1]), and the rank of each there.
  std::vector<std::size_t> starts_, rank_starts_;
  std::vector<std::uint32_t> members_, ranks_;
  std::vector<double> weight_;  // of each row, empty if all are 1
  std::vector<double> below_;   // of each rank of each query: weight of lower ranks in it
  std::vector<double> pairs_, weights_, scale_;
  std::vector<std::size_t> batches_;  // small queries [batches_[t], batches_[t + 1]) make a task
  std::vector<Item> items_, spare_;   // working memory, one place a row
  std::vector<double> plus_, minus_;  // c+ and c- of each row, in the order of items_
  std::vector<double> merged_;        // of large queries of two ranks, one at a time
  std::vector<std::uint32_t> found_;
};

}  // namespace maxmargin
