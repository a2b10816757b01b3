#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>

#include "common.hpp"
#include "losses/calibration.hpp"
#include "losses/pairs.hpp"
#include "losses/tables.hpp"

namespace maxmargin {

namespace {

void make_pair_loss(PairLoss* self, In<double> target, std::optional<In<std::uint32_t>> query,
                    std::size_t queries, std::optional<In<double>> weight, Pool& pool) {
  const std::size_t n = target.shape(0);
  if (query) check_length(query->shape(0), n, "query");
  if (weight) check_length(weight->shape(0), n, "weight");
  new (self) PairLoss(n, target.data(), query ? query->data() : nullptr, queries,
                      weight ? weight->data() : nullptr, pool);
}

void make_table_loss(TableLoss* self, In<std::uint8_t> positive, std::optional<In<double>> weight) {
  const std::size_t n = positive.shape(0);
  if (weight) check_length(weight->shape(0), n, "weight");
  new (self) TableLoss(n, positive.data(), weight ? weight->data() : nullptr);
}

template <class Loss>
void check_lengths(const Loss& loss, const In<double>& p, const Out<double>& l) {
  check_length(p.shape(0), loss.n(), "p");
  check_length(l.shape(0), loss.n(), "l");
}

void check_rows_of_map(const In<double>& f, const In<double>& t, const In<double>& s) {
  check_length(t.shape(0), f.shape(0), "t");
  check_length(s.shape(0), f.shape(0), "s");
}

void bind_calibration(nb::module_& m) {
  m.def(
      "fit_sigmoid",
      [](In<double> f, In<double> t, In<double> s) {
        check_rows_of_map(f, t, s);
        const SigmoidMap map = fit_sigmoid(f.data(), t.data(), s.data(), f.shape(0));
        return std::make_tuple(map.slope, map.offset, map.evaluations);
      },
      nb::call_guard<nb::gil_scoped_release>(), nb::arg("f"), nb::arg("t"), nb::arg("s"),
      "(slope, offset, evaluations) of the log-odds of scores f");
  m.def(
      "fit_isotonic",
      [](In<double> f, In<double> t, In<double> s) {
        check_rows_of_map(f, t, s);
        IsotonicMap map;
        {
          nb::gil_scoped_release release;
          map = fit_isotonic(f.data(), t.data(), s.data(), f.shape(0));
        }
        return std::make_tuple(give(std::move(map.knots)), give(std::move(map.values)));
      },
      nb::arg("f"), nb::arg("t"), nb::arg("s"), "(knots, log-odds) of scores f");
}

}  // namespace

void bind_losses(nb::module_& m) {
  using Release = nb::call_guard<nb::gil_scoped_release>;
  bind_calibration(m);

  nb::class_<PairLoss>(m, "PairLoss", "Hinge over pairs of rows with different targets.")
      .def("__init__", &make_pair_loss, Release(), nb::arg("target"), nb::arg("query").none(),
           nb::arg("queries"), nb::arg("weight").none(), nb::arg("pool"))
      .def_prop_ro("n", &PairLoss::n)
      .def_prop_ro("queries", &PairLoss::queries)
      .def(
          "pairs",
          [](const PairLoss& self) {
            std::vector<double> pairs(self.queries());
            for (std::size_t q = 0; q < pairs.size(); ++q) pairs[q] = self.pairs(q);
            return give(std::move(pairs));
          },
          "weight of the pairs of each query")
      .def(
          "rows",
          [](const PairLoss& self) {
            std::vector<double> rows(self.queries());
            for (std::size_t q = 0; q < rows.size(); ++q) rows[q] = self.rows(q);
            return give(std::move(rows));
          },
          "weight of the rows of each query")
      .def(
          "set_scales",
          [](PairLoss& self, In<double> c) {
            check_length(c.shape(0), self.queries(), "c");
            for (std::size_t q = 0; q < self.queries(); ++q) self.set_scale(q, c.data()[q]);
          },
          nb::arg("c"))
      .def_prop_ro("has_few_pairs", &PairLoss::has_few_pairs)
      .def(
          "value",
          [](const PairLoss& self, In<double> p) {
            check_length(p.shape(0), self.n(), "p");
            return self.value(p.data());
          },
          Release(), nb::arg("p"), "R(p), pair by pair")
      .def(
          "evaluate",
          [](PairLoss& self, In<double> p, Out<double> l, Pool& pool) {
            check_lengths(self, p, l);
            return self.evaluate(p.data(), l.data(), pool);
          },
          Release(), nb::arg("p"), nb::arg("l").noconvert(), nb::arg("pool"));

  nb::class_<TableLoss>(m, "TableLoss", "The most harmful labelling for a measure of tables.")
      .def("__init__", &make_table_loss, Release(), nb::arg("positive"), nb::arg("weight").none())
      .def_prop_ro("n", &TableLoss::n)
      .def_prop_ro("positives", &TableLoss::positives, "weight of the positives")
      .def_prop_ro("negatives", &TableLoss::negatives, "weight of the negatives")
      .def(
          "evaluate_fbeta",
          [](TableLoss& self, In<double> p, double beta, double C, Out<double> l, Pool& pool) {
            check_lengths(self, p, l);
            return self.evaluate_fbeta(p.data(), beta, C, l.data(), pool);
          },
          Release(), nb::arg("p"), nb::arg("beta"), nb::arg("C"), nb::arg("l").noconvert(),
          nb::arg("pool"))
      .def(
          "evaluate_precision",
          [](TableLoss& self, In<double> p, double k, double C, Out<double> l, Pool& pool) {
            check_lengths(self, p, l);
            check(k > 0 && k <= self.positives(), "k must be above 0 and at most the positives");
            return self.evaluate_precision(p.data(), k, C, l.data(), pool);
          },
          Release(), nb::arg("p"), nb::arg("k"), nb::arg("C"), nb::arg("l").noconvert(),
          nb::arg("pool"))
      .def(
          "evaluate_recall",
          [](TableLoss& self, In<double> p, double k, double C, Out<double> l, Pool& pool) {
            check_lengths(self, p, l);
            check(k >= self.positives(), "k must be at least the positives");
            return self.evaluate_recall(p.data(), k, C, l.data(), pool);
          },
          Release(), nb::arg("p"), nb::arg("k"), nb::arg("C"), nb::arg("l").noconvert(),
          nb::arg("pool"))
      .def(
          "evaluate_break_even",
          [](TableLoss& self, In<double> p, double C, Out<double> l, Pool& pool) {
            check_lengths(self, p, l);
            return self.evaluate_break_even(p.data(), C, l.data(), pool);
          },
          Release(), nb::arg("p"), nb::arg("C"), nb::arg("l").noconvert(), nb::arg("pool"));
}

}  // namespace maxmargin
