// A graph between two runs of a program: format/graph_snapshot.hpp. What was saved comes back as nodes that
// are clean, with their dependencies, and with their values or the digests of these; whatever cannot be known
// to be as it was comes back dirty, and what lies above it stale. So nothing wrong can come of a snapshot: at
// worst functions run that need not.
#include <algorithm>

#include "format/graph_snapshot.hpp"
#include "larder/cache.hpp"
#include "larder/graph.hpp"
#include "reactive/engine.hpp"
#include "reactive/inside.hpp"

namespace larder::reactive {

using namespace larder::detail;
using format::GraphSnapshot;
using format::SnapshotCondition;
using format::SnapshotValue;

namespace {

constexpr std::size_t kInlineMax = 256;

std::string written(const Digest& digest) {
  std::string text;
  for (const std::uint64_t part : {digest.high, digest.low})
    for (unsigned i = 0; i < 8; ++i) text.push_back(static_cast<char>(part >> (8 * i)));
  return text;
}

Digest read_digest(std::string_view text) {
  std::uint64_t parts[2] = {};
  for (unsigned i = 0; i < 16; ++i)
    parts[i / 8] |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * (i % 8));
  return {parts[0], parts[1]};
}

Recipe recipe_of(const FunctionSpec& spec, std::string_view key, const Digest& digest) {
  Recipe recipe{"graph-value"};
  recipe.add("function", spec.name).add("version", spec.version).add("type", spec.value.name);
  recipe.add("key", key).add("digest", written(digest));
  return recipe;
}

// Texts live in `texts`.
std::string_view keep(std::deque<std::string>& texts, std::string text) {
  return texts.emplace_back(std::move(text));
}

}  // namespace

// The value as a snapshot holds it. False: it is not known well enough to be believed later.
bool Engine::save_value(NodeId id, format::GraphSnapshot::Node& saved, std::deque<std::string>& texts) {
  Node& node = this->node(id);
  const FunctionSpec& spec = function(node).spec;
  const bool is_input = spec.run == nullptr;
  const Word word = node.value.load(std::memory_order_relaxed);
  if (node.has(kFailed)) {
    if (is_input) return true;
    const auto& error = unboxed<Error>(word);
    saved.kind = SnapshotValue::error;
    saved.value = keep(texts, std::string(1, static_cast<char>(error.code)) + error.what);
    return true;
  }
  Digest digest;
  if (node.has(kEvicted) && spec.value.is_boxed) {
    if (word == 0) return false;
    digest = unboxed<Digest>(word);
  } else if (spec.value.write != nullptr) {
    std::string value;
    spec.value.write(word, value);
    const bool is_kept = !is_input && options_.cache != nullptr && value.size() > kInlineMax &&
                         spec.value.is_boxed && spec.value.digest != nullptr &&
                         spec.value.digest(word, digest) &&
                         options_.cache->put(recipe_of(spec, saved.key, digest), Bytes(value));
    if (!is_kept) {
      saved.kind = SnapshotValue::itself;
      saved.value = keep(texts, std::move(value));
      return true;
    }
  } else if (spec.value.digest == nullptr || !spec.value.digest(word, digest)) {
    return false;
  }
  saved.kind = SnapshotValue::digest;
  saved.value = keep(texts, written(digest));
  return true;
}

