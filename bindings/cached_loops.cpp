#include "linear/cached_loops.hpp"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "common.hpp"
#include "losses/pointwise.hpp"
#include "rows/features.hpp"

namespace maxmargin {

namespace {

using Release = nb::call_guard<nb::gil_scoped_release>;
using Codes = In<std::int32_t>;
using Vectors = std::vector<Out<double>>;

// Class numbers (int32) or targets (float64), and costs, of n rows.
struct Metadata {
  RowMetadata known;
  Metadata(const nb::object& labels, const In<double>& costs, std::size_t n) {
    check_length(costs.shape(0), n, "costs");
    known = {costs.data(), nullptr};
    if (Codes codes; nb::try_cast(labels, codes, false)) {
      check_length(codes.shape(0), n, "codes");
      known.codes = codes.data();
    } else {
      auto targets = nb::cast<In<double>>(labels, false);
      check_length(targets.shape(0), n, "targets");
      known.targets = targets.data();
    }
  }
};

PackedBlock pack_rows(const RowsHandle& rows, std::int64_t first, nb::object labels,
                      In<double> costs, const Format& format) {
  const Metadata metadata(labels, costs, rows.shape().n);
  nb::gil_scoped_release release;
  return PackedBlock::of_rows(rows.view, first, metadata.known, format);
}

void check_strings(const In<std::uint8_t>& letters, const In<std::int64_t>& starts, std::size_t n) {
  check_length(starts.shape(0), n + 1, "starts");
  const std::int64_t* start = starts.data();
  for (std::size_t i = 0; i < n; ++i)
    check(start[i] <= start[i + 1], "the starts of the strings decrease");
  check(start[0] >= 0 && static_cast<std::size_t>(start[n]) <= letters.shape(0),
        "the starts of the strings point outside their letters");
}

PackedBlock pack_strings(In<std::uint8_t> letters, In<std::int64_t> starts, std::int64_t first,
                         nb::object labels, In<double> costs, const Format& format) {
  check(starts.shape(0) >= 1, "starts must have n + 1 entries");
  const std::size_t n = starts.shape(0) - 1;
  check_strings(letters, starts, n);
  const Metadata metadata(labels, costs, n);
  nb::gil_scoped_release release;
  return PackedBlock::of_strings(letters.data(), starts.data(), n, first, metadata.known, format);
}

nb::tuple expanded(const PackedBlock& block, const Format& format, Pool& pool) {
  ExpandedBlock all;
  {
    nb::gil_scoped_release release;
    all = expand_block(block, format, pool);
  }
  return nb::make_tuple(give(std::move(all.values)), give(std::move(all.indices)),
                        give(std::move(all.starts)));
}

void bind_packed(nb::module_& m) {
  nb::class_<FeatureMap>(m, "FeatureMap", "Features made from compact rows when they are used.")
      .def_prop_ro("d", &FeatureMap::d);
  nb::class_<Alphabet>(m, "Alphabet")
      .def(
          "__init__",
          [](Alphabet* self, In<std::uint8_t> letters) {
            new (self) Alphabet(letters.data(), letters.shape(0));
          },
          nb::arg("letters"));
  nb::class_<WeightedDegree, FeatureMap>(m, "WeightedDegree")
      .def(nb::init<const Alphabet&, std::size_t, std::size_t, int>(), nb::arg("alphabet"),
           nb::arg("length"), nb::arg("degree"), nb::arg("bits"))
      .def(
          "score",
          [](const WeightedDegree& self, In<std::uint8_t> letters, In<std::int64_t> starts,
             In<double> w, Out<double> scores, Pool& pool) {
            const std::size_t n = scores.shape(0);
            check_length(w.shape(0), self.d(), "w");
            check_strings(letters, starts, n);
            self.score(letters.data(), starts.data(), n, w.data(), scores.data(), pool);
          },
          Release(), nb::arg("letters").noconvert(), nb::arg("starts").noconvert(), nb::arg("w"),
          nb::arg("scores").noconvert(), nb::arg("pool"), "<w, phi(x)> of every string")
      .def(
          "add",
          [](const WeightedDegree& self, In<std::uint8_t> letters, In<std::int64_t> starts,
             In<double> v, Out<double> a, Pool& pool) {
            const std::size_t n = v.shape(0);
            check(a.shape(0) >= self.d(), "a must have a number for each feature");
            check_strings(letters, starts, n);
            self.add(letters.data(), starts.data(), n, v.data(), a.data(), pool);
          },
          Release(), nb::arg("letters").noconvert(), nb::arg("starts").noconvert(), nb::arg("v"),
          nb::arg("a").noconvert(), nb::arg("pool"), "a += sum_r v_r phi(x_r)")
      .def_static("dimensions", &WeightedDegree::dimensions, nb::arg("letters"), nb::arg("length"),
                  nb::arg("degree"));
  nb::enum_<Ngrams::Unit>(m, "Unit")
      .value("word", Ngrams::Unit::word)
      .value("byte", Ngrams::Unit::byte);
  nb::class_<Ngrams, FeatureMap>(m, "Ngrams")
      .def(nb::init<Ngrams::Unit, std::size_t, int>(), nb::arg("unit"), nb::arg("n"),
           nb::arg("bits"));
  nb::class_<Mismatch, FeatureMap>(m, "Mismatch")
      .def(nb::init<const Alphabet&, std::size_t, std::size_t, int>(), nb::arg("alphabet"),
           nb::arg("k"), nb::arg("mismatches"), nb::arg("bits"));
  nb::class_<Gappy, FeatureMap>(m, "Gappy")
      .def(nb::init<const Alphabet&, std::size_t, std::size_t, int>(), nb::arg("alphabet"),
           nb::arg("k"), nb::arg("span"), nb::arg("bits"));
  nb::class_<ShiftedDegree, FeatureMap>(m, "ShiftedDegree")
      .def(nb::init<const Alphabet&, std::size_t, std::size_t, std::size_t, int>(),
           nb::arg("alphabet"), nb::arg("length"), nb::arg("degree"), nb::arg("shift"),
           nb::arg("bits"));
  nb::class_<Pairs, FeatureMap>(m, "Pairs").def(nb::init<int>(), nb::arg("bits"));
  nb::class_<Hashed, FeatureMap>(m, "Hashed").def(nb::init<int>(), nb::arg("bits"));
  nb::class_<Format>(m, "Format", "What all packed rows of a run have in common.")
      .def_prop_ro("d", &Format::d)
      .def_prop_ro("width", &Format::width);
  m.def(
      "row_format",
      [](const RowsHandle& rows, double bias, std::shared_ptr<const FeatureMap> map, bool targets) {
        return Format{form_of(rows.view), rows.shape().d, bias, std::move(map), targets};
      },
      nb::arg("rows"), nb::arg("bias"), nb::arg("map").none(), nb::arg("targets") = false);
  m.def(
      "string_format",
      [](double bias, std::shared_ptr<const FeatureMap> map, bool targets) {
        return Format{Form::text, 0, bias, std::move(map), targets};
      },
      nb::arg("bias"), nb::arg("map"), nb::arg("targets") = false);
  nb::class_<PackedBlock>(m, "PackedBlock", "Rows with all that a coordinate step needs.")
      .def_prop_ro("n", &PackedBlock::n)
      .def_prop_ro("bytes", &PackedBlock::bytes)
      .def("checksum", &PackedBlock::checksum, Release(), nb::arg("before"), nb::arg("rows"),
           "of the first rows, after the rows whose checksum is `before`");
  m.def("pack_rows", &pack_rows, nb::arg("rows"), nb::arg("first"), nb::arg("labels"),
        nb::arg("costs").noconvert(), nb::arg("format"));
  m.def("pack_strings", &pack_strings, nb::arg("letters").noconvert(),
        nb::arg("starts").noconvert(), nb::arg("first"), nb::arg("labels"),
        nb::arg("costs").noconvert(), nb::arg("format"));
  m.def(
      "score_block",
      [](const PackedBlock& block, const Format& format, In<double> w, Out<double> scores,
         Pool& pool) {
        check_length(w.shape(0), format.width(), "w");
        check_length(scores.shape(0), block.n(), "scores");
        score_block(block, format, w.data(), scores.data(), pool);
      },
      Release(), nb::arg("block"), nb::arg("format"), nb::arg("w"), nb::arg("scores").noconvert(),
      nb::arg("pool"), "<w, phi(x)> of every row");
  m.def("expand_block", &expanded, nb::arg("block"), nb::arg("format"), nb::arg("pool"),
        "(values, indices, starts) of the features as CSR");
}

// Holds on to the arrays of its problems.
struct LoopsHandle {
  CachedLoops loops;
  std::size_t n, width, problems;
  std::vector<nb::object> held;

