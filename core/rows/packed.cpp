#include "rows/packed.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include "base/checksum.hpp"

namespace maxmargin {

namespace {

constexpr std::size_t rounded(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

template <class View>
struct Packer;

// Dense rows, contiguous along rows or columns. Small integers are packed as float32, which holds
// them exactly.
template <class View>
struct DensePacker {
  using Given = std::remove_cv_t<std::remove_pointer_t<decltype(View::values)>>;
  using Value = std::conditional_t<std::is_floating_point_v<Given>, Given, float>;
  static constexpr Form form = sizeof(Value) == 4 ? Form::dense32 : Form::dense64;
  static std::size_t payload(const View& rows, std::size_t) { return rows.d * sizeof(Value); }
  static std::uint32_t write(const View& rows, std::size_t i, char* out) {
    Value* x = reinterpret_cast<Value*>(out);
    rows.each(i, [x](std::size_t j, double value) { x[j] = static_cast<Value>(value); });
    return static_cast<std::uint32_t>(rows.d);
  }
};
template <class Value>
struct Packer<DenseRows<Value>> : DensePacker<DenseRows<Value>> {};
template <class Value>
struct Packer<ColumnRows<Value>> : DensePacker<ColumnRows<Value>> {};

template <class Value, class Index>
struct Packer<SparseRows<Value, Index>> {
  using View = SparseRows<Value, Index>;
  static constexpr Form form = sizeof(Value) == 4 ? Form::sparse32 : Form::sparse64;
  static std::size_t payload(const View& rows, std::size_t i) {
    return rows.entries(i) * (sizeof(Value) + sizeof(std::uint32_t));
  }
  static std::uint32_t write(const View& rows, std::size_t i, char* out) {
    const std::size_t count = rows.entries(i);
    std::copy_n(rows.values + rows.begin(i), count, reinterpret_cast<Value*>(out));
    std::uint32_t* index = reinterpret_cast<std::uint32_t*>(out + count * sizeof(Value));
    const Index* from = rows.indices + rows.begin(i);
    for (std::size_t q = 0; q < count; ++q) index[q] = static_cast<std::uint32_t>(from[q]);
    return static_cast<std::uint32_t>(count);
  }
};

template <class Entries>
double squared(const Entries& row) {
  double sum = row.bias * row.bias;
  for (std::size_t q = 0; q < row.entries(); ++q) {
    const double x = static_cast<double>(row.x[q]);
    sum += x * x;
  }
  return sum;
}

template <class Value>
MAXMARGIN_INLINE double dot_of(const Value* x, const double* w, std::size_t d) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t j = 0; j < d; ++j) sum += static_cast<double>(x[j]) * w[j];
  return sum;
}
template <class Value>
MAXMARGIN_INLINE void add_to(const Value* x, double c, double* w, std::size_t d) {
#pragma omp simd
  for (std::size_t j = 0; j < d; ++j) w[j] += c * static_cast<double>(x[j]);
}
template <class Value>
MAXMARGIN_INLINE void add_compensated_to(const Value* x, double c, double* w, double* lost,
                                         std::size_t d) {
#pragma omp simd
  for (std::size_t j = 0; j < d; ++j) add_compensated(c * static_cast<double>(x[j]), w[j], lost[j]);
}

constexpr std::size_t row_bytes(std::size_t payload, const Format& format) {
  return rounded(sizeof(PackedRow) + payload) + (format.has_targets ? sizeof(double) : 0);
}

std::string number_of(std::int64_t id) {
  return "row " + std::to_string(id) + " (the first is number 0)";
}

void check_metadata(const RowMetadata& metadata, const Format& format) {
  check((metadata.targets != nullptr) == format.has_targets,
        "rows of this format need targets, or classes in place of them");
}

void describe(PackedRow& row, std::int64_t id, const RowMetadata& metadata, std::size_t i) {
  const double cost = metadata.costs[i];
  const std::int32_t code = metadata.targets ? 0 : metadata.codes[i];
  if (!(cost >= 0) || !std::isfinite(cost) || code < 0)
    throw InvalidInput(number_of(id) + " has cost " + std::to_string(cost) + " and class number " +
                       std::to_string(code) +
                       "; expected a finite cost >= 0 and a class number >= 0");
  row.id = id;
  row.cost = cost;
  row.code = code;
  if (!metadata.targets) return;
  const double target = metadata.targets[i];
  if (!std::isfinite(target))
    throw InvalidInput(number_of(id) + " has target " + std::to_string(target) +
                       "; expected a finite number");
  std::memcpy(reinterpret_cast<char*>(&row) + row.bytes - sizeof(double), &target, sizeof(double));
}

}  // namespace

