// A Histogram counts values (sizes, nanoseconds) in log-spaced buckets: fixed memory (15 KiB), the whole
// range of 64 bits, and every value it gives back is within 1.6 % of one that was recorded. Any thread may
// record, read and merge at any time; a copy is a reading of its own.
//
// Values below 32 have a bucket each; above, every power of two is cut into 32 equal buckets.
//
//   encoding := version sum bucket_count bucket*
//   bucket   := gap times
//   version  := u8 = 1; sum, bucket_count, gap, times := LEB128, shortest form
//
// `gap` is the number of empty buckets since the one before, `times` is never 0, buckets stand in ascending
// order.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "larder/bytes.hpp"
#include "larder/result.hpp"

namespace larder {

class Histogram {
 public:
  static constexpr std::size_t kBuckets = 1920;

  struct Bucket {
    std::uint64_t lower;  // the least value it counts
    std::uint64_t upper;  // the greatest
    std::uint64_t times;
    std::uint64_t middle() const noexcept { return lower + (upper - lower) / 2; }
  };

  Histogram() noexcept = default;
  Histogram(const Histogram& other) noexcept { *this += other; }
  Histogram& operator=(const Histogram& other) noexcept;

  void record(std::uint64_t value, std::uint64_t times = 1) noexcept;
  // Adds what the other has recorded; merging in any order gives the same.
  Histogram& operator+=(const Histogram& other) noexcept;
  // `earlier` must be an earlier reading of this one.
  Histogram& operator-=(const Histogram& earlier) noexcept;

  std::uint64_t count() const noexcept;
  // Modulo 2^64.
  std::uint64_t sum() const noexcept { return sum_.load(std::memory_order_relaxed); }
  // 0 when nothing was recorded.
  double mean() const noexcept;
  // The value that a share `q` of all is not above; `q` is taken into 0 … 1. 0 when nothing was recorded.
  std::uint64_t quantile(double q) const noexcept;
  // Those that are not empty, ascending.
  std::vector<Bucket> buckets() const;

  std::string encode() const;
  // `damaged` when `encoding` is not exactly what encode() writes for some histogram.
  static Result<Histogram> decode(std::string_view encoding);
  // Adds what is encoded, at the cost of the buckets in it. False, and nothing added, where decode() fails.
  bool add(std::string_view encoding) noexcept;
  // How many values are encoded; nothing where decode() fails.
  static std::optional<std::uint64_t> count_of(std::string_view encoding) noexcept;

  friend bool operator==(const Histogram& a, const Histogram& b) noexcept;

 private:
  std::array<std::atomic<std::uint64_t>, kBuckets> times_{};
  std::atomic<std::uint64_t> sum_{0};
};

enum class Unit : std::uint8_t { count, bytes, nanoseconds };

// A value for people: `4.1 KiB`, `1.5 ms`, `12k`. ASCII.
std::string to_text(std::uint64_t value, Unit unit);

// A line of figures and one bar per range, in ASCII, each line ended. Never more than `rows_max` + 1 lines of
// about 50 + `width` columns.
std::string to_bars(const Histogram& histogram, Unit unit, std::size_t rows_max = 12, std::size_t width = 30);

}  // namespace larder
