// A Trace is a sequence of requests for objects of a constant size and cost, read from a .ct16.zst file or
// made up. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "larder/result.hpp"

namespace larder::replay {

struct Object {
  std::uint64_t key = 0;
  std::uint64_t size = 1;     // bytes
  std::uint64_t cost_ns = 0;  // of the first request; 0: the trace does not say
};

struct Trace {
  std::string name;
  std::vector<Object> objects;
  std::vector<std::uint32_t> requests;  // places in `objects`
  std::vector<std::uint64_t> costs_ns;  // of each request, where they differ from the object's; else empty

  std::uint64_t footprint() const noexcept;
  bool has_cost() const noexcept;
  bool has_size() const noexcept;
  // The upper halves of the keys name groups: more than one, and fewer than the objects by far.
  bool has_groups() const;
  std::uint64_t cost_ns(std::size_t request) const noexcept {
    return costs_ns.empty() ? objects[requests[request]].cost_ns : costs_ns[request];
  }
};

// A file of 16-byte little-endian records: u64 key, u32 size in bytes, u32 cost in microseconds. Where its
// name ends in .zst, zstd over all.
Result<Trace> load_trace(const std::string& path);
// The same, never packed. What does not fit 32 bits is cut to them.
Result<void> save_trace(const Trace& trace, const std::string& path);

// Traces that are made up, the same for the same seed; their names are in kSynthetic.
Result<Trace> make_trace(const std::string& name, std::uint64_t seed);

struct Synthetic {
  const char* name;
  const char* what;
};
extern const std::vector<Synthetic> kSynthetic;

}  // namespace larder::replay
