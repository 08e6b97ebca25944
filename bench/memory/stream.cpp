// Writes the index stream of a run: `stream ENTRIES LENGTH FILE`, LENGTH operations for each thread,
// Zipf 1.0. Ranks are dealt to indices at random, so that popular values do not stand side by side in memory.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <utility>
#include <vector>

#include "bench/memory/workload.hpp"

namespace {

// splitmix64: the same stream on every machine, whatever its standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(next() % bound); }
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: stream ENTRIES LENGTH FILE\n");
    return 2;
  }
  const std::size_t entries = std::strtoull(argv[1], nullptr, 10);
  const std::size_t length = std::strtoull(argv[2], nullptr, 10);
  if (entries == 0 || length == 0) {
    std::fprintf(stderr, "stream: ENTRIES and LENGTH must be positive\n");
    return 2;
  }

  std::vector<double> below(entries);  // share of requests that go to a rank up to this one
  double total = 0;
  for (std::size_t rank = 0; rank < entries; ++rank)
    below[rank] = total += 1.0 / static_cast<double>(rank + 1);

  std::vector<std::uint32_t> index_of_rank(entries);
  std::iota(index_of_rank.begin(), index_of_rank.end(), 0U);
  Random deal(1);
  for (std::size_t i = entries; i > 1; --i) std::swap(index_of_rank[i - 1], index_of_rank[deal.below(i)]);

  std::FILE* file = std::fopen(argv[3], "wb");
  if (file == nullptr) {
    std::perror(argv[3]);
    return 2;
  }
  std::vector<std::uint32_t> indices(length);
  for (std::size_t thread = 0; thread < larder::bench::kThreadsMax; ++thread) {
    Random draw(100 + thread);
    for (std::uint32_t& index : indices) {
      const auto rank = std::upper_bound(below.begin(), below.end(), draw.unit() * total) - below.begin();
      index = index_of_rank[std::min(static_cast<std::size_t>(rank), entries - 1)];
    }
    if (std::fwrite(indices.data(), sizeof(indices[0]), length, file) != length) {
      std::perror(argv[3]);
      return 2;
    }
  }
  if (std::fclose(file) != 0) {
    std::perror(argv[3]);
    return 2;
  }
  return 0;
}