Result<std::string> Engine::save() NO_THREAD_SAFETY_ANALYSIS {
  if (is_inside(*this)) return fail(Code::would_deadlock, "saved the graph inside of a tracked function");
  mutex_.lock();
  wait_for_turn();
  while (active_ != 0) {
    ++waiting_;
    left_.wait(mutex_);
    --waiting_;
  }
  begin_change();
  GraphSnapshot snapshot;
  snapshot.revision = revision_;
  for (const auto& core : functions_) {
    const FunctionSpec& spec = core->spec;
    snapshot.functions.push_back(
        {spec.name, spec.version, spec.key.name, spec.value.name, spec.run == nullptr});
  }
  // Dependencies before who depends on them.
  std::vector<NodeId> order;
  for (NodeId id = 0; id < node_count_; ++id)
    if (node(id).function != kNoFunction && node(id).condition() != kAbsent) order.push_back(id);
  std::stable_sort(order.begin(), order.end(),
                   [&](NodeId a, NodeId b) { return node(a).height < node(b).height; });
  std::vector<std::uint32_t> numbers(node_count_, kNoNode);
  std::deque<std::string> texts;
  for (const NodeId id : order) {
    Node& node = this->node(id);
    const FunctionSpec& spec = function(node).spec;
    if (spec.key.write == nullptr || (spec.run == nullptr && spec.value.write == nullptr)) continue;
    GraphSnapshot::Node saved;
    saved.function = node.function;
    std::string key;
    spec.key.write(node.key.load(std::memory_order_relaxed), key);
    saved.key = keep(texts, std::move(key));
    bool is_known = save_value(id, saved, texts) && !node.has(kVolatile) && node.condition() != kDirty &&
                    !lines_.on_cycles.contains(id);
    if (spec.is_outside) saved.outside = keep(texts, seen_outside(id));
    saved.first = static_cast<std::uint32_t>(snapshot.dependencies.size());
    const std::uint32_t count = node.count(kSub);
    const Edge* const subs = node.edge(kSub);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (numbers[subs[i].node] == kNoNode) {
        is_known = false;
        break;
      }
      snapshot.dependencies.push_back(numbers[subs[i].node]);
      ++saved.count;
    }
    saved.condition = !is_known                    ? SnapshotCondition::dirty
                      : node.condition() == kStale ? SnapshotCondition::stale
                                                   : SnapshotCondition::clean;
    numbers[id] = static_cast<std::uint32_t>(snapshot.nodes.size());
    snapshot.nodes.push_back(saved);
  }
  std::string bytes = format::encode_graph(snapshot);
  leave(nullptr);
  return bytes;
}

// Gives the node what a snapshot holds of its value. False: that is not enough.
bool Engine::load_value(NodeId id, const format::GraphSnapshot::Node& saved) {
  Node& node = this->node(id);
  const FunctionSpec& spec = function(node).spec;
  Word word = 0;
  node.state.store(kClean, std::memory_order_release);
  if (saved.kind == SnapshotValue::itself && spec.value.read != nullptr &&
      spec.value.read(saved.value, word)) {
    node.value.store(word, std::memory_order_release);
    return true;
  }
  if (spec.run == nullptr || saved.kind == SnapshotValue::error) {
    node.value.store(spec.run == nullptr ? never_set(id)
                                         : error_word({static_cast<Code>(saved.value[0]),
                                                       std::string(saved.value.substr(1))}),
                     std::memory_order_release);
    node.set(kFailed);
    return true;
  }
  if (!spec.value.is_boxed) {
    node.state.store(kAbsent, std::memory_order_release);  // its word cannot be known
    return false;
  }
  node.set(kEvicted);
  if (saved.kind != SnapshotValue::digest) return false;
  node.value.store(boxed<Digest>(read_digest(saved.value)), std::memory_order_release);
  return true;
}

// The declared functions that the snapshot's are, null where there is none.
std::vector<FunctionCore*> Engine::match(const format::GraphSnapshot& snapshot) {
  std::vector<FunctionCore*> cores;
  for (const GraphSnapshot::Function& saved : snapshot.functions) {
    FunctionCore* found = nullptr;
    for (const auto& core : functions_) {
      const FunctionSpec& spec = core->spec;
      if (spec.name == saved.name && saved.key_type == spec.key.name && saved.value_type == spec.value.name &&
          (spec.run == nullptr) == saved.is_input && spec.key.read != nullptr)
        found = core.get();
    }
    cores.push_back(found);
  }
  return cores;
}

