#include <new>
#include <stdexcept>

#include "base/assert.hpp"
#include "base/pages.hpp"
#include "reactive/engine.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace larder::reactive {

using namespace larder::detail;

namespace {

constexpr std::size_t kChunkNodes = std::size_t{1} << kChunkBits;
constexpr std::size_t kFirstLines = 2;

std::size_t slot_bytes(std::size_t lines) noexcept {
  return lines * 8 * sizeof(std::atomic<std::uint64_t>);
}

}  // namespace

FunctionCore& Engine::declare(FunctionSpec spec) {
  if (functions_.size() >= kNoFunction) throw std::length_error("a graph holds 65535 functions and inputs");
  auto function = std::make_unique<FunctionCore>();
  function->spec = std::move(spec);
  function->id = static_cast<std::uint16_t>(functions_.size());
  function->table.store(make_table(kFirstLines), std::memory_order_release);
  functions_.push_back(std::move(function));
  return *functions_.back();
}

GraphTable* Engine::make_table(std::size_t lines) {
  auto table = std::make_unique<GraphTable>();
  table->lines = lines;
  table->shift = static_cast<unsigned>(64 - std::countr_zero(lines));
  void* const memory = allocate_pages(slot_bytes(lines));
  table->slots = static_cast<std::atomic<std::uint64_t>*>(memory);
  std::memset(memory, 0, slot_bytes(lines));
  return table.release();
}

// R2: readers may still look into it. Its pages are given back where it has many; they read as empty then.
void Engine::retire(GraphTable* table) noexcept {
#if defined(__linux__)
  if (slot_bytes(table->lines) % 4096 == 0 && slot_bytes(table->lines) >= 65536 &&
      reinterpret_cast<std::uintptr_t>(table->slots) % 4096 == 0)
    madvise(table->slots, slot_bytes(table->lines), MADV_DONTNEED);
#endif
  retired_.push_back(table);
}

void Engine::insert_slot(GraphTable& table, std::uint64_t hash, NodeId id) noexcept {
  for (std::size_t line = first_line(table, hash);; line = (line + 1) & (table.lines - 1)) {
    std::atomic<std::uint64_t>* const slots = table.slots + line * 8;
    for (unsigned i = 0; i < 8; ++i) {
      auto& slot = slots[(hash + i) & 7];
      if (slot.load(std::memory_order_relaxed) > kVacated) continue;
      table.filled += slot.load(std::memory_order_relaxed) == 0 ? 1 : 0;
      ++table.present;
      slot.store((std::uint64_t{id} + 1) << 32 | static_cast<std::uint32_t>(hash), std::memory_order_release);
      return;
    }
  }
}

std::uint64_t Engine::hash_of(FunctionCore& function, Word key) const {
  return function.spec.key.is_boxed ? function.spec.key.hash(key) : key;
}

void Engine::remove_slot(FunctionCore& function, NodeId id) noexcept {
  GraphTable& table = *function.table.load(std::memory_order_relaxed);
  const std::uint64_t hash = hash_of(function, node(id).key.load(std::memory_order_relaxed));
  for (std::size_t line = first_line(table, hash);; line = (line + 1) & (table.lines - 1)) {
    std::atomic<std::uint64_t>* const slots = table.slots + line * 8;
    for (unsigned i = 0; i < 8; ++i) {
      auto& slot = slots[(hash + i) & 7];
      const std::uint64_t word = slot.load(std::memory_order_relaxed);
      LARDER_ASSERT(word != 0);
      if (word >> 32 != std::uint64_t{id} + 1) continue;
      slot.store(kVacated, std::memory_order_release);
      --table.present;
      return;
    }
  }
}

NodeId Engine::find(FunctionCore& function, std::uint64_t hash, Word key) noexcept {
  const KeyType& type = function.spec.key;
  return find_node(*this, *function.table.load(std::memory_order_relaxed), hash,
                   [&](Word word) { return type.is_boxed ? type.same(word, key) : word == key; });
}

