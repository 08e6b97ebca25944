// The histograms that help to tune a cache of programs. Any thread may record, read and merge at any time.
//
//   encoding := version measure*
//   measure  := number size histogram
//   version  := u8 = 1; number := u8; size := u32, little-endian; histogram := `size` bytes, see
//   histogram.hpp
//
// Empty histograms are left out; numbers ascend.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "events/histogram.hpp"

namespace larder {

// Numbers are stored: they never change meaning.
enum class Measure : std::uint8_t {
  binary_size = 0,        // per product made, not per use
  cache_size_before = 1,  // weight of the cache just before a product is kept
  cache_size_after = 2,   // and just after
  hit_time = 3,           // answering a request from a tier
  miss_make_time = 4,     // making the product of a miss
  status_hit_time = 5,    // answering that a program is known good
  status_miss_time = 6,   // finding it out
};
inline constexpr std::size_t kMeasureCount = 7;

std::string_view name(Measure measure) noexcept;
Unit unit_of(Measure measure) noexcept;

// A histogram takes its 15 KiB when more than a few values are recorded in it, or when it is read: a process
// that asks for two products and ends needs none.
class HistogramSet {
 public:
  HistogramSet() noexcept = default;
  // A reading. Throws std::bad_alloc.
  HistogramSet(const HistogramSet& other);
  HistogramSet& operator=(const HistogramSet&) = delete;
  ~HistogramSet();

  // Recorded nowhere when there is no memory for it.
  void record(Measure measure, std::uint64_t value, std::uint64_t times = 1) noexcept;
  const Histogram& operator[](Measure measure) const noexcept {
    return at(static_cast<std::size_t>(measure));
  }
  // What there is no memory for is left out.
  HistogramSet& operator+=(const HistogramSet& other) noexcept;
  // `earlier` must be an earlier reading of this one.
  HistogramSet& operator-=(const HistogramSet& earlier) noexcept;

  std::string encode() const;
  // `damaged` when `encoding` is not exactly what encode() writes for some set. Throws std::bad_alloc.
  static Result<std::unique_ptr<HistogramSet>> decode(std::string_view encoding);
  // Adds what is encoded, at the cost of the buckets in it. False, and nothing added, where decode() fails,
  // or there is no memory.
  bool add(std::string_view encoding) noexcept;

 private:
  const Histogram& at(std::size_t number) const noexcept;
  static constexpr std::size_t kFew = 4;

  // Null when there is no memory.
  Histogram* made(std::size_t number) const noexcept;
  // The histogram with the first few in it. Null when nothing was recorded, or there is no memory.
  Histogram* whole(std::size_t number) const noexcept;

  mutable std::array<std::atomic<Histogram*>, kMeasureCount> histograms_{};
  // Values, and 1 more than them; 0: none. Recorded while there was no histogram.
  mutable std::array<std::array<std::atomic<std::uint64_t>, kFew>, kMeasureCount> first_{};
};

}  // namespace larder
