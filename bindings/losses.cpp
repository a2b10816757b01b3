#include <nanobind/stl/optional.h>

#include <optional>

#include "common.hpp"
#include "losses/pairs.hpp"
#include "losses/tables.hpp"

namespace maxmargin {

namespace {

void make_pair_loss(PairLoss* self, In<double> target, std::optional<In<std::uint32_t>> query,
                    std::size_t queries, std::optional<In<double>> weight) {
  const std::size_t n = target.shape(0);
  if (query) check_length(query->shape(0), n, "query");
  if (weight) check_length(weight->shape(0), n, "weight");
  new (self) PairLoss(n, target.data(), query ? query->data() : nullptr, queries,
                      weight ? weight->data() : nullptr);
}

template <class Loss>
void check_lengths(const Loss& loss, const In<double>& p, const Out<double>& l) {
  check_length(p.shape(0), loss.n(), "p");
  check_length(l.shape(0), loss.n(), "l");
}

}  // namespace

void bind_losses(nb::module_& m) {
  using Release = nb::call_guard<nb::gil_scoped_release>;

  nb::class_<PairLoss>(m, "PairLoss", "Hinge over pairs of rows with different targets.")
      .def("__init__", &make_pair_loss, Release(), nb::arg("target"), nb::arg("query").none(),
           nb::arg("queries"), nb::arg("weight").none())
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
      .def(
          "evaluate",
          [](PairLoss& self, In<double> p, Out<double> l, Pool& pool) {
            check_lengths(self, p, l);
            return self.evaluate(p.data(), l.data(), pool);
          },
          Release(), nb::arg("p"), nb::arg("l").noconvert(), nb::arg("pool"));

  nb::class_<TableLoss>(m, "TableLoss", "The most harmful labelling for a measure of tables.")
      .def(
          "__init__",
          [](TableLoss* self, In<std::uint8_t> positive) {
            new (self) TableLoss(positive.shape(0), positive.data());
          },
          Release(), nb::arg("positive"))
      .def_prop_ro("n", &TableLoss::n)
      .def(
          "evaluate_fbeta",
          [](TableLoss& self, In<double> p, double beta, double C, Out<double> l, Pool& pool) {
            check_lengths(self, p, l);
            return self.evaluate_fbeta(p.data(), beta, C, l.data(), pool);
          },
          Release(), nb::arg("p"), nb::arg("beta"), nb::arg("C"), nb::arg("l").noconvert(),
          nb::arg("pool"))
      .def(
          "evaluate_taken",
          [](TableLoss& self, In<double> p, std::size_t taken, double best, double C, Out<double> l,
             Pool& pool) {
            check_lengths(self, p, l);
            check(taken >= 1 && taken <= self.n(),
                  "taken must be between 1 and the number of rows");
            return self.evaluate_taken(p.data(), taken, best, C, l.data(), pool);
          },
          Release(), nb::arg("p"), nb::arg("taken"), nb::arg("best"), nb::arg("C"),
          nb::arg("l").noconvert(), nb::arg("pool"));
}

}  // namespace maxmargin