NodeId Engine::find_or_add(FunctionCore& function, std::uint64_t hash, Word key) {
  const NodeId id = find(function, hash, key);
  if (id == kNoNode) return add(function, hash, key);
  if (function.spec.key.is_boxed) release(key);
  return id;
}

NodeId Engine::add(FunctionCore& function, std::uint64_t hash, Word key) {
  GraphTable* table = function.table.load(std::memory_order_relaxed);
  if ((table->filled + 1) * 10 > table->lines * 8 * 7) {
    // Twice the room, or the same where vacated slots are what fills it.
    GraphTable* const larger =
        make_table(table->present * 2 > table->filled ? table->lines * 2 : table->lines);
    for (std::size_t i = 0; i < table->lines * 8; ++i) {
      const std::uint64_t slot = table->slots[i].load(std::memory_order_relaxed);
      if (slot <= kVacated) continue;
      const auto id = static_cast<NodeId>((slot >> 32) - 1);
      insert_slot(*larger, hash_of(function, node(id).key.load(std::memory_order_relaxed)), id);
    }
    function.table.store(larger, std::memory_order_release);
    retire(table);
    table = larger;
  }
  NodeId id = free_;
  if (id != kNoNode) {
    free_ = node(id).next;
  } else {
    id = node_count_;
    LARDER_ASSERT(id != kNoNode);
    if (id % kChunkNodes == 0) {
      // Small graphs must not take a huge page.
      void* const memory = id == 0 ? ::operator new (kChunkNodes * sizeof(Node), std::align_val_t{64})
                                   : allocate_pages(kChunkNodes * sizeof(Node));
      chunks[id >> kChunkBits].store(static_cast<Node*>(memory), std::memory_order_release);
    }
    ++node_count_;
  }
  Node& fresh = node(id);
  fresh.key.store(key, std::memory_order_release);
  fresh.value.store(0, std::memory_order_release);
  fresh.counts[kSub] = fresh.counts[kSup] = 0;
  fresh.height = 0;
  fresh.live = 0;
  fresh.next = kNoNode;
  fresh.stamp = 0;
  fresh.function = function.id;
  fresh.used.store(0, std::memory_order_relaxed);
  fresh.settled = 0;
  fresh.state.store(kAbsent, std::memory_order_release);
  if (function.spec.run == nullptr) fresh.state.store(kClean | kFailed, std::memory_order_release);
  insert_slot(*table, hash, id);
  ++nodes_present_;
  return id;
}

void Engine::reserve_edges(Node& node, unsigned list, std::uint32_t count) {
  const unsigned held = node.counts[list] >> kCountBits;
  if (count <= (1u << held)) return;
  LARDER_ASSERT(count <= kCountMax);
  const auto needed = static_cast<unsigned>(std::bit_width(count - 1));
  Edge* const larger = edges_.take(needed);
  std::memcpy(larger, node.edge(list), node.count(list) * sizeof(Edge));
  if (held != 0) edges_.give(node.edges[list].many, held);
  node.edges[list].many = larger;
  node.counts[list] = node.count(list) | needed << kCountBits;
}

void Engine::drop_edges(Node& node, unsigned list) noexcept {
  const unsigned held = node.counts[list] >> kCountBits;
  if (held != 0) edges_.give(node.edges[list].many, held);
  node.counts[list] = 0;
}

// Appends dependencies; `from` is how many the consumer has. I1.
void Engine::link(NodeId consumer, const NodeId* dependencies, std::size_t count, std::uint32_t from) {
  Node& user = node(consumer);
  reserve_edges(user, kSub, static_cast<std::uint32_t>(from + count));
  Edge* const subs = user.edge(kSub);
  for (std::size_t i = 0; i < count; ++i) {
    const NodeId id = dependencies[i];
    Node& used = node(id);
    const std::uint32_t at = used.count(kSup);
    reserve_edges(used, kSup, at + 1);
    used.edge(kSup)[at] = {consumer, static_cast<std::uint32_t>(from + i)};
    ++used.counts[kSup];
    subs[from + i] = {id, at};
    ++user.counts[kSub];
  }
}

