#include "events/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace larder {
namespace {

constexpr std::uint8_t kHistogramVersion = 1;  // 1 (first)
constexpr unsigned kSubBits = 5;
constexpr std::uint64_t kSub = 1 << kSubBits;

constexpr std::size_t bucket_of(std::uint64_t value) noexcept {
  if (value < kSub) return value;
  const auto shift = static_cast<unsigned>(std::bit_width(value)) - kSubBits - 1;
  return shift * kSub + (value >> shift);
}

constexpr std::uint64_t lower_of(std::size_t bucket) noexcept {
  if (bucket < 2 * kSub) return bucket;
  const std::size_t shift = bucket / kSub - 1;
  return (kSub + bucket % kSub) << shift;
}

constexpr std::uint64_t upper_of(std::size_t bucket) noexcept {
  return bucket + 1 < Histogram::kBuckets ? lower_of(bucket + 1) - 1 : ~std::uint64_t{0};
}

static_assert(bucket_of(~std::uint64_t{0}) == Histogram::kBuckets - 1);
static_assert(bucket_of(lower_of(1000)) == 1000 && bucket_of(upper_of(1000)) == 1000);

void append_leb128(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

// False: cut off, too long, or not the shortest form.
bool read_leb128(std::string_view& rest, std::uint64_t& value) noexcept {
  value = 0;
  for (unsigned shift = 0; shift < 64 && !rest.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest.front());
    rest.remove_prefix(1);
    const std::uint64_t bits = byte & 0x7f;
    if (shift == 63 && bits > 1) return false;
    value |= bits << shift;
    if (byte < 0x80) return shift == 0 || byte != 0;
  }
  return false;
}

// Calls `on_bucket` with index and times of each bucket of an encoding. False: it is none, and what was told
// means nothing.
template <typename OnBucket>
bool read_encoding(std::string_view encoding, std::uint64_t& sum, const OnBucket& on_bucket) noexcept {
  if (encoding.empty() || encoding.front() != static_cast<char>(kHistogramVersion)) return false;
  encoding.remove_prefix(1);
  std::uint64_t filled = 0;
  if (!read_leb128(encoding, sum) || !read_leb128(encoding, filled) || filled > Histogram::kBuckets)
    return false;
  std::uint64_t next = 0;
  std::uint64_t all = 0;
  for (; filled > 0; --filled) {
    std::uint64_t gap = 0;
    std::uint64_t times = 0;
    if (!read_leb128(encoding, gap) || !read_leb128(encoding, times)) return false;
    if (gap >= Histogram::kBuckets - next || times == 0 || all + times < all) return false;
    on_bucket(static_cast<std::size_t>(next + gap), times);
    all += times;
    next += gap + 1;
  }
  return encoding.empty();
}

}  // namespace

void Histogram::record(std::uint64_t value, std::uint64_t times) noexcept {
  times_[bucket_of(value)].fetch_add(times, std::memory_order_relaxed);
  sum_.fetch_add(value * times, std::memory_order_relaxed);
}

Histogram& Histogram::operator=(const Histogram& other) noexcept {
  if (this == &other) return *this;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    times_[i].store(other.times_[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  sum_.store(other.sum(), std::memory_order_relaxed);
  return *this;
}

Histogram& Histogram::operator+=(const Histogram& other) noexcept {
  for (std::size_t i = 0; i < kBuckets; ++i) {
    const std::uint64_t times = other.times_[i].load(std::memory_order_relaxed);
    if (times != 0) times_[i].fetch_add(times, std::memory_order_relaxed);
  }
  sum_.fetch_add(other.sum(), std::memory_order_relaxed);
  return *this;
}

Histogram& Histogram::operator-=(const Histogram& earlier) noexcept {
  for (std::size_t i = 0; i < kBuckets; ++i) {
    const std::uint64_t times = earlier.times_[i].load(std::memory_order_relaxed);
    if (times != 0) times_[i].fetch_sub(times, std::memory_order_relaxed);
  }
  sum_.fetch_sub(earlier.sum(), std::memory_order_relaxed);
  return *this;
}

std::uint64_t Histogram::count() const noexcept {
  std::uint64_t all = 0;
  for (const auto& times : times_) all += times.load(std::memory_order_relaxed);
  return all;
}

double Histogram::mean() const noexcept {
  const std::uint64_t all = count();
  return all == 0 ? 0 : static_cast<double>(sum()) / static_cast<double>(all);
}

std::uint64_t Histogram::quantile(double q) const noexcept {
  const std::uint64_t all = count();
  if (all == 0) return 0;
  const double share = q > 0 ? std::min(q, 1.0) : 0;  // NaN counts as 0
  const double rank = std::ceil(share * static_cast<double>(all));
  // Rounding in a double may lead past the last value that was recorded.
  const std::uint64_t wanted =
      rank >= static_cast<double>(all) ? all : std::max<std::uint64_t>(static_cast<std::uint64_t>(rank), 1);
  std::uint64_t seen = 0;
  Bucket last{0, 0, 0};
  for (std::size_t i = 0; i < kBuckets; ++i) {
    const std::uint64_t times = times_[i].load(std::memory_order_relaxed);
    if (times == 0) continue;
    last = {lower_of(i), upper_of(i), times};
    seen += times;
    if (seen >= wanted) break;
  }
  return last.middle();
}

std::vector<Histogram::Bucket> Histogram::buckets() const {
  std::vector<Bucket> filled;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    const std::uint64_t times = times_[i].load(std::memory_order_relaxed);
    if (times != 0) filled.push_back({lower_of(i), upper_of(i), times});
  }
  return filled;
}

std::string Histogram::encode() const {
  const std::vector<Bucket> filled = buckets();
  std::string out(1, static_cast<char>(kHistogramVersion));
  append_leb128(out, sum());
  append_leb128(out, filled.size());
  std::size_t next = 0;
  for (const Bucket& bucket : filled) {
    const std::size_t index = bucket_of(bucket.lower);
    append_leb128(out, index - next);
    append_leb128(out, bucket.times);
    next = index + 1;
  }
  return out;
}

std::optional<std::uint64_t> Histogram::count_of(std::string_view encoding) noexcept {
  std::uint64_t sum = 0;
  std::uint64_t all = 0;
  const bool is_one = read_encoding(encoding, sum, [&](std::size_t, std::uint64_t times) { all += times; });
  return is_one ? std::optional(all) : std::nullopt;
}

bool Histogram::add(std::string_view encoding) noexcept {
  if (!count_of(encoding)) return false;
  std::uint64_t sum = 0;
  read_encoding(encoding, sum, [this](std::size_t index, std::uint64_t times) {
    times_[index].fetch_add(times, std::memory_order_relaxed);
  });
  sum_.fetch_add(sum, std::memory_order_relaxed);
  return true;
}

Result<Histogram> Histogram::decode(std::string_view encoding) {
  Histogram histogram;
  if (!histogram.add(encoding)) return fail(Code::damaged, "histogram: not an encoding");
  return histogram;
}

bool operator==(const Histogram& a, const Histogram& b) noexcept {
  for (std::size_t i = 0; i < Histogram::kBuckets; ++i) {
    if (a.times_[i].load(std::memory_order_relaxed) != b.times_[i].load(std::memory_order_relaxed))
      return false;
  }
  return a.sum() == b.sum();
}

}  // namespace larder
