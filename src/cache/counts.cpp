#include "cache/counts.hpp"

#include <algorithm>

#include "format/checksum.hpp"
#include "format/frame.hpp"
#include "format/little_endian.hpp"
#include "store/layout.hpp"

namespace larder {
namespace {

constexpr std::uint8_t kCountsVersion = 1;
constexpr std::size_t kCountsHeadSize = 1 + 8 + 8 * CounterTotals::kWords;
// So many bytes gather before they become old, and are folded once nobody can still be appending to them.
constexpr std::uint64_t kGatherMax = 256 * 1024;
constexpr std::size_t kReadMax = std::size_t{4} << 20;
constexpr std::int64_t kOldAfter = 10'000'000'000;

std::string encode(const CounterTotals& totals, const HistogramSet& histograms, std::int64_t at) {
  std::string payload(kCountsHeadSize, '\0');
  auto* const bytes = reinterpret_cast<std::byte*>(payload.data());
  format::store(bytes, kCountsVersion);
  format::store(bytes + 1, at);
  for (std::size_t i = 0; i < CounterTotals::kWords; ++i) format::store(bytes + 9 + 8 * i, totals.words[i]);
  return payload + histograms.encode();
}

// False when the payload is of another version or kind.
bool add(Counts& counts, std::string_view payload) {
  if (payload.size() < kCountsHeadSize || payload.front() != static_cast<char>(kCountsVersion)) return false;
  if (!counts.histograms->add(payload.substr(kCountsHeadSize))) return false;
  const std::byte* const bytes = as_bytes(payload).data();
  const auto at = format::load<std::int64_t>(bytes + 1);
  counts.since_unix_ns = counts.since_unix_ns == 0 ? at : std::min(counts.since_unix_ns, at);
  CounterTotals totals;
  for (std::size_t i = 0; i < CounterTotals::kWords; ++i)
    totals.words[i] = format::load<std::uint64_t>(bytes + 9 + 8 * i);
  counts.totals += totals;
  return true;
}

// Adds the frames of a note; the payload of the frame that names folded counts, if there is one.
std::uint64_t add_note(Counts& counts, std::string_view note) {
  std::uint64_t folded = 0;
  format::for_each_frame(note, [&](std::string_view payload) {
    if (payload.size() == sizeof folded) {
      folded = format::load<std::uint64_t>(as_bytes(payload).data());
    } else {
      add(counts, payload);
    }
    return true;
  });
  return folded;
}

std::uint64_t check_of(std::string_view note) {
  return format::checksum(as_bytes(note)).low;
}

// What counts.sum and counts.old say together.
std::string read_older(const Notes& notes, Counts& counts) {
  const std::uint64_t folded = add_note(counts, notes.read(layout::kCountsSum, kReadMax));
  std::string old = notes.read(layout::kCountsOlder, kReadMax);
  if (!old.empty() && check_of(old) != folded) add_note(counts, old);
  return old;
}

}  // namespace

bool add_counts(const Notes& notes, const CounterTotals& totals, const HistogramSet& histograms,
                std::int64_t now) {
  std::string frame;
  std::string payload = encode(totals, histograms, now);
  if (payload.size() > format::kFramePayloadMax) return false;
  format::append_frame(frame, payload);
  fold_counts(notes, now);
  // While old counts wait to be folded, new ones must not take their place.
  const std::uint64_t gather = notes.written_at(layout::kCountsOlder) == 0 ? kGatherMax : kReadMax;
  return notes.append(layout::kCounts, frame, std::max<std::uint64_t>(gather, frame.size()),
                      layout::kCountsOlder);
}

Counts read_counts(const Notes& notes) {
  Counts counts{.totals = {}, .histograms = std::make_unique<HistogramSet>()};
  read_older(notes, counts);
  add_note(counts, notes.read(layout::kCounts, kReadMax));
  return counts;
}

void fold_counts(const Notes& notes, std::int64_t now) {
  const std::int64_t written = notes.written_at(layout::kCountsOlder);
  if (written == 0 || (now - written < kOldAfter && written - now < kOldAfter)) return;
  notes.alone([&] {
    Counts counts{.totals = {}, .histograms = std::make_unique<HistogramSet>()};
    const std::string old = read_older(notes, counts);
    std::string sum;
    format::append_frame(sum, encode(counts.totals, *counts.histograms, counts.since_unix_ns));
    char folded[8];
    format::store(reinterpret_cast<std::byte*>(folded), check_of(old));
    format::append_frame(sum, {folded, sizeof folded});
    if (notes.replace(layout::kCountsSum, sum)) notes.remove(layout::kCountsOlder);
  });
}

void clear_counts(const Notes& notes) {
  notes.remove(layout::kCounts);
  notes.remove(layout::kCountsOlder);
  notes.remove(layout::kCountsSum);
}

}  // namespace larder
