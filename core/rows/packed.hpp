// Rows packed one after the other, each with all that a coordinate step needs to know of it: the
// form in which they pass from the reader to the trainer and lie in the cache. A packed row owns
// nothing and points nowhere, so that moving it is a copy of bytes.
//
// With a feature map the bytes are the compact row (a string, say), and the map makes the features
// each time the row is used.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/array.hpp"
#include "rows/rows.hpp"

namespace maxmargin {

// What the bytes of a packed row are.
enum class Form : int { dense32, dense64, sparse32, sparse64, text };

struct PackedRow {
  std::int64_t id;      // number of the row in its source
  double cost;          // C_i
  double norm;          // ||x_i||^2, the constant feature included
  std::int32_t code;    // number of its class
  std::uint32_t count;  // values or letters
  std::uint32_t bytes;  // of this header and what follows it: a multiple of 8
  std::uint32_t slot;   // place in the cache

  // Values; indices (uint32) behind them where the form is sparse.
  const char* payload() const { return reinterpret_cast<const char*>(this + 1); }
  // What a regression is to predict: the last number of a row, where the format has targets.
  double target() const {
    return *reinterpret_cast<const double*>(reinterpret_cast<const char*>(this) + bytes - 8);
  }
  template <class Value>
  const Value* values() const {
    return reinterpret_cast<const Value*>(payload());
  }
  template <class Value>
  const std::uint32_t* indices() const {
    return reinterpret_cast<const std::uint32_t*>(payload() + count * sizeof(Value));
  }
};
static_assert(sizeof(PackedRow) == 40);

// Features made from a compact row. Indices may be in any order, and are distinct.
struct Expanded {
  std::vector<std::uint32_t> indices;
  std::vector<double> values;
  void clear() {
    indices.clear();
    values.clear();
  }
};

class FeatureMap {
 public:
  virtual ~FeatureMap() = default;
  virtual std::size_t d() const = 0;                // features it makes
  virtual std::size_t typical_entries() const = 0;  // about how many of them are not 0 in a row
  // Throws InvalidInput where the row is none that it can take.
  virtual void expand(Form form, const PackedRow& row, Expanded& out) const = 0;
};

// What all packed rows of a run have in common.
struct Format {
  Form form = Form::dense64;
  std::size_t d_in = 0;  // features of the rows as they are
  double bias = 0;       // constant feature; 0 for none
  std::shared_ptr<const FeatureMap> map;
  bool has_targets = false;  // rows of a regression; else they have classes

  std::size_t d() const { return map ? map->d() : d_in; }
  std::size_t width() const { return d() + (bias != 0 ? 1 : 0); }
};

// What rows are told besides their entries: a cost each, and a class or a target.
struct RowMetadata {
  const double* costs;
  const std::int32_t* codes;
  const double* targets = nullptr;
};

class PackedBlock {
 public:
  std::size_t n() const { return offsets_.size(); }
  std::size_t bytes() const { return bytes_.size(); }
  const PackedRow& row(std::size_t r) const {
    return *reinterpret_cast<const PackedRow*>(bytes_.data() + offsets_[r]);
  }

  // The number of the first row, and one more than that of the last.
  std::int64_t first() const { return n() > 0 ? row(0).id : 0; }
  std::int64_t end() const { return n() > 0 ? row(n() - 1).id + 1 : 0; }

  // CRC-32C of the first `rows` rows, with all that is known of them, after the rows whose checksum
  // is `before`. So rows have one checksum however they are cut into blocks.
  std::uint32_t checksum(std::uint32_t before, std::size_t rows) const;

  // Rows `first` and on of a source. Throws InvalidInput where a value is not finite, a cost is not
  // finite or negative, a target is not finite, or a class has no number.
  static PackedBlock of_rows(const Rows& rows, std::int64_t first, const RowMetadata& metadata,
                             const Format& format);
  static PackedBlock of_strings(const std::uint8_t* letters, const std::int64_t* starts,
                                std::size_t n, std::int64_t first, const RowMetadata& metadata,
                                const Format& format);

