#include "base/checksum.hpp"
#include "base/flag.hpp"
#include "base/vectors.hpp"
#include "common.hpp"

namespace maxmargin {

namespace {
// Runs Python's signal handlers while a long loop has released the GIL.
void handle_signals() {
  nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}
}  // namespace

void bind_base(nb::module_& m) {
  nb::exception<InvalidInput>(m, "InvalidInput", PyExc_ValueError);
  nb::exception<Unordered>(m, "Unordered", m.attr("InvalidInput").ptr());
  nb::exception<Stopped>(m, "Stopped");

  nb::enum_<StopReason>(m, "StopReason")
      .value("none", StopReason::none)
      .value("interrupted", StopReason::interrupted)
      .value("time", StopReason::time)
      .value("callback", StopReason::callback);

  nb::class_<Flag>(m, "Flag", "A word from one thread to another.")
      .def(nb::init<>())
      .def("set", &Flag::set, nb::arg("value"));

  nb::class_<Stop>(m, "Stop", "A request to end early, by the user, the clock or a callback.")
      .def("__init__",
           [](Stop* self) {
             new (self) Stop();
             self->set_hook(handle_signals);
           })
      .def("set_deadline", &Stop::set_deadline, nb::arg("seconds_from_now"))
      .def("interrupt", &Stop::request, nb::arg("reason") = StopReason::interrupted)
      .def("poll", &Stop::poll, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("reason", &Stop::reason);

  nb::class_<Pool>(m, "Pool", "The threads of one computation.")
      .def(nb::init<std::int64_t, Stop*>(), nb::arg("threads"), nb::arg("stop") = nullptr,
           nb::keep_alive<1, 3>())
      .def_prop_ro("threads", &Pool::threads)
      .def(
          "raise_if_stopped",
          [](Pool& self) {
            if (self.stop() && self.stop()->poll()) throw Stopped();
          },
          nb::call_guard<nb::gil_scoped_release>(), "Raises Stopped if the stop flag is up.");

  using Release = nb::call_guard<nb::gil_scoped_release>;
  m.def(
      "inner",
      [](In<double> x, In<double> y, Pool& pool) {
        check_length(y.shape(0), x.shape(0), "y");
        return inner(x.data(), y.data(), x.shape(0), pool);
      },
      Release(), nb::arg("x"), nb::arg("y"), nb::arg("pool"), "sum_i x_i y_i");
  m.def(
      "axpby",
      [](double alpha, In<double> x, double beta, In<double> y, Out<double> out, Pool& pool) {
        check_length(y.shape(0), x.shape(0), "y");
        check_length(out.shape(0), x.shape(0), "out");
        blend(alpha, x.data(), beta, y.data(), out.data(), x.shape(0), pool);
      },
      Release(), nb::arg("alpha"), nb::arg("x"), nb::arg("beta"), nb::arg("y"),
      nb::arg("out").noconvert(), nb::arg("pool"), "out = alpha x + beta y");

  using Bytes = In<std::uint8_t>;
  const auto bind_checksum = [&m](const char* name, auto* checksum, const char* text) {
    m.def(
        name,
        [checksum](Bytes bytes, std::uint32_t before) {
          return checksum(bytes.data(), bytes.shape(0), before);
        },
        Release(), nb::arg("bytes"), nb::arg("before") = 0, text);
  };
  bind_checksum("crc32c", &crc32c, "CRC-32C of bytes that follow those of checksum `before`.");
  bind_checksum("crc32c_by_tables", &crc32c_by_tables, "The same without the instruction for it.");

  m.def("available_cpus", &available_cpus, "CPUs this process may use (its affinity mask).");
  m.def("most_threads", &most_threads, "The most threads a Pool makes, whatever is asked for.");
}

}  // namespace maxmargin
