// A thread's table of a memo: open addressing in windows of four slots, which grows until it holds what it
// may and then replaces within the window. Used by one thread.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "larder/detail/memo_thread.hpp"

namespace larder::detail {

template <typename T>
constexpr bool is_memo_word = (std::is_integral_v<T> || std::is_enum_v<T> || std::is_same_v<T, float> ||
                               std::is_same_v<T, double>)&&sizeof(T) <= 8;

// Ten bytes in sixteen: of these, two words.
template <typename T>
constexpr bool is_memo_extended = std::is_same_v<T, long double> && sizeof(long double) == 16;

template <typename T>
std::uint64_t memo_word(const T& value) noexcept {
  if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<std::uint64_t>(value);
  else if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<std::uint32_t>(value);
  else
    return static_cast<std::uint64_t>(value);
}

// Of what the processor computes with; what lies behind it in memory may be anything.
inline std::array<std::uint64_t, 2> memo_words(long double value) noexcept {
  constexpr std::size_t kBytes = std::numeric_limits<long double>::digits == 64 ? 10 : sizeof value;
  std::array<std::uint64_t, 2> words{};
  std::memcpy(words.data(), &value, kBytes < sizeof words ? kBytes : sizeof words);
  return words;
}

template <typename T>
std::uint64_t memo_hash(const T& value) {
  if constexpr (is_memo_word<T>) {
    const std::uint64_t word = memo_word(value);
    return std::is_floating_point_v<T> ? word ^ word >> 32 : word;
  } else if constexpr (is_memo_extended<T>) {
    const auto words = memo_words(value);
    return words[0] ^ words[0] >> 32 ^ words[1] * 0x9e3779b97f4a7c15;
  } else {
    const std::uint64_t hash = std::hash<T>{}(value);
    return hash ^ hash >> 32;
  }
}

// Floats are the same when their bits are: -0.0 is not 0.0, and a NaN is found again.
template <typename T>
bool memo_same(const T& a, const T& b) {
  if constexpr (is_memo_word<T>)
    return memo_word(a) == memo_word(b);
  else if constexpr (is_memo_extended<T>)
    return memo_words(a) == memo_words(b);
  else
    return a == b;
}

template <typename Value, typename... Keys>
class MemoTable final : public MemoTableBase {
 public:
  using Key = std::tuple<Keys...>;

  explicit MemoTable(std::size_t entries_max) noexcept
      : entries_max_(entries_max < kWindow ? kWindow : entries_max) {}
  ~MemoTable() override { clear(); }
  MemoTable(const MemoTable&) = delete;
  MemoTable& operator=(const MemoTable&) = delete;

  static std::uint64_t hash(const Keys&... keys) {
    std::uint64_t result = 0;
    std::uint64_t odd = 0x9e3779b97f4a7c15;
    ((result ^= memo_hash(keys) * odd, odd = odd * 0xd1342543de82ef95 + 2), ...);
    return result | 1;  // 0 means an empty slot
  }

  // The value, until the next insert; null: not there.
  const Value* find(std::uint64_t hash, const Keys&... keys) {
    if (must_forget_.load(std::memory_order_relaxed)) [[unlikely]]
      clear();
    if (slots_ == nullptr) [[unlikely]]
      return nullptr;
    Slot* slot = slots_ + (hash >> shift_);
    for (std::size_t i = 0; i < kWindow; ++i, ++slot) {
      if (slot->hash == hash && is_same(*slot->key(), keys...)) {
        count(hits_);
        return slot->value();
      }
    }
    return nullptr;
  }

  // Throws what copying and memory throw; the table is then as it was.
  void insert(std::uint64_t hash, Key&& key, const Value& value) {
    count(misses_);
    if (slots_ == nullptr) rebuild(kLog2First);
    for (;;) {
      Slot* const window = slots_ + (hash >> shift_);
      Slot* empty = nullptr;
      for (std::size_t i = 0; i < kWindow; ++i) {
        if (window[i].hash == 0 && empty == nullptr) empty = window + i;
        // A call of the same key within this one was faster.
        if (window[i].hash == hash && *window[i].key() == key) return;
      }
      if (empty != nullptr) return fill(*empty, hash, std::move(key), value);
      if (capacity() * 2 > entries_max_) break;
      rebuild(log2() + 1);
    }
    Slot& victim = slots_[(hash >> shift_) + turn_++ % kWindow];
    Value copy(value);
    victim.destroy();
    entries_.store(entries() - 1, std::memory_order_relaxed);
    fill(victim, hash, std::move(key), std::move(copy));
  }

