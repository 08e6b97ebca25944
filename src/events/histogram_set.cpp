#include "events/histogram_set.hpp"

#include <new>

namespace larder {
namespace {

constexpr std::uint8_t kHistogramSetVersion = 1;  // 1 (first)
constexpr std::size_t kPrefixSize = 1 + 4;

// What stands for all in which nothing was recorded.
constinit const Histogram empty;

// Calls `on_part` with the number and the encoding of each histogram of a set. False: it is no set, or
// `on_part` said so.
template <typename OnPart>
bool each_part(std::string_view encoding, const OnPart& on_part) noexcept {
  if (encoding.empty() || encoding.front() != static_cast<char>(kHistogramSetVersion)) return false;
  encoding.remove_prefix(1);
  for (std::size_t next = 0; !encoding.empty();) {
    if (encoding.size() < kPrefixSize) return false;
    const std::size_t number = static_cast<unsigned char>(encoding.front());
    std::size_t size = 0;
    for (unsigned byte = 0; byte < 4; ++byte) {
      size |= std::size_t{static_cast<unsigned char>(encoding[1 + byte])} << (8 * byte);
    }
    encoding.remove_prefix(kPrefixSize);
    if (number < next || number >= kMeasureCount || size > encoding.size()) return false;
    if (!on_part(number, encoding.substr(0, size))) return false;
    encoding.remove_prefix(size);
    next = number + 1;
  }
  return true;
}

}  // namespace

std::string_view name(Measure measure) noexcept {
  switch (measure) {
    case Measure::binary_size:
      return "binary_size";
    case Measure::cache_size_before:
      return "cache_size_before";
    case Measure::cache_size_after:
      return "cache_size_after";
    case Measure::hit_time:
      return "hit_time";
    case Measure::miss_make_time:
      return "miss_make_time";
    case Measure::status_hit_time:
      return "status_hit_time";
    case Measure::status_miss_time:
      return "status_miss_time";
  }
  return "unknown";
}

Unit unit_of(Measure measure) noexcept {
  return measure <= Measure::cache_size_after ? Unit::bytes : Unit::nanoseconds;
}

// By the other constructor, so that what was copied goes again when memory ends.
HistogramSet::HistogramSet(const HistogramSet& other) : HistogramSet() {
  for (std::size_t i = 0; i < kMeasureCount; ++i) {
    const Histogram* const from = other.whole(i);
    if (from != nullptr) histograms_[i].store(new Histogram(*from), std::memory_order_relaxed);
  }
}

HistogramSet::~HistogramSet() {
  for (auto& each : histograms_) delete each.load(std::memory_order_acquire);
}

const Histogram& HistogramSet::at(std::size_t number) const noexcept {
  const Histogram* const found = whole(number);
  return found == nullptr ? empty : *found;
}

Histogram* HistogramSet::made(std::size_t number) const noexcept {
  Histogram* found = histograms_[number].load(std::memory_order_acquire);
  if (found != nullptr) return found;
  auto* const fresh = new (std::nothrow) Histogram;
  if (fresh == nullptr) return nullptr;
  if (histograms_[number].compare_exchange_strong(found, fresh, std::memory_order_acq_rel)) return fresh;
  delete fresh;  // another thread was faster
  return found;
}

Histogram* HistogramSet::whole(std::size_t number) const noexcept {
  for (auto& each : first_[number]) {
    if (each.load(std::memory_order_relaxed) == 0) continue;
    Histogram* const histogram = made(number);
    if (histogram == nullptr) break;
    // Whoever takes it records it.
    const std::uint64_t recorded = each.exchange(0, std::memory_order_relaxed);
    if (recorded != 0) histogram->record(recorded - 1);
  }
  return histograms_[number].load(std::memory_order_acquire);
}

void HistogramSet::record(Measure measure, std::uint64_t value, std::uint64_t times) noexcept {
  const auto number = static_cast<std::size_t>(measure);
  const bool is_first = histograms_[number].load(std::memory_order_acquire) == nullptr;
  if (is_first && times == 1 && value + 1 != 0) {
    for (auto& each : first_[number]) {
      std::uint64_t none = 0;
      if (each.compare_exchange_strong(none, value + 1, std::memory_order_relaxed)) return;
    }
  }
  if (Histogram* const histogram = made(number)) histogram->record(value, times);
}

HistogramSet& HistogramSet::operator+=(const HistogramSet& other) noexcept {
  for (std::size_t i = 0; i < kMeasureCount; ++i) {
    const Histogram* const more = other.whole(i);
    Histogram* const mine = more == nullptr ? nullptr : made(i);
    if (mine != nullptr) *mine += *more;
  }
  return *this;
}

HistogramSet& HistogramSet::operator-=(const HistogramSet& earlier) noexcept {
  for (std::size_t i = 0; i < kMeasureCount; ++i) {
    const Histogram* const less = earlier.whole(i);
    whole(i);
    Histogram* const mine = less == nullptr ? nullptr : made(i);
    if (mine != nullptr) *mine -= *less;
  }
  return *this;
}

std::string HistogramSet::encode() const {
  std::string out(1, static_cast<char>(kHistogramSetVersion));
  for (std::size_t i = 0; i < kMeasureCount; ++i) {
    if (whole(i) == nullptr) continue;
    const Histogram reading = at(i);
    if (reading.count() == 0) continue;
    const std::string encoded = reading.encode();
    out.push_back(static_cast<char>(i));
    for (unsigned byte = 0; byte < 4; ++byte) out.push_back(static_cast<char>(encoded.size() >> (8 * byte)));
    out += encoded;
  }
  return out;
}

bool HistogramSet::add(std::string_view encoding) noexcept {
  const auto is_sound = [this](std::size_t number, std::string_view part) {
    return Histogram::count_of(part).value_or(0) != 0 && made(number) != nullptr;
  };
  if (!each_part(encoding, is_sound)) return false;
  return each_part(encoding,
                   [this](std::size_t number, std::string_view part) { return made(number)->add(part); });
}

Result<std::unique_ptr<HistogramSet>> HistogramSet::decode(std::string_view encoding) {
  auto set = std::make_unique<HistogramSet>();
  if (!set->add(encoding)) return fail(Code::damaged, "histograms: not an encoding");
  return set;
}

}  // namespace larder
