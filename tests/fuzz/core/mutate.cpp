// A main for the fuzzers where there is no libFuzzer: runs the corpus, then changes of it by a
// seed. The options are those of libFuzzer that it knows: -runs=N -max_total_time=S -seed=N
// -artifact_prefix=P.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "fuzz.hpp"

extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

using Bytes = std::vector<std::uint8_t>;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongest = 4096;

Bytes current;
std::string artifact_prefix;

void keep_current() {
  const std::string path = artifact_prefix + "crash";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(current.data()),
             static_cast<std::streamsize>(current.size()));
  std::fprintf(stderr, "the input is in %s\n", path.c_str());
}

void on_abort(int) {
  keep_current();
  std::signal(SIGABRT, SIG_DFL);
  std::abort();
}

void run(Bytes input) {
  current = std::move(input);
  LLVMFuzzerTestOneInput(current.data(), current.size());
}

std::vector<Bytes> read_corpus(const std::vector<std::string>& places) {
  std::vector<std::filesystem::path> files;
  for (const std::string& place : places) {
    if (std::filesystem::is_directory(place)) {
      for (const auto& entry : std::filesystem::directory_iterator(place))
        files.push_back(entry.path());
    } else {
      files.push_back(place);
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<Bytes> corpus;
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  if (corpus.empty()) corpus.push_back({'1', ' ', '1', ':', '1', '\n'});
  return corpus;
}

class Mutator {
 public:
  Mutator(const std::vector<Bytes>& corpus, std::uint64_t seed) : corpus_(corpus), random_(seed) {}

  Bytes next() {
    Bytes bytes = pick();
    for (std::size_t changes = 1 + random_.below(4); changes > 0; --changes) change(bytes);
    if (bytes.size() > kLongest) bytes.resize(kLongest);
    return bytes;
  }

 private:
  const Bytes& pick() { return corpus_[random_.below(corpus_.size())]; }
  std::size_t place(const Bytes& bytes) { return random_.below(bytes.size() + 1); }
  // A piece of some input of the corpus.
  Bytes piece() {
    const Bytes& bytes = pick();
    const std::size_t begin = place(bytes);
    const std::size_t length = std::min<std::size_t>(random_.below(32), bytes.size() - begin);
    return Bytes(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                 bytes.begin() + static_cast<std::ptrdiff_t>(begin + length));
  }

  void change(Bytes& bytes) {
    static constexpr std::uint8_t kTelling[] = {0,  1,   9,   10,  13,  32,  35,  43,
                                                44, 45,  46,  48,  57,  58,  59,  62,
                                                69, 101, 124, 127, 128, 191, 239, 255};
    const auto at = bytes.begin() + static_cast<std::ptrdiff_t>(place(bytes));
    switch (random_.below(7)) {
      case 0:
        if (at != bytes.end()) *at ^= static_cast<std::uint8_t>(1U << random_.below(8));
        break;
      case 1:
        if (at != bytes.end()) *at = static_cast<std::uint8_t>(random_.next());
        break;
      case 2:
        if (at != bytes.end()) *at = kTelling[random_.below(sizeof kTelling)];
        break;
      case 3:
        bytes.insert(at, kTelling[random_.below(sizeof kTelling)]);
        break;
      case 4: {
        const Bytes other = piece();
        bytes.insert(at, other.begin(), other.end());
        break;
      }
      case 5:
        bytes.erase(at, at + std::min<std::ptrdiff_t>(
                                 static_cast<std::ptrdiff_t>(random_.below(16)), bytes.end() - at));
        break;
      default:
        bytes.erase(at, bytes.end());
    }
  }

  const std::vector<Bytes>& corpus_;
  maxmargin::Random random_;
};

}  // namespace

int main(int count, char** words) {
  std::uint64_t runs = ~std::uint64_t{0}, seed = 1;
  double seconds = 0;
  std::vector<std::string> places;
  for (int k = 1; k < count; ++k) {
    const std::string word = words[k];
    const auto value = [&](const char* name) {
      return word.rfind(name, 0) == 0 ? word.c_str() + std::strlen(name) : nullptr;
    };
    if (const char* text = value("-runs="))
      runs = std::strtoull(text, nullptr, 10);
    else if (const char* text = value("-seed="))
      seed = std::strtoull(text, nullptr, 10);
    else if (const char* text = value("-max_total_time="))
      seconds = std::strtod(text, nullptr);
    else if (const char* text = value("-artifact_prefix="))
      artifact_prefix = text;
    else if (word[0] != '-')
      places.push_back(word);
  }
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(keep_current);
  std::signal(SIGABRT, on_abort);

  const std::vector<Bytes> corpus = read_corpus(places);
  for (const Bytes& bytes : corpus) run(bytes);
  Mutator mutator(corpus, seed);
  std::uint64_t done = corpus.size();
  const auto start = Clock::now();
  for (; done < runs; ++done) {
    if (seconds > 0 && std::chrono::duration<double>(Clock::now() - start).count() > seconds) break;
    run(mutator.next());
  }
  std::fprintf(stderr, "Done %llu runs\n", static_cast<unsigned long long>(done));
  return EXIT_SUCCESS;
}
