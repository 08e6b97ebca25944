// The node of a graph as it lies in memory: one cache line, with a small key, a small value, and a single
// dependency and consumer inside it. Only the engine (src/reactive/) changes nodes; get() of graph.hpp reads
// them without a lock, under the rule that stands at GraphHot.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "larder/result.hpp"

namespace larder::detail {

using NodeId = std::uint32_t;
inline constexpr NodeId kNoNode = 0xffffffff;
// The function of a node that is not in use.
inline constexpr std::uint16_t kNoFunction = 0xffff;

// A key or a value as a node keeps it: the object itself where it is small and trivially copyable, else a
// pointer to its box.
using Word = std::uint64_t;

// One end of a dependency. `back` is the place of the other end in the other node's list.
struct Edge {
  NodeId node;
  std::uint32_t back;
};

// Node::state: a condition and five flags.
enum : std::uint8_t {
  kAbsent = 0,  // never made: no value, no dependencies. -> clean, by running
  kStale =
      1,  // something upstream may have changed. -> clean, by promotion; -> dirty, by a changed dependency
  kDirty = 2,  // a recorded dependency did change. -> clean, by running
  kClean = 3,  // -> stale, -> dirty
  kCondition = 3,
  kBusy = 4,      // being verified or run by some thread
  kFailed = 8,    // the value is an error
  kEvicted = 16,  // the value had to leave its line; dependencies and digest stay
  kQueued = 32,   // waits in its level for the push
  kExtra = 64,    // wanted or subscribed: see Engine's extras
  kVolatile = 128,
  kNotReady = kCondition | kBusy | kEvicted,  // equal to kClean under this mask: the value may be read
};

// The two lists of a node.
enum : unsigned { kSub = 0, kSup = 1 };  // what it depends on; who depends on it

inline constexpr std::uint32_t kCountBits = 27;
inline constexpr std::uint32_t kCountMax = (1u << kCountBits) - 1;

struct alignas(64) Node {
  std::atomic<Word> key;
  std::atomic<Word> value;
  union Edges {
    Edge one;    // size class 0
    Edge* many;  // size class n > 0: room for 2^n
  } edges[2];
  std::uint32_t counts[2];  // low kCountBits: edges; above: size class
  std::uint32_t height;     // more than that of each dependency
  std::uint32_t live;       // live consumers, and one if wanted or subscribed
  NodeId next;              // in its level's queue, or in the list of free nodes
  std::uint32_t stamp;      // the last run that recorded it, so that it is recorded once
  std::uint16_t function;
  std::atomic<std::uint8_t> state;
  std::atomic<std::uint8_t> used;  // the clock's bit; readers set it
  std::uint32_t settled;           // the last push in which it was found up to date

  std::uint8_t flags() const noexcept { return state.load(std::memory_order_relaxed); }
  std::uint8_t condition() const noexcept { return flags() & kCondition; }
  bool has(std::uint8_t flag) const noexcept { return (flags() & flag) != 0; }
  void set(std::uint8_t flag) noexcept { state.store(flags() | flag, std::memory_order_release); }
  void clear(std::uint8_t flag) noexcept {
    state.store(static_cast<std::uint8_t>(flags() & ~flag), std::memory_order_release);
  }
  void become(std::uint8_t condition) noexcept {
    state.store(static_cast<std::uint8_t>((flags() & ~kCondition) | condition), std::memory_order_release);
  }
  std::uint32_t count(unsigned list) const noexcept { return counts[list] & kCountMax; }
  Edge* edge(unsigned list) noexcept {
    return counts[list] >> kCountBits == 0 ? &edges[list].one : edges[list].many;
  }
};
static_assert(sizeof(Node) == 64 && std::is_trivially_destructible_v<Node>);

// Where a key, value or error lives that does not fit into a word.
struct Box {
  std::atomic<std::uint32_t> refs{1};
  void (*drop)(Box*) noexcept;
  explicit Box(void (*how)(Box*) noexcept) noexcept : drop(how) {}
};
template <typename T>
struct BoxOf : Box {
  T value;
  template <typename... Args>
  explicit BoxOf(Args&&... args)
      : Box([](Box* box) noexcept { delete static_cast<BoxOf*>(box); }), value(std::forward<Args>(args)...) {}
};
inline void retain(Word word) noexcept {
  reinterpret_cast<Box*>(word)->refs.fetch_add(1, std::memory_order_relaxed);
}
inline void release(Word word) noexcept {
  Box* const box = reinterpret_cast<Box*>(word);
  if (box->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) box->drop(box);
}
template <typename T>
const T& unboxed(Word word) noexcept {
  return static_cast<const BoxOf<T>*>(reinterpret_cast<const Box*>(word))->value;
}
template <typename T, typename... Args>
Word boxed(Args&&... args) {
  return reinterpret_cast<Word>(static_cast<Box*>(new BoxOf<T>(std::forward<Args>(args)...)));
}

// Small objects stand in the word itself, the rest of it zero.
template <typename T>
inline constexpr bool kFits = std::is_trivially_copyable_v<T> &&
                              sizeof(T) <= sizeof(Word) && std::is_default_constructible_v<T>;
// Two words that hold equal objects are equal bit by bit. NaN differs from itself and -0.0 is not 0.0 to who
// reads the sign: floating numbers are compared by their bits.
template <typename T>
inline constexpr bool kBitwise = kFits<T> &&
                                 (std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>);

template <typename T>
Word to_word(const T& object) noexcept {
  Word word = 0;
  if constexpr (!std::is_empty_v<T>) std::memcpy(&word, &object, sizeof(T));
  return word;
}
template <typename T>
T from_word(Word word) noexcept {
  T object{};
  if constexpr (!std::is_empty_v<T>) std::memcpy(static_cast<void*>(&object), &word, sizeof(T));
  return object;
}

}  // namespace larder::detail
