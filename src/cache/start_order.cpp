#include "cache/start_order.hpp"

#include <algorithm>

#include "format/checksum.hpp"
#include "format/frame.hpp"
#include "format/little_endian.hpp"
#include "store/layout.hpp"

namespace larder {
namespace {

constexpr std::uint8_t kOrderVersion = 1;
constexpr std::uint8_t kLoadFirst = 1;
constexpr std::size_t kEntrySize = 17;
constexpr std::size_t kOrderNoteMax = 1 + StartOrder::kMax * kEntrySize + format::kFrameHeaderSize;

std::string note_name(std::string_view program) {
  const std::uint64_t hash = format::checksum(as_bytes(program)).low;
  return std::string(layout::kStartPrefix) + Key{hash, 0}.hex().substr(0, 16);
}

}  // namespace

std::string encode_start_order(std::vector<FirstUse> uses) {
  std::stable_partition(uses.begin(), uses.end(), [](const FirstUse& use) { return use.load_first; });
  std::string payload(1 + uses.size() * kEntrySize, '\0');
  auto* at = reinterpret_cast<std::byte*>(payload.data());
  format::store(at++, kOrderVersion);
  for (const FirstUse& use : uses) {
    format::store(at, use.load_first ? kLoadFirst : std::uint8_t{0});
    format::store(at + 1, use.key.high);
    format::store(at + 9, use.key.low);
    at += kEntrySize;
  }
  std::string note;
  format::append_frame(note, payload);
  return note;
}

std::vector<FirstUse> decode_start_order(std::string_view note) {
  std::vector<FirstUse> uses;
  format::for_each_frame(note, [&](std::string_view payload) {
    if (payload.size() % kEntrySize != 1 || payload.front() != static_cast<char>(kOrderVersion)) return true;
    const std::byte* at = as_bytes(payload).data() + 1;
    for (std::size_t i = 0; i < payload.size() / kEntrySize; ++i, at += kEntrySize) {
      uses.push_back({.key = {format::load<std::uint64_t>(at + 1), format::load<std::uint64_t>(at + 9)},
                      .load_first = (format::load<std::uint8_t>(at) & kLoadFirst) != 0});
    }
    return false;
  });
  return uses;
}

void StartOrder::used(const Key& key, bool load_first) {
  MutexLock lock(mutex_);
  if (uses_.size() >= kMax || !seen_.insert(key).second) return;
  uses_.push_back({key, load_first});
}

void StartOrder::clear() {
  MutexLock lock(mutex_);
  uses_.clear();
  seen_.clear();
  saved_ = 0;
}

void StartOrder::save(const Notes& notes, std::string_view program) {
  std::vector<FirstUse> uses;
  {
    MutexLock lock(mutex_);
    if (uses_.size() == saved_) return;
    uses = uses_;
    saved_ = uses_.size();
  }
  notes.replace(note_name(program), encode_start_order(std::move(uses)));
}

std::vector<FirstUse> read_start_order(const Notes& notes, std::string_view program) {
  return decode_start_order(notes.read(note_name(program), kOrderNoteMax));
}

void clear_start_order(const Notes& notes, std::string_view program) {
  notes.remove(note_name(program));
}

void clear_start_orders(const Notes& notes) {
  notes.remove_each(layout::kStartPrefix);
}

}  // namespace larder