 private:
  PackedRow& place(std::size_t payload, const Format& format);
  void finish(const Format& format);

  Array<char> bytes_;
  std::vector<std::size_t> offsets_;
  std::size_t used_ = 0;
};

// The form that rows of a view are packed in.
Form form_of(const Rows& rows);

double dense_dot(const float* x, const double* w, std::size_t d);
double dense_dot(const double* x, const double* w, std::size_t d);
void dense_add(const float* x, double c, double* w, std::size_t d);
void dense_add(const double* x, double c, double* w, std::size_t d);
// The same, with what each sum lost to rounding added to `lost`.
void dense_add(const float* x, double c, double* w, double* lost, std::size_t d);
void dense_add(const double* x, double c, double* w, double* lost, std::size_t d);

// sum += term, with what was lost to rounding added to `lost` (Knuth's TwoSum).
MAXMARGIN_INLINE void add_compensated(double term, double& sum, double& lost) {
  const double total = sum + term;
  const double added = total - sum;
  lost += (sum - (total - added)) + (term - added);
  sum = total;
}

// A row as features, ready for products with w. `entries` counts the work of one product.
template <class Value>
struct DenseEntries {
  const Value* x;
  std::size_t d;
  double bias;
  double dot(const double* w) const { return dense_dot(x, w, d) + (bias != 0 ? bias * w[d] : 0.0); }
  void add(double c, double* w) const {
    dense_add(x, c, w, d);
    if (bias != 0) w[d] += c * bias;
  }
  void add(double c, double* w, double* lost) const {
    dense_add(x, c, w, lost, d);
    if (bias != 0) add_compensated(c * bias, w[d], lost[d]);
  }
  std::size_t entries() const { return d; }
};

template <class Value>
struct SparseEntries {
  const Value* x;
  const std::uint32_t* j;
  std::size_t count, d;
  double bias;
  double dot(const double* w) const {
    return sparse_dot(x, j, count, w) + (bias != 0 ? bias * w[d] : 0.0);
  }
  void add(double c, double* w) const {
    sparse_add(x, j, count, c, w);
    if (bias != 0) w[d] += c * bias;
  }
  void add(double c, double* w, double* lost) const {
    for (std::size_t q = 0; q < count; ++q)
      add_compensated(c * static_cast<double>(x[q]), w[j[q]], lost[j[q]]);
    if (bias != 0) add_compensated(c * bias, w[d], lost[d]);
  }
  std::size_t entries() const { return count; }
};

// How to get from a packed row to its features, one for each form.
template <class Value>
struct DenseAccess {
  const Format& format;
  DenseEntries<Value> operator()(const PackedRow& row) {
    return {row.values<Value>(), format.d_in, format.bias};
  }
};
template <class Value>
struct SparseAccess {
  const Format& format;
  SparseEntries<Value> operator()(const PackedRow& row) {
    return {row.values<Value>(), row.indices<Value>(), row.count, format.d_in, format.bias};
  }
};
struct MappedAccess {
  const Format& format;
  Expanded expanded = {};
  SparseEntries<double> operator()(const PackedRow& row) {
    expanded.clear();
    format.map->expand(format.form, row, expanded);
    return {expanded.values.data(), expanded.indices.data(), expanded.values.size(), format.d(),
            format.bias};
  }
};

// f(access) with the access that fits the format.
template <class F>
auto with_access(const Format& format, F f) {
  if (format.map) return f(MappedAccess{format});
  switch (format.form) {
    case Form::dense32:
      return f(DenseAccess<float>{format});
    case Form::dense64:
      return f(DenseAccess<double>{format});
    case Form::sparse32:
      return f(SparseAccess<float>{format});
    case Form::sparse64:
      return f(SparseAccess<double>{format});
    case Form::text:
      break;
  }
  throw InvalidInput("strings need a feature map, such as weighted_degree:8 or word_ngrams:2");
}

}  // namespace maxmargin
