// What the templates of graph.hpp share with the engine behind them (src/reactive/): the part of a graph that
// is read without a lock, the tables from keys to nodes, and the calls into the engine. Not for users.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "larder/bytes.hpp"
#include "larder/detail/graph_node.hpp"
#include "larder/export.h"
#include "larder/result.hpp"

namespace larder {

// Number of a state of all inputs. A batch of sets that changes something makes the next one.
using Revision = std::uint64_t;

class Context;

namespace detail {

// From keys to nodes, one per function: open addressing in lines of eight slots. Eight consecutive small keys
// share a line, so dense keys are found in memory in their order; a full line spills into the next.
// A slot is empty (0), vacated (1), or node + 1 in the upper half and 32 bits of the key or its hash below.
struct GraphTable {
  unsigned shift = 61;      // 64 - log2(lines)
  std::size_t lines = 0;    // a power of two
  std::size_t filled = 0;   // slots that are not empty; the engine's alone
  std::size_t present = 0;  // nodes
  std::atomic<std::uint64_t>* slots = nullptr;
};
inline constexpr std::uint64_t kVacated = 1;

inline std::size_t first_line(const GraphTable& table, std::uint64_t hash) noexcept {
  return static_cast<std::size_t>(((hash >> 3) * 0x9e3779b97f4a7c15u) >> table.shift);
}
inline std::uint64_t mixed(std::uint64_t hash) noexcept {
  hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93u;
  hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93u;
  return hash ^ (hash >> 32);
}

struct Digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(const Digest&, const Digest&) = default;
};

// What the engine must know of a type, the type taken away. Words hold what graph_node.hpp says.
struct KeyType {
  bool is_boxed = false;
  const char* name = "";  // the same in every run of the same program
  std::string (*text)(Word) = nullptr;
  std::uint64_t (*hash)(Word) = nullptr;
  // Null where the type cannot be written down.
  void (*write)(Word, std::string&) = nullptr;
  bool (*read)(std::string_view, Word&) = nullptr;
  bool (*same)(Word, Word) = nullptr;
};
struct ValueType {
  bool is_boxed = false;
  const char* name = "";
  bool (*equal)(Word, Word) = nullptr;      // null: equal words
  std::uint64_t (*weight)(Word) = nullptr;  // bytes beyond the node; null: none
  bool (*digest)(Word, Digest&) = nullptr;  // null: a dropped value cannot be compared with its successor
  void (*write)(Word, std::string&) = nullptr;
  bool (*read)(std::string_view, Word&) = nullptr;
};

struct FunctionSpec {
  std::string name;
  std::string version;
  KeyType key;
  ValueType value;
  // Null for inputs. `key` stays what it is during the call.
  Word (*run)(void* callable, Context& context, Word key, bool& has_failed) = nullptr;
  std::shared_ptr<void> callable;
  bool has_start = false;  // cycles through it start from `start`
  Word start = 0;
  unsigned rounds_max = 0;  // 0: `start` is its value wherever it is on a cycle
  bool is_outside = false;  // what it reads is not in the graph and may be different whenever it runs
};

// A declared function or input. Fixed but for its table.
struct FunctionCore {
  FunctionSpec spec;
  std::uint16_t id = 0;
  std::atomic<GraphTable*> table{nullptr};
};

// Read without a lock:
//   R1  `phase` is odd while anything that a reader looks at may change. A reader takes it, reads tables,
//   nodes and
//       words with acquire loads, and takes it again: only if it is even and unchanged does what it read
//       count.
//   R2  Chunks and tables that a reader may still look into stay mapped as long as the graph.
struct GraphHot {
  std::atomic<std::uint64_t> phase{0};
  std::atomic<Node*>* chunks = nullptr;
  // Not zero: whoever runs must look up at his next call on his context. A sum of the summons below.
  std::atomic<std::uint32_t> summons{0};
  // During a push: the level at work. Nodes above it may be clean and yet out of date, until `settled` says
  // which push found them up to date. Between pushes every node is as its condition says.
  std::uint32_t floor = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t push = 1;
  bool is_parallel = false;  // functions run without the lock
  bool holds = false;        // what a function was handed must be kept alive for it
};
inline constexpr unsigned kChunkBits = 15;
// Who summons: commits that wait, and tears; threads at the door that drop an asker; askers that may be
// dropped at any time; a push some of whose askers were dropped.
inline constexpr std::uint32_t kCommitWaits = 1;
inline constexpr std::uint32_t kDropWaits = 1u << 10;
inline constexpr std::uint32_t kMayStop = 1u << 20;
inline constexpr std::uint32_t kHasDropped = 1u << 30;

inline Node& node_at(const GraphHot& graph, NodeId id) noexcept {
  return graph.chunks[id >> kChunkBits].load(std::memory_order_acquire)[id & ((1u << kChunkBits) - 1)];
}

// Where find_node goes on that did not find the key in its first slot.
template <typename Same>
[[gnu::noinline]] NodeId find_node_further(const GraphHot& graph, const GraphTable& table, std::uint64_t hash,
                                           Same same) noexcept {
  for (std::size_t line = first_line(table, hash);; line = (line + 1) & (table.lines - 1)) {
    const std::atomic<std::uint64_t>* const slots = table.slots + line * 8;
    for (unsigned i = 0; i < 8; ++i) {
      const std::uint64_t slot = slots[(hash + i) & 7].load(std::memory_order_acquire);
      if (slot == 0) return kNoNode;
      if (static_cast<std::uint32_t>(slot) != static_cast<std::uint32_t>(hash) || slot == kVacated) continue;
      const NodeId id = static_cast<NodeId>((slot >> 32) - 1);
      if (same(node_at(graph, id).key.load(std::memory_order_acquire))) return id;
    }
  }
}

// The node of a key, kNoNode if there is none. `hash` is the key's word, or the hash of a boxed key. Most
// keys stand in their first slot: that is looked at where the caller stands.
template <typename Same>
[[gnu::always_inline]] inline NodeId find_node(const GraphHot& graph, const GraphTable& table,
                                               std::uint64_t hash, Same same) noexcept {
  const std::uint64_t slot =
      table.slots[first_line(table, hash) * 8 + (hash & 7)].load(std::memory_order_acquire);
  if (static_cast<std::uint32_t>(slot) == static_cast<std::uint32_t>(hash) && slot > kVacated) [[likely]] {
    const NodeId id = static_cast<NodeId>((slot >> 32) - 1);
    if (same(node_at(graph, id).key.load(std::memory_order_acquire))) [[likely]]
      return id;
  }
  return slot == 0 ? kNoNode : find_node_further(graph, table, hash, same);
}

struct Evaluator;

// One run of a function: what it asked for so far. While it asks for what it asked for last time, in the same
// order, it only counts.
struct Run {
  GraphHot* graph;
  Evaluator* evaluator;
  const Edge* expected;
  std::uint32_t expected_count;
  std::uint32_t cursor = 0;
  std::size_t asked_at = 0;  // where its own list begins in the evaluator's, once it diverged
  std::size_t held_at = 0;
  std::uint32_t number = 0;  // stamps what it recorded, once that is more than a few
  NodeId self = kNoNode;
  bool has_diverged = false;
  bool has_failed = false;  // what it returned is the word of an Error
  bool passes_on = false;   // the error is that of something it depends on
  bool is_volatile = false;
  bool is_tainted = false;  // saw a cycle: not kept over a revision
  bool is_touched = false;  // read what a cycle that is being solved has made so far
  std::uint64_t cost = 0;   // nanoseconds, where a policy asks for it
};

// All of these expect the graph's lock to be held by the calling thread but where they say otherwise.

// Brings the node up to date and its value into memory. Throws what must pass through the function that asks.
LARDER_API void require_node(Run& run, NodeId id);
// Records `id` where it differs from what was expected.
LARDER_API void record_node(Run& run, NodeId id);
// Makes all that nobody is making yet, with the help of other threads.
LARDER_API void make_together(Run& run, const std::vector<NodeId>& nodes);
// Who waits inside looks up.
LARDER_API void wake_graph(GraphHot& graph);
LARDER_API void hold_word(Run& run, Word word);
LARDER_API NodeId add_node(GraphHot& graph, FunctionCore& function, std::uint64_t hash, Word key);
[[noreturn]] LARDER_API void throw_failed(Word error);
LARDER_API Word error_word(Error error);
LARDER_API void lock_graph(GraphHot& graph) noexcept;
LARDER_API void unlock_graph(GraphHot& graph) noexcept;

struct RunLock {
  GraphHot* graph;
  explicit RunLock(GraphHot& of) noexcept : graph(of.is_parallel ? &of : nullptr) {
    if (graph != nullptr) [[unlikely]]
      lock_graph(*graph);
  }
  ~RunLock() {
    if (graph != nullptr) [[unlikely]]
      unlock_graph(*graph);
  }
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;
};

// A thread inside the graph, from outside of any function. Takes the lock itself.
class LARDER_API GraphEntry {
 public:
  explicit GraphEntry(GraphHot& graph);
  ~GraphEntry();
  GraphEntry(const GraphEntry&) = delete;
  GraphEntry& operator=(const GraphEntry&) = delete;

  // True inside of a function of this graph: nothing was entered.
  bool is_refused() const noexcept { return is_refused_; }
  // Brings the node up to date. False: a newer revision is waiting; leave and come again.
  // With many `tries` behind it, it stays and lets the newer one wait.
  bool make(NodeId id, unsigned tries);
  // The same for all live nodes.
  bool settle(unsigned tries);
  // From now on what it makes is given up when a stop is requested. False: it is already. `stop` must outlive
  // the entry.
  bool stops_with(const std::stop_token& stop);
  // Makes it live; counts.
  void want(NodeId id);

 private:
  GraphHot* graph_;
  Evaluator* evaluator_ = nullptr;
  alignas(void*) unsigned char inside_[2 * sizeof(void*)];
  bool is_refused_ = false;
};

}  // namespace detail
}  // namespace larder
