#include "losses/tables.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace maxmargin {

TableLoss::TableLoss(std::size_t n, const std::uint8_t* positive) : n_(n) {
  check(n < (std::size_t{1} << 31), "tables of at most 2^31 - 1 rows can be searched");
  for (std::size_t i = 0; i < n; ++i)
    classes_[positive[i] != 0].rows.push_back(static_cast<std::uint32_t>(i));
  for (Class& one : classes_) {
    check(!one.rows.empty(), "rows of one class only; expected positives and negatives");
    one.items.resize(one.rows.size());
    one.spare.resize(one.rows.size());
    one.sums.resize(one.rows.size() + 1);
  }
}

void TableLoss::order(Class& one, const double* p, Pool& pool) {
  const std::size_t count = one.rows.size();
  order_rows(p, {count, one.rows.data(), nullptr}, one.items.data(), one.spare.data(), pool);
  for (std::size_t k = 0; k < count; ++k)
    one.sums[k + 1] = one.sums[k] + one.items[count - 1 - k].value;
}

double TableLoss::cost(double delta, std::size_t a, std::size_t b) const {
  const Class &negative = classes_[0], &positive = classes_[1];
  return static_cast<double>(n_) * delta - (positive.sums.back() - positive.sums[a]) +
         negative.sums[b];
}

// For fixed a, v is concave in b: the next negative is worth taking while
//   n (1 + beta^2) a / ((D + b) (D + b + 1)) + p_b > 0,   D = a + beta^2 n+,
// and the left side falls with b. The best b moves little from one a to the next, so the search
// gallops away from the last one before it bisects.
TableLoss::Table TableLoss::best_fbeta(double beta, Range range) const {
  const Class& negative = classes_[0];
  const std::size_t most = negatives();
  const double square = beta * beta;
  Table best{-1, positives(), 0};
  std::size_t b = 0;
  for (std::size_t a = range.begin; a < range.end; ++a) {
    const double D = static_cast<double>(a) + square * static_cast<double>(positives());
    const double gain = static_cast<double>(n_) * (1 + square) * static_cast<double>(a);
    const auto worth_taking = [&](std::size_t at) {
      const double x = D + static_cast<double>(at);
      return gain / (x * (x + 1)) + negative.items[most - 1 - at].value > 0;
    };
    std::size_t low = 0, high = most;  // all before low are worth taking, none from high on
    if (b < most && worth_taking(b)) {
      low = b + 1;
      for (std::size_t step = 1; low < most; step *= 2) {
        const std::size_t at = std::min(low + step, most) - 1;
        if (!worth_taking(at)) {
          high = at;
          break;
        }
        low = at + 1;
      }
    } else if (b > 0) {
      high = b;
      for (std::size_t step = 1; high > 0; step *= 2) {
        const std::size_t at = high > step ? high - step : 0;
        if (worth_taking(at)) {
          low = at + 1;
          break;
        }
        high = at;
      }
    }
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (worth_taking(middle))
        low = middle + 1;
      else
        high = middle;
    }
    b = low;
    const double f = (1 + square) * static_cast<double>(a) / (D + static_cast<double>(b));
    const double value = cost(1 - f, a, b);
    if (value > best.value) best = {value, a, b};
  }
  return best;
}

double TableLoss::evaluate_fbeta(const double* p, double beta, double C, double* l, Pool& pool) {
  for (Class& one : classes_) order(one, p, pool);
  const std::size_t tables = positives() + 1, parts = pieces(tables, 16384);
  std::vector<Table> found(parts);
  pool.run(parts, [&](std::size_t t) { found[t] = best_fbeta(beta, part_of(tables, parts, t)); });
  Table best{0, positives(), 0};  // the true labelling
  for (const Table& table : found)
    if (table.value > best.value) best = table;
  return write(best, C, l, pool);
}

double TableLoss::evaluate_taken(const double* p, std::size_t taken, double best_a, double C,
                                 double* l, Pool& pool) {
  for (Class& one : classes_) order(one, p, pool);
  Table best{0, positives(), 0};
  const std::size_t least = taken > negatives() ? taken - negatives() : 0;
  for (std::size_t a = least; a <= std::min(taken, positives()); ++a) {
    const double value = cost(1 - static_cast<double>(a) / best_a, a, taken - a);
    if (value > best.value) best = {value, a, taken - a};
  }
  return write(best, C, l, pool);
}

// l_i = -C y_i on the rows the worst labelling gets wrong.
double TableLoss::write(const Table& table, double C, double* l, Pool& pool) const {
  const Class &negative = classes_[0], &positive = classes_[1];
  const auto each = [&pool](std::size_t count, const auto& body) {
    const std::size_t parts = pieces(count);
    pool.run(parts, [&](std::size_t t) {
      const Range part = part_of(count, parts, t);
      for (std::size_t k = part.begin; k < part.end; ++k) body(k);
    });
  };
  const std::size_t missed = positives() - table.a, right = negatives() - table.b;
  each(positives(), [&](std::size_t k) { l[positive.items[k].row] = k < missed ? -C : 0.0; });
  each(negatives(), [&](std::size_t k) { l[negative.items[k].row] = k < right ? 0.0 : C; });
  return C * table.value;
}

}  // namespace maxmargin
