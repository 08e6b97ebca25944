// The shapes that every engine of this benchmark is put through, and how they are timed. An engine is a class
// with
//   Engine(Shape)            the graph of that shape, nothing made
//   set(input, value)        a revision of its own
//   read(node)               the value, made if need be
//   watch(node)              keep it up to date after each set, where the engine can
// Nodes and inputs are numbers; what a node computes from what stands in plan.hpp, the same for all.
#pragma once

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <vector>

namespace bench {

using Value = std::uint64_t;

enum class Kind { chain, tree, wide, lattice };

struct Shape {
  Kind kind = Kind::chain;
  std::uint32_t nodes = 0;  // inputs included
};

// tree: node i reads 8i+1 .. 8i+8; those beyond the end are not there, nodes without any are inputs.
// chain: node i reads node i-1; node 0 is the input.
// wide: node 0 reads all others, which are functions of one input each: (n-1)/2 of them.
// lattice: rows of 1000; a node reads three of the row below; row 0 is inputs.
inline constexpr std::uint32_t kRow = 1000;

inline bool is_input(const Shape& shape, std::uint32_t node) {
  switch (shape.kind) {
    case Kind::chain:
      return node == 0;
    case Kind::tree:
      return std::uint64_t{8} * node + 1 >= shape.nodes;
    case Kind::wide:
      return node > (shape.nodes - 1) / 2;
    case Kind::lattice:
      return node < kRow;
  }
  return false;
}

// What a node makes of what it reads. Wide and tree leaves drop the lowest bit first, so that a change of it
// is cut off after one level.
template <typename Read>
Value compute(const Shape& shape, std::uint32_t node, Read read) {
  switch (shape.kind) {
    case Kind::chain:
      return read(node - 1) + 1;
    case Kind::tree: {
      Value sum = node;
      const std::uint64_t first = std::uint64_t{8} * node + 1;
      for (std::uint64_t child = first; child < first + 8 && child < shape.nodes; ++child)
        sum += read(static_cast<std::uint32_t>(child)) >> 1;
      return sum * 2;
    }
    case Kind::wide: {
      const std::uint32_t half = (shape.nodes - 1) / 2;
      if (node != 0) return read(node + half) >> 1;
      Value sum = 0;
      for (std::uint32_t other = 1; other <= half; ++other) sum += read(other);
      return sum;
    }
    case Kind::lattice: {
      const std::uint32_t row = node / kRow;
      const std::uint32_t column = node % kRow;
      const std::uint32_t below = (row - 1) * kRow;
      return (read(below + (column + kRow - 1) % kRow) >> 1) + read(below + column) +
             read(below + (column + 1) % kRow) + 1;
    }
  }
  return 0;
}

inline std::uint32_t top(const Shape& shape) {
  return shape.kind == Kind::chain || shape.kind == Kind::lattice ? shape.nodes - 1 : 0;
}

// Processor time of this thread: what other work on the machine takes does not count, what it does to the
// caches does.
inline double now_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

inline double resident_bytes() {
  malloc_trim(0);
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  unsigned long size = 0;
  unsigned long resident = 0;
  if (file == nullptr || std::fscanf(file, "%lu %lu", &size, &resident) != 2) resident = 0;
  if (file != nullptr) std::fclose(file);
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

inline double median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all.empty() ? 0 : all[all.size() / 2];
}

}  // namespace bench