Result<std::size_t> Engine::load(BytesView bytes) NO_THREAD_SAFETY_ANALYSIS {
  if (is_inside(*this)) return fail(Code::would_deadlock, "loaded the graph inside of a tracked function");
  const auto snapshot = format::decode_graph(bytes);
  if (!snapshot) return fail(Code::damaged, "load a graph: is not a whole snapshot of this version");
  mutex_.lock();
  wait_for_turn();
  if (nodes_present_ != 0 || active_ != 0) {
    mutex_.unlock();
    return fail(Code::invalid_argument, "load a graph: something was set or asked for already");
  }
  begin_change();
  revision_ = std::max(revision_, snapshot->revision);
  const std::vector<FunctionCore*> cores = match(*snapshot);
  std::vector<NodeId> ids;
  std::vector<NodeId> dirty;
  std::vector<NodeId> stale;
  std::vector<NodeId> asked;
  std::size_t loaded = 0;
  for (const GraphSnapshot::Node& saved : snapshot->nodes) {
    ids.push_back(kNoNode);
    FunctionCore* const core = cores[saved.function];
    Word key = 0;
    if (core == nullptr || !core->spec.key.read(saved.key, key)) continue;
    const FunctionSpec& spec = core->spec;
    if (find(*core, hash_of(*core, key), key) != kNoNode) {
      if (spec.key.is_boxed) release(key);
      continue;
    }
    const NodeId id = add(*core, hash_of(*core, key), key);
    ids.back() = id;
    ++loaded;
    Node& node = this->node(id);
    bool is_known = load_value(id, saved) && saved.condition != SnapshotCondition::dirty &&
                    spec.version == snapshot->functions[saved.function].version;
    asked.clear();
    for (std::uint32_t i = 0; i < saved.count; ++i) {
      const NodeId dependency = ids[snapshot->dependencies[saved.first + i]];
      if (dependency == kNoNode) {
        is_known = false;
        break;
      }
      asked.push_back(dependency);
      node.height = std::max(node.height, this->node(dependency).height + 1);
    }
    link(id, asked.data(), asked.size(), 0);
    if (spec.run == nullptr) continue;
    if (!node.has(kEvicted) && node.condition() != kAbsent && lines_.policy != nullptr) place(id, node, 0);
    if (spec.is_outside && !is_still(id, saved.outside)) is_known = false;
    if (!is_known)
      dirty.push_back(id);
    else if (saved.condition == SnapshotCondition::stale)
      stale.push_back(id);
  }
  // I4 and I5, whatever the snapshot says.
  for (const NodeId id : dirty) {
    mark_dirty(id);
    mark_consumers_stale(id);
  }
  for (const NodeId id : stale) {
    if (node(id).condition() != kClean) continue;
    node(id).become(kStale);
    mark_consumers_stale(id);
  }
  leave(nullptr);
  return loaded;
}

// Of an evicted node that is up to date, by the digest of its value. The function need not run then.
bool Engine::restore(NodeId id, Node& node) NO_THREAD_SAFETY_ANALYSIS {
  const FunctionSpec& spec = function(node).spec;
  const Word word = node.value.load(std::memory_order_relaxed);
  if (node.condition() != kClean || !node.has(kEvicted) || node.has(kFailed) || !spec.value.is_boxed ||
      word == 0 || spec.key.write == nullptr || spec.value.read == nullptr || spec.value.digest == nullptr)
    return false;
  const Digest digest = unboxed<Digest>(word);
  std::string key;
  spec.key.write(node.key.load(std::memory_order_relaxed), key);
  if (is_parallel) mutex_.unlock();
  Word value = 0;
  Digest found;
  const auto product = options_.cache->get(recipe_of(spec, key, digest));
  const bool is_read = product && spec.value.read(as_text(product->bytes.view()), value);
  const bool is_same = is_read && spec.value.digest(value, found) && found == digest;
  if (is_parallel) mutex_.lock();
  if (!is_same) {
    if (is_read) release(value);
    return false;
  }
  release(word);
  node.value.store(value, std::memory_order_release);
  node.clear(kEvicted);
  node.settled = push;
  ++stats_.restored;
  if (lines_.policy != nullptr) place(id, node, 0);
  return true;
}

}  // namespace larder::reactive
