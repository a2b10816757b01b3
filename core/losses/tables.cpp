#include "losses/tables.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"

namespace maxmargin {

TableLoss::TableLoss(std::size_t n, const std::uint8_t* positive, const double* weight) : n_(n) {
  check(n < (std::size_t{1} << 31), "tables of at most 2^31 - 1 rows can be searched");
  if (weight) weight_.assign(weight, weight + n);
  for (std::size_t i = 0; i < n; ++i)
    if (!weight || weight[i] > 0)
      classes_[positive[i] != 0].rows.push_back(static_cast<std::uint32_t>(i));
  for (Class& one : classes_) {
    check(!one.rows.empty(), "rows of one class only; expected positives and negatives");
    one.items.resize(one.size());
    one.spare.resize(one.size());
    one.sums.resize(one.size() + 1);
    if (!weight) continue;
    one.weights.resize(one.size() + 1);
    // In any order for now: the total is asked for before predictions are known.
    for (std::size_t k = 0; k < one.size(); ++k)
      one.weights[k + 1] = one.weights[k] + weight_[one.rows[k]];
  }
}

// ---------------------------------------------------------------- one class in order

// How many of the largest rows fit wholly into the weight x.
std::size_t TableLoss::Class::whole_rows(double x) const {
  if (!weighted()) return std::min(static_cast<std::size_t>(x), size());
  const auto beyond = std::upper_bound(weights.begin() + 1, weights.end(), x);
  return static_cast<std::size_t>(beyond - weights.begin()) - 1;
}

// s p of the largest rows of weight x, the last of them in part.
double TableLoss::Class::sum(double x) const {
  const std::size_t k = whole_rows(x);
  return k < size() ? sums[k] + (x - weight(k)) * value(k) : sums[k];
}

void TableLoss::order(Class& one, const double* p, Pool& pool) {
  const std::size_t count = one.size();
  order_rows(p, {count, one.rows.data(), nullptr}, one.items.data(), one.spare.data(), pool);
  if (!one.weighted()) {
    for (std::size_t k = 0; k < count; ++k) one.sums[k + 1] = one.sums[k] + one.value(k);
    return;
  }
  for (std::size_t k = 0; k < count; ++k) {
    const double s = weight_[one.items[count - 1 - k].row];
    one.weights[k + 1] = one.weights[k] + s;
    one.sums[k + 1] = one.sums[k] + s * one.value(k);
  }
}

void TableLoss::order(const double* p, Pool& pool) {
  for (Class& one : classes_) order(one, p, pool);
}

double TableLoss::value(double delta, double a, double b) const {
  const Class &negative = classes_[0], &positive = classes_[1];
  return all() * delta - (positive.sums.back() - positive.sum(a)) + negative.sum(b);
}

// ---------------------------------------------------------------- the best tables

// The first of 0 .. most - 1 that is not `good`, where all before it are; from a guess that is
// seldom far off, so the search gallops away from it before it bisects.
template <class Good>
std::size_t first_bad(std::size_t guess, std::size_t most, const Good& good) {
  std::size_t low = 0, high = most;  // all before low are good, none from high on
  if (guess < most && good(guess)) {
    low = guess + 1;
    for (std::size_t step = 1; low < most; step *= 2) {
      const std::size_t at = std::min(low + step, most) - 1;
      if (!good(at)) {
        high = at;
        break;
      }
      low = at + 1;
    }
  } else if (guess > 0) {
    high = guess;
    for (std::size_t step = 1; high > 0; step *= 2) {
      const std::size_t at = high > step ? high - step : 0;
      if (good(at)) {
        low = at + 1;
        break;
      }
      high = at;
    }
  } else {
    high = 0;
  }
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (good(middle))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Delta = 1 - (1 + beta^2) a / (D + b), D = a + beta^2 n+, over the tables with a + b >= k whose
// positives are whole rows. For fixed a, v is concave in b: the next negative is worth taking while
//   n (1 + beta^2) a / ((D + b) (D + b + 1)) + p_b > 0
// and the left side falls with b; for a part of a row, (D + b)^2 in place of the product.
TableLoss::Table TableLoss::best_ratio(double square, double k, Range range) const {
  const Class &negative = classes_[0], &positive = classes_[1];
  Table best = truth();
  std::size_t rows = 0;
  for (std::size_t kept = range.begin; kept < range.end; ++kept) {
    const double a = positive.weight(kept), D = a + square * positives();
    const double gain = all() * (1 + square) * a, one = negative.weighted() ? 0.0 : 1.0;
    const auto worth_taking = [&](std::size_t at) {
      const double x = D + negative.weight(at);
      return (gain > 0 ? gain / (x * (x + one)) : 0.0) + negative.value(at) > 0;
    };
    rows = first_bad(rows, negative.size(), worth_taking);
    double b = negative.weight(rows);
    if (negative.weighted() && rows > 0 && negative.value(rows - 1) < 0)
      b = std::min(b, std::sqrt(gain / -negative.value(rows - 1)) - D);
    if (k - a > negatives()) continue;
    b = std::max(b, k - a);
    best.improve({value(a > 0 ? 1 - (1 + square) * a / (D + b) : 1.0, a, b), a, b});
  }
  return best;
}

TableLoss::Table TableLoss::best_ratio(double square, double k, Pool& pool) const {
  const std::size_t tables = classes_[1].size() + 1, parts = pieces(tables, 16384);
  std::vector<Table> found(parts);
  pool.run(parts,
           [&](std::size_t t) { found[t] = best_ratio(square, k, part_of(tables, parts, t)); });
  Table best = truth();
  for (const Table& table : found) best.improve(table);
  return best;
}

// Delta = 1 - a / best over the tables with a + b = k. v is piecewise linear in a: its maximum lies
// where the positives kept or the negatives taken are whole rows.
TableLoss::Table TableLoss::best_of_exactly(double k, double best_a) const {
  const Class &negative = classes_[0], &positive = classes_[1];
  Table best = truth();
  const auto look = [&](double a, double b) {
    if (a >= 0 && b >= 0 && a <= positives() && b <= negatives())
      best.improve({value(1 - a / best_a, a, b), a, b});
  };
  for (std::size_t kept = 0; kept <= positive.size(); ++kept)
    look(positive.weight(kept), k - positive.weight(kept));
  if (negative.weighted())
    for (std::size_t taken = 0; taken <= negative.size(); ++taken)
      look(k - negative.weight(taken), negative.weight(taken));
  return best;
}

// ---------------------------------------------------------------- value and subgradient

double TableLoss::evaluate_fbeta(const double* p, double beta, double C, double* l, Pool& pool) {
  order(p, pool);
  return write(best_ratio(beta * beta, 0, pool), C, l, pool);
}

double TableLoss::evaluate_precision(const double* p, double k, double C, double* l, Pool& pool) {
  order(p, pool);
  Table best = best_ratio(0, k, pool);  // F_0 is the precision
  // With parts of rows the positives kept on the edge a + b = k need not be whole.
  if (classes_[1].weighted()) best.improve(best_of_exactly(k, k));
  return write(best, C, l, pool);
}

double TableLoss::evaluate_recall(const double* p, double k, double C, double* l, Pool& pool) {
  order(p, pool);
  const Class &negative = classes_[0], &positive = classes_[1];
  const std::size_t above =
      first_bad(0, negative.size(), [&](std::size_t at) { return negative.value(at) > 0; });
  Table best = best_of_exactly(k, positives());
  for (std::size_t kept = 0; kept <= positive.size(); ++kept) {
    const double a = positive.weight(kept), b = std::min(negative.weight(above), k - a);
    if (b >= 0) best.improve({value(1 - a / positives(), a, b), a, b});
  }
  return write(best, C, l, pool);
}

double TableLoss::evaluate_break_even(const double* p, double C, double* l, Pool& pool) {
  order(p, pool);
  return write(best_of_exactly(positives(), positives()), C, l, pool);
}

// l_i = -C s_i y_i on the rows the worst labelling gets wrong.
double TableLoss::write(const Table& table, double C, double* l, Pool& pool) const {
  if (!weight_.empty()) std::fill_n(l, n_, 0.0);  // rows of weight 0 are in no class
  write(classes_[1], table.a, -C, 0.0, l, pool);
  write(classes_[0], table.b, 0.0, C, l, pool);
  return C * table.value;
}

// l is s_i `inside` on the largest rows of weight `kept` and s_i `outside` on the others. Rows that
// tie with the last one kept share its fate: which of them came first must not matter.
void TableLoss::write(const Class& one, double kept, double outside, double inside, double* l,
                      Pool& pool) const {
  const std::size_t count = one.size(), whole = one.whole_rows(kept);
  std::size_t first = whole, last = whole;  // of the ties, counted from the largest
  double at_ties = outside;
  if (whole < count) {
    const double tie = one.value(whole);
    const auto below = [](const Item& item, double value) { return item.value < value; };
    const auto above = [](double value, const Item& item) { return item.value > value; };
    const Item *begin = one.items.data(), *end = begin + count;
    first = static_cast<std::size_t>(end - std::upper_bound(begin, end, tie, above));
    last = static_cast<std::size_t>(end - std::lower_bound(begin, end, tie, below));
    const double share = (kept - one.weight(first)) / (one.weight(last) - one.weight(first));
    at_ties = outside + share * (inside - outside);
  }
  const std::size_t parts = pieces(count);
  pool.run(parts, [&](std::size_t t) {
    const Range part = part_of(count, parts, t);
    for (std::size_t k = part.begin; k < part.end; ++k) {
      const std::uint32_t row = one.items[count - 1 - k].row;
      const double each = k < first ? inside : (k < last ? at_ties : outside);
      l[row] = weight_.empty() ? each : weight_[row] * each;
    }
  });
}

}  // namespace maxmargin