  LoopsHandle(const Format& format, std::size_t n_, std::size_t problems_, std::size_t budget,
              std::uint64_t seed)
      : loops(format, n_, problems_, budget, seed),
        n(n_),
        width(format.width()),
        problems(problems_) {}

  void set_problem(std::size_t k, std::int32_t positive, nb::object alpha, Out<double> w,
                   const std::string& loss, double x) {
    check(k < problems, "there is no problem of this number");
    check_length(w.shape(0), width, "w");
    DualVariables variables;
    if (Out<double> wide; nb::try_cast(alpha, wide, false)) {
      check_length(wide.shape(0), n, "alpha");
      variables.wide = wide.data();
    } else {
      auto narrow = nb::cast<Out<float>>(alpha, false);
      check_length(narrow.shape(0), n, "alpha");
      variables.narrow = narrow.data();
    }
    held.push_back(alpha);
    held.push_back(nb::cast(w));
    loops.set_problem(k, make_loss(loss, x), positive, variables, w.data());
  }

  void leave_out(std::size_t k, Out<std::uint8_t> bits, int fold) {
    check(k < problems, "there is no problem of this number");
    check_length(bits.shape(0), n, "bits");
    check(0 <= fold && fold < 8, "a byte has 8 bits");
    held.push_back(nb::cast(bits));
    loops.leave_out(k, bits.data(), static_cast<std::uint8_t>(1 << fold));
  }

