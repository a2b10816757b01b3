// Rows from anywhere: CSR arrays that pass check_structure can be packed, and packed rows be mapped
// to features and multiplied, without leaving their memory.
#include <memory>
#include <vector>

#include "fuzz.hpp"
#include "rows/features.hpp"

using namespace maxmargin;

namespace {

constexpr std::size_t kMostRows = 16;

std::shared_ptr<const FeatureMap> map_of(std::uint8_t choice, std::size_t length) {
  static constexpr std::uint8_t alphabet[] = {'A', 'C', 'G', 'T'};
  const std::size_t degree = 1 + (choice >> 3 & 3);
  const int bits = choice & 128 ? 6 : 0;
  switch (choice & 7) {
    case 0:
      return std::make_shared<WeightedDegree>(Alphabet(alphabet, sizeof alphabet), length, degree,
                                              bits);
    case 1:
      return std::make_shared<Ngrams>(Ngrams::Unit::word, degree, 1 + (choice >> 5));
    case 2:
      return std::make_shared<Ngrams>(Ngrams::Unit::byte, degree, 1 + (choice >> 5));
    case 3:
      return std::make_shared<Pairs>(1 + (choice >> 5));
    default:
      return nullptr;
  }
}

void use(const PackedBlock& block, const Format& format, Pool& pool) {
  const std::vector<double> w(format.width(), 0.5);
  std::vector<double> scores(block.n());
  score_block(block, format, w.data(), scores.data(), pool);
  if (!format.map) return;
  const ExpandedBlock expanded = expand_block(block, format, pool);
  require(expanded.starts.size() == block.n() + 1, "n + 1 row starts");
  for (const std::int64_t j : expanded.indices)
    require(j >= 0 && static_cast<std::size_t>(j) < format.d(), "features lie within the width");
}

void pack_strings(Input& input, Pool& pool) {
  const std::uint8_t choice = input.byte();
  const std::size_t n = 1 + input.byte() % kMostRows;
  const Exact letters(input.rest());
  std::vector<std::int64_t> starts{0};
  for (std::size_t k = 1; k <= n; ++k)
    starts.push_back(static_cast<std::int64_t>(letters.text().size() * k / n));
  const std::vector<std::int32_t> codes(n);
  const std::vector<double> costs(n, 1.0);
  const Format format{Form::text, 0, choice & 64 ? 1.0 : 0.0,
                      map_of(choice, letters.text().size() / n)};
  use(PackedBlock::of_strings(reinterpret_cast<const std::uint8_t*>(letters.text().data()),
                              starts.data(), n, 0, {costs.data(), codes.data()}, format),
      format, pool);
}

template <class Value, class Index>
void pack_sparse(Input& input, Pool& pool) {
  const std::uint8_t choice = input.byte();
  const std::size_t n = 1 + input.byte() % kMostRows, d = input.byte();
  std::vector<Index> starts(n + 1), indices;
  std::vector<Value> values;
  for (Index& start : starts) start = choice & 1 ? input.take<Index>() : input.byte();
  while (input.left()) {
    indices.push_back(choice & 2 ? input.take<Index>() : input.byte());
    values.push_back(choice & 4 ? input.take<Value>() : static_cast<Value>(input.byte()));
  }
  check_structure(starts.data(), n, indices.data(), values.size(), d, pool);
  const SparseRows<Value, Index> view{Shape{n, d, 0}, values.data(), indices.data(), starts.data()};
  const Rows rows(view);
  const std::vector<std::int32_t> codes(n);
  const std::vector<double> costs(n, 1.0);
  const Format format{form_of(rows), d, choice & 64 ? 1.0 : 0.0,
                      choice & 8 ? map_of(3 | (choice & 0xe0), 0) : nullptr};
  use(PackedBlock::of_rows(rows, 0, {costs.data(), codes.data()}, format), format, pool);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  Input input(bytes, size);
  Pool pool(1);
  try {
    switch (input.byte() & 3) {
      case 0:
        pack_strings(input, pool);
        break;
      case 1:
        pack_sparse<float, std::int32_t>(input, pool);
        break;
      case 2:
        pack_sparse<double, std::int64_t>(input, pool);
        break;
      default:
        pack_sparse<double, std::int32_t>(input, pool);
    }
  } catch (const InvalidInput&) {
  }
  return 0;
}