  std::uint64_t hits() const noexcept override { return hits_.load(std::memory_order_relaxed); }
  std::uint64_t misses() const noexcept override { return misses_.load(std::memory_order_relaxed); }
  std::size_t entries() const noexcept override { return entries_.load(std::memory_order_relaxed); }
  void forget() noexcept override { must_forget_.store(true, std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kWindow = 4;
  static constexpr int kLog2First = 6;

  struct Slot {
    std::uint64_t hash = 0;
    alignas(Key) std::byte key_bytes[sizeof(Key)];
    alignas(Value) std::byte value_bytes[sizeof(Value)];
    Key* key() noexcept { return std::launder(reinterpret_cast<Key*>(key_bytes)); }
    Value* value() noexcept { return std::launder(reinterpret_cast<Value*>(value_bytes)); }
    void destroy() noexcept {
      key()->~Key();
      value()->~Value();
      hash = 0;
    }
  };

  static bool is_same(const Key& key, const Keys&... keys) {
    return std::apply([&](const Keys&... kept) { return (memo_same(kept, keys) && ...); }, key);
  }
  // One writer: no need for an atomic addition.
  static void count(std::atomic<std::uint64_t>& counter) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  int log2() const noexcept { return 64 - shift_; }
  std::size_t capacity() const noexcept { return std::size_t{1} << log2(); }
  std::size_t slot_count() const noexcept { return capacity() + kWindow - 1; }

  template <typename V>
  void fill(Slot& slot, std::uint64_t hash, Key&& key, V&& value) {
    ::new (static_cast<void*>(slot.value_bytes)) Value(std::forward<V>(value));
    try {
      ::new (static_cast<void*>(slot.key_bytes)) Key(std::move(key));
    } catch (...) {
      slot.value()->~Value();
      throw;
    }
    slot.hash = hash;
    entries_.store(entries() + 1, std::memory_order_relaxed);
  }

  // What does not fit its window is left behind: it is made again when it is asked for.
  void rebuild(int log2) {
    const std::size_t old_count = slots_ == nullptr ? 0 : slot_count();
    auto fresh = std::make_unique<Slot[]>((std::size_t{1} << log2) + kWindow - 1);
    const std::unique_ptr<Slot[]> old(std::exchange(slots_, fresh.release()));
    shift_ = 64 - log2;
    entries_.store(0, std::memory_order_relaxed);
    for (std::size_t i = 0; i < old_count; ++i) {
      Slot& from = old[i];
      if (from.hash == 0) continue;
      Slot* const window = slots_ + (from.hash >> shift_);
      for (std::size_t k = 0; k < kWindow; ++k) {
        if (window[k].hash != 0) continue;
        fill(window[k], from.hash, std::move(*from.key()), std::move(*from.value()));
        break;
      }
      from.destroy();
    }
  }

  void clear() noexcept {
    must_forget_.store(false, std::memory_order_relaxed);
    if (slots_ == nullptr) return;
    const std::unique_ptr<Slot[]> old(std::exchange(slots_, nullptr));
    for (std::size_t i = 0, end = slot_count(); i < end; ++i)
      if (old[i].hash != 0) old[i].destroy();
    entries_.store(0, std::memory_order_relaxed);
  }

  Slot* slots_ = nullptr;
  int shift_ = 64;
  std::uint32_t turn_ = 0;
  std::atomic<bool> must_forget_{false};
  std::atomic<std::uint64_t> hits_{0};
  std::atomic<std::uint64_t> misses_{0};
  std::atomic<std::size_t> entries_{0};
  std::size_t entries_max_;
};

}  // namespace larder::detail