  std::vector<const double*> pointers(const Vectors& vectors) const {
    check(vectors.size() == problems, "there must be a vector for each problem");
    std::vector<const double*> found;
    for (const auto& w : vectors) {
      check_length(w.shape(0), width, "w");
      found.push_back(w.data());
    }
    return found;
  }
  CachedLoops::Line line(const Vectors& from, const Vectors& to,
                         const OutMatrix<double>& losses) const {
    check(losses.shape(0) == problems && losses.shape(1) == CachedLoops::kLine.size(),
          "losses has another shape");
    return {pointers(from), pointers(to)};
  }
};

auto told(const CachedLoops::Tally& tally) {
  return std::make_tuple(tally.gain, tally.visits, tally.entries);
}

void bind_loops(nb::module_& m) {
  nb::class_<LoopsHandle>(m, "CachedLoops", "The trainer of the cached loops.")
      .def(nb::init<const Format&, std::size_t, std::size_t, std::size_t, std::uint64_t>(),
           nb::arg("format"), nb::arg("n"), nb::arg("problems"), nb::arg("budget"), nb::arg("seed"))
      .def("set_problem", &LoopsHandle::set_problem, nb::arg("k"), nb::arg("positive"),
           nb::arg("alpha"), nb::arg("w").noconvert(), nb::arg("loss") = "hinge",
           nb::arg("x") = 0.0)
      .def("leave_out", &LoopsHandle::leave_out, nb::arg("k"), nb::arg("bits").noconvert(),
           nb::arg("fold"), "Problem k leaves out the rows whose byte has the bit of this fold")
      .def("set_finished", [](LoopsHandle& self, std::size_t k) { self.loops.set_finished(k); })
      .def("evict_as_the_paper", [](LoopsHandle& self) { self.loops.evict_as_the_paper(); })
      .def(
          "consume",
          [](LoopsHandle& self, const PackedBlock& block, Pool& pool) {
            const CachedLoops::Arrival arrival = self.loops.consume(block, pool);
            return std::make_tuple(told(arrival.fresh), told(arrival.cached));
          },
          Release(), nb::arg("block"), nb::arg("pool"),
          "(gain, visits, entries) of the rows of the block, and of visits in the cache")
      .def(
          "sweep",
          [](LoopsHandle& self, std::size_t visits, Pool& pool) {
            return told(self.loops.sweep(visits, pool));
          },
          Release(), nb::arg("visits"), nb::arg("pool"), "(gain, visits, entries)")
      .def(
          "sweep_while",
          [](LoopsHandle& self, std::size_t slice, std::size_t allowance, double least, double rate,
             const Flag* ready, Pool& pool) {
            return told(self.loops.sweep_while({slice, allowance, least, rate}, ready, pool));
          },
          Release(), nb::arg("slice"), nb::arg("allowance"), nb::arg("least"), nb::arg("rate"),
          nb::arg("ready").none(), nb::arg("pool"),
          "(gain, visits, entries) of slices while they pay, or until it is ready")
      .def("start_pass", [](LoopsHandle& self) { self.loops.start_pass(); })
      .def("end_pass", [](LoopsHandle& self) { self.loops.end_pass(); })
      .def(
          "pass_tally",
          [](const LoopsHandle& self, std::size_t k) {
            const auto& tally = self.loops.pass_tally(k);
            return std::make_tuple(tally.losses, tally.dual, tally.most, tally.least);
          },
          nb::arg("k"), "(losses and dual terms as visited, max PG, min PG) of the pass so far")
      .def(
          "check_gap",
          [](LoopsHandle& self, const PackedBlock& block, const Vectors& from, const Vectors& to,
             OutMatrix<double> losses, Pool& pool) {
            const CachedLoops::Line line = self.line(from, to, losses);
            nb::gil_scoped_release release;
            self.loops.check_gap(block, line, losses.data(), pool);
          },
          nb::arg("block"), nb::arg("start"), nb::arg("to"), nb::arg("losses").noconvert(),
          nb::arg("pool"))
      .def(
          "check_gap_in_cache",
          [](LoopsHandle& self, const Vectors& from, const Vectors& to, OutMatrix<double> losses,
             Pool& pool) {
            const CachedLoops::Line line = self.line(from, to, losses);
            nb::gil_scoped_release release;
            self.loops.check_gap_in_cache(line, losses.data(), pool);
          },
          nb::arg("start"), nb::arg("to"), nb::arg("losses").noconvert(), nb::arg("pool"))
      .def(
          "start_check", [](LoopsHandle& self) { self.loops.start_check(); }, Release())
      .def(
          "end_check", [](LoopsHandle& self) { self.loops.end_check(); }, Release())
      .def(
          "dual_sums",
          [](const LoopsHandle& self, std::size_t k) {
            const auto& sums = self.loops.dual_sums(k);
            return std::make_tuple(sums.value, sums.size, sums.reach, sums.terms);
          },
          nb::arg("k"),
          "(dual terms, their size, sum |b_i| ||x_i||, number of u_i != 0) of the last gap check")
      .def_prop_ro("complete", [](const LoopsHandle& self) { return self.loops.complete(); })
      .def_prop_ro("cached", [](const LoopsHandle& self) { return self.loops.cached(); })
      .def_prop_ro("active", [](const LoopsHandle& self) { return self.loops.active(); })
      .def_prop_ro("longest_round",
                   [](const LoopsHandle& self) { return self.loops.longest_round(); })
      .def_prop_ro_static("line", [](nb::handle) {
        return std::vector<double>(CachedLoops::kLine.begin(), CachedLoops::kLine.end());
      });
}

}  // namespace

void bind_cached_loops(nb::module_& m) {
  bind_packed(m);
  bind_loops(m);
}

}  // namespace maxmargin