MAXMARGIN_CLONES double dense_dot(const float* x, const double* w, std::size_t d) {
  return dot_of(x, w, d);
}
MAXMARGIN_CLONES double dense_dot(const double* x, const double* w, std::size_t d) {
  return dot_of(x, w, d);
}
MAXMARGIN_CLONES void dense_add(const float* x, double c, double* w, std::size_t d) {
  add_to(x, c, w, d);
}
MAXMARGIN_CLONES void dense_add(const double* x, double c, double* w, std::size_t d) {
  add_to(x, c, w, d);
}
MAXMARGIN_CLONES void dense_add(const float* x, double c, double* w, double* lost, std::size_t d) {
  add_compensated_to(x, c, w, lost, d);
}
MAXMARGIN_CLONES void dense_add(const double* x, double c, double* w, double* lost, std::size_t d) {
  add_compensated_to(x, c, w, lost, d);
}

Form form_of(const Rows& rows) {
  return std::visit([](const auto& view) { return Packer<std::decay_t<decltype(view)>>::form; },
                    rows);
}

// Room for the next row.
PackedRow& PackedBlock::place(std::size_t payload, const Format& format) {
  const std::size_t bytes = row_bytes(payload, format), entries = rounded(payload);
  check(bytes <= std::numeric_limits<std::uint32_t>::max(), "a row takes more than 4 GB");
  PackedRow& row = *reinterpret_cast<PackedRow*>(bytes_.data() + used_);
  std::memset(bytes_.data() + used_ + sizeof(PackedRow) + entries - (entries > 0 ? 8 : 0), 0,
              entries > 0 ? 8 : 0);  // what follows the entries counts too
  row.bytes = static_cast<std::uint32_t>(bytes);
  row.slot = 0;
  offsets_.push_back(used_);
  used_ += bytes;
  return row;
}

// Squared norms, which tell too whether all values are finite.
void PackedBlock::finish(const Format& format) {
  with_access(format, [&](auto access) {
    for (std::size_t r = 0; r < n(); ++r) {
      PackedRow& row = *reinterpret_cast<PackedRow*>(bytes_.data() + offsets_[r]);
      row.norm = squared(access(row));
      if (!std::isfinite(row.norm))
        throw InvalidInput("row " + std::to_string(row.id) +
                           " (the first is number 0) holds NaN, infinity or a number too large to "
                           "be squared; expected finite numbers");
    }
  });
}

std::uint32_t PackedBlock::checksum(std::uint32_t before, std::size_t rows) const {
  check(rows <= n(), "a block has fewer rows than its checksum is asked for");
  return crc32c(bytes_.data(), rows < n() ? offsets_[rows] : used_, before);
}

PackedBlock PackedBlock::of_rows(const Rows& rows, std::int64_t first, const RowMetadata& metadata,
                                 const Format& format) {
  PackedBlock block;
  check_metadata(metadata, format);
  const Shape& size = shape(rows);
  check(size.d == format.d_in && form_of(rows) == format.form,
        "the rows from number " + std::to_string(first) + " have " + std::to_string(size.d) +
            " features or another type of numbers than the rows before them; expected " +
            std::to_string(format.d_in) + " features");
  std::visit(
      [&](const auto& view) {
        using Pack = Packer<std::decay_t<decltype(view)>>;
        std::size_t total = 0;
        for (std::size_t i = 0; i < size.n; ++i) total += row_bytes(Pack::payload(view, i), format);
        block.bytes_ = Array<char>(total);
        block.offsets_.reserve(size.n);
        for (std::size_t i = 0; i < size.n; ++i) {
          PackedRow& row = block.place(Pack::payload(view, i), format);
          describe(row, first + static_cast<std::int64_t>(i), metadata, i);
          row.count = Pack::write(view, i, reinterpret_cast<char*>(&row + 1));
        }
      },
      rows);
  block.finish(format);
  return block;
}

PackedBlock PackedBlock::of_strings(const std::uint8_t* letters, const std::int64_t* starts,
                                    std::size_t n, std::int64_t first, const RowMetadata& metadata,
                                    const Format& format) {
  PackedBlock block;
  check_metadata(metadata, format);
  check(format.form == Form::text, "these rows are strings; the rows before them were not");
  std::size_t total = 0;
  for (std::size_t i = 0; i < n; ++i)
    total += row_bytes(static_cast<std::size_t>(starts[i + 1] - starts[i]), format);
  block.bytes_ = Array<char>(total);
  block.offsets_.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto length = static_cast<std::size_t>(starts[i + 1] - starts[i]);
    PackedRow& row = block.place(length, format);
    describe(row, first + static_cast<std::int64_t>(i), metadata, i);
    row.count = static_cast<std::uint32_t>(length);
    std::copy_n(letters + starts[i], length, reinterpret_cast<std::uint8_t*>(&row + 1));
  }
  block.finish(format);
  return block;
}

}  // namespace maxmargin