// Removes the dependencies from number `from` on. What nobody needs any more is remembered in idle_.
void Engine::unlink(NodeId consumer, std::uint32_t from) {
  Node& user = node(consumer);
  Edge* const subs = user.edge(kSub);
  for (std::uint32_t i = user.count(kSub); i-- > from;) {
    const Edge gone = subs[i];
    Node& used = node(gone.node);
    Edge* const sups = used.edge(kSup);
    const std::uint32_t last = used.count(kSup) - 1;
    if (gone.back != last) {
      sups[gone.back] = sups[last];
      node(sups[last].node).edge(kSub)[sups[last].back].back = gone.back;
    }
    --used.counts[kSup];
    --user.counts[kSub];
    if (last == 0) {
      drop_edges(used, kSup);
      idle_.push_back(gone.node);
    }
  }
}

void Engine::drop_value(Node& node) noexcept {
  const Word word = node.value.load(std::memory_order_relaxed);
  if (word != 0 && (node.has(kFailed) || function(node).spec.value.is_boxed)) release(word);
  node.value.store(0, std::memory_order_release);
}

// Removes nodes that keep no value and that nobody depends on, and what only they depended on. Only where no
// function runs: what a running one asked for is not linked yet.
void Engine::forget_idle() {
  while (!idle_.empty()) {
    const NodeId id = idle_.back();
    idle_.pop_back();
    Node& node = this->node(id);
    if (node.function == kNoFunction || node.count(kSup) != 0 || node.live != 0 ||
        node.has(kBusy | kExtra | kQueued))
      continue;
    const bool is_input = function(node).spec.run == nullptr;
    const bool is_empty = is_input ? node.has(kFailed) : node.condition() == kAbsent || node.has(kEvicted);
    if (!is_empty) continue;
    leave_cycle(id);
    leave_line(id);
    unlink(id, 0);
    drop_edges(node, kSub);
    FunctionCore& core = function(node);
    remove_slot(core, id);
    drop_value(node);
    if (core.spec.key.is_boxed) release(node.key.load(std::memory_order_relaxed));
    node.key.store(0, std::memory_order_release);
    node.state.store(kAbsent, std::memory_order_release);
    node.function = kNoFunction;
    node.next = free_;
    free_ = id;
    --nodes_present_;
  }
}

Word Engine::never_set(NodeId id) {
  return error_word({Code::not_found, name(id) + ": was never set"});
}

std::string Engine::name(NodeId id) {
  Node& node = this->node(id);
  const FunctionSpec& spec = function(node).spec;
  return spec.name + "(" + spec.key.text(node.key.load(std::memory_order_relaxed)) + ")";
}

Engine::~Engine() {
  close_pool();
  for (NodeId id = 0; id < node_count_; ++id) {
    Node& node = this->node(id);
    if (node.function == kNoFunction) continue;
    drop_value(node);
    if (function(node).spec.key.is_boxed) release(node.key.load(std::memory_order_relaxed));
    drop_edges(node, kSub);
    drop_edges(node, kSup);
  }
  for (auto& function : functions_) {
    retired_.push_back(function->table.load(std::memory_order_relaxed));
    if (function->spec.has_start && function->spec.value.is_boxed) release(function->spec.start);
  }
  for (GraphTable* table : retired_) {
    free_pages(table->slots);
    delete table;
  }
  for (NodeId first = 0; first < node_count_; first += kChunkNodes) {
    Node* const chunk = chunks[first >> kChunkBits].load(std::memory_order_relaxed);
    if (first == 0)
      ::operator delete (chunk, std::align_val_t{64});
    else
      free_pages(chunk);
  }
  std::free(chunks);
}

}  // namespace larder::reactive

namespace larder::detail {

using reactive::Engine;

NodeId add_node(GraphHot& graph, FunctionCore& function, std::uint64_t hash, Word key) {
  Engine& engine = Engine::of(graph);
  const NodeId id = engine.add(function, hash, key);
  if (function.spec.run == nullptr)
    engine.node(id).value.store(engine.never_set(id), std::memory_order_release);
  return id;
}

}  // namespace larder::detail
