// A Graph keeps the results of functions up to date. Functions take a key, read inputs and other functions
// through their Context, and what they read is recorded: when an input changes, only what depends on it is
// looked at, and only what comes out different goes on. docs/reactive.md tells the whole story.
//
//     Graph graph;
//     auto text = graph.input<Post, std::string>("text");
//     auto title = graph.function("title", [=](Context& context, Post post) {
//       return first_line(context.get(text, post));
//     });
//     graph.set(text, post, "Hello\nworld");
//     graph.get(title, post);                             // Result<std::string>, made once
//     auto told = graph.subscribe(title, post, [](const Result<std::string>& value, Revision) { ... });
//
// Any thread may call any function of a graph. What a tracked function promises:
//   - it reads what can change through its Context only, and gives equal results for equal reads;
//   - it may be started and given up: when something newer is set meanwhile, or when what it asks for must be
//   made
//     first and lies too deep for the stack. Giving up passes through it as an exception of a private type,
//     from any call on its Context: destructors run; a `catch (...)` must rethrow, and if it does not, what
//     the function returns is thrown away all the same;
//   - it does not call the graph itself (such calls are refused), nor wait for a thread that does.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "larder/detail/graph_core.hpp"
#include "larder/detail/graph_types.hpp"
#include "larder/export.h"
#include "larder/result.hpp"

namespace larder {

class Cache;

// What Context::get throws when what it asks for is an error: uncaught, the same error becomes the caller's
// result.
class LARDER_API DependencyFailed : public std::exception {
 public:
  explicit DependencyFailed(Error error) : error_(std::move(error)) {}
  const char* what() const noexcept override { return error_.what.c_str(); }
  const Error& error() const noexcept { return error_; }

 private:
  Error error_;
};

struct GraphOptions {
  std::size_t lines_max = 4096;  // values kept; 0: no limit. Wanted and subscribed ones stay and count
  std::uint64_t bytes_max = 0;   // their weights together; 0: no limit
  // Functions may run on so many threads at once, the asking ones apart; 1: one at a time, on the asking
  // thread. Threads of the graph's own start when there is work for them.
  unsigned threads = 1;
  Cache* cache = nullptr;        // where large values of snapshots are kept; outlives the graph
  std::string policy = "clock";  // who leaves; a name of docs/policies.md
  // Told what the graph cannot return: a function that gave different results for the same reads, a
  // subscriber that threw. On the thread it happens on, without locks held.
  std::function<void(const std::string&)> report{};
};

struct GraphStats {
  std::uint64_t nodes = 0;        // present now
  std::uint64_t evaluations = 0;  // since the start: functions that ran to their end
  std::uint64_t restarts = 0;     // functions that gave up, to be started again
  std::uint64_t promotions = 0;   // nodes found up to date by looking at their dependencies
  std::uint64_t cut_offs = 0;     // functions that ran and gave what they had given before
  std::uint64_t told = 0;         // calls of subscribers
  std::uint64_t joined = 0;       // times a thread waited for what another one was making
  std::uint64_t evictions = 0;
  std::uint64_t restored = 0;  // values taken from the cache
  std::uint64_t lines = 0;     // values that count against lines_max
  std::uint64_t bytes = 0;
};

// An input or a function: its key and value types, and which one of its graph it is. Copies are the same.
template <typename K, typename V>
class Tracked {
 public:
  using Key = K;
  using Value = V;
  std::string_view name() const noexcept { return core_->spec.name; }

 protected:
  friend class Graph;
  friend class Batch;
  friend class Context;
  explicit Tracked(detail::FunctionCore* core) noexcept : core_(core) {}
  detail::FunctionCore* core_;
};
template <typename K, typename V>
class Input : public Tracked<K, V> {
  friend class Graph;
  using Tracked<K, V>::Tracked;
};
template <typename K, typename V>
class Function : public Tracked<K, V> {
  friend class Graph;
  friend class Context;
  using Tracked<K, V>::Tracked;
};

// The key of functions that take none.
using NoKey = std::monostate;

// What a running function reads through. Lives during one run; for that run's thread.
class LARDER_API Context {
 public:
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // The value: a copy where it is small and trivially copyable, else a reference that is good until the
  // function returns. Throws DependencyFailed where it is an error.
  template <typename K, typename V>
  decltype(auto) get(const Tracked<K, V>& of, const std::type_identity_t<K>& key) {
    const detail::RunLock lock(*run_.graph);
    detail::Node& node = read(of, key);
    const detail::Word word = node.value.load(std::memory_order_relaxed);
    if (node.has(detail::kFailed)) [[unlikely]]
      detail::throw_failed(word);
    if constexpr (detail::kFits<V>) {
      return detail::from_word<V>(word);
    } else {
      if (run_.graph->holds) detail::hold_word(run_, word);
      return static_cast<const V&>(detail::unboxed<V>(word));
    }
  }
  template <typename V>
  decltype(auto) get(const Tracked<NoKey, V>& of) {
    return get(of, NoKey{});
  }
  // The same without throwing: errors are values too.
  template <typename K, typename V>
  Result<V> try_get(const Tracked<K, V>& of, const std::type_identity_t<K>& key) {
    try {
      return get(of, key);
    } catch (const DependencyFailed& failed) {
      return tl::unexpected<Error>(failed.error());
    }
  }

  // The values of several keys. All of them count as asked for, so that other threads may make some of them
  // meanwhile; errors are those of the first that failed.
  template <typename K, typename V>
  std::vector<V> get_all(const Tracked<K, V>& of, const std::type_identity_t<std::vector<K>>& keys) {
    if (run_.graph->is_parallel) {
      const detail::RunLock lock(*run_.graph);
      std::vector<detail::NodeId> nodes;
      for (const K& key : keys) nodes.push_back(find_or_add(of, key));
      detail::make_together(run_, nodes);
    }
    std::vector<V> values;
    values.reserve(keys.size());
    for (const K& key : keys) values.push_back(get(of, key));
    return values;
  }

  // What lies outside of the graph, as it was when it was last looked at: see Graph::refresh. Relative paths
  // are those of the process. The content of a file. Throws DependencyFailed (not_found, io) where it cannot
  // be read, as get does.
  const std::string& file(const std::string& path);
  // The names in a folder, sorted, without `.` and `..`.
  const std::vector<std::string>& folder(const std::string& path);
  // An environment variable; nothing where it is not set.
  const std::optional<std::string>& env(const std::string& name);

  // What it returns depends on more than it reads here (the time, say): it runs again in every revision.
  void run_again_each_revision() noexcept { run_.is_volatile = true; }
  // True when a newer revision waits: the result will not be needed, and the next call on the context gives
  // up.
  bool is_superseded() const noexcept;

  explicit Context(detail::Run& run) noexcept : run_(run) {}  // the engine's

 private:
  template <typename K, typename V>
  detail::NodeId find_or_add(const Tracked<K, V>& of, const K& key) {
    using namespace detail;
    const std::uint64_t hash = KeyOf<K>::hash(key);
    const NodeId id = find_node(*run_.graph, *of.core_->table.load(std::memory_order_relaxed), hash,
                                [&](Word word) { return KeyOf<K>::same(word, key); });
    return id != kNoNode ? id : add_node(*run_.graph, *of.core_, hash, KeyOf<K>::make(key));
  }
  template <typename K, typename V>
  detail::Node& read(const Tracked<K, V>& of, const K& key) {
    using namespace detail;
    GraphHot& graph = *run_.graph;
    FunctionCore& function = *of.core_;
    if (run_.cursor < run_.expected_count) {
      const NodeId id = run_.expected[run_.cursor].node;
      Node& node = node_at(graph, id);
      if (node.function == function.id && KeyOf<K>::same(node.key.load(std::memory_order_relaxed), key)) {
        if ((node.flags() & kNotReady) != kClean ||
            (node.height > graph.floor && node.settled != graph.push) ||
            graph.summons.load(std::memory_order_relaxed) != 0)
          require_node(run_, id);
        ++run_.cursor;
        if (node.used.load(std::memory_order_relaxed) == 0) node.used.store(1, std::memory_order_relaxed);
        return node;
      }
    }
    const NodeId id = find_or_add(of, key);
    Node& node = node_at(graph, id);
    if ((node.flags() & kNotReady) != kClean || (node.height > graph.floor && node.settled != graph.push) ||
        graph.summons.load(std::memory_order_relaxed) != 0)
      require_node(run_, id);
    record_node(run_, id);
    if (node.used.load(std::memory_order_relaxed) == 0) node.used.store(1, std::memory_order_relaxed);
    return node;
  }

  detail::Run& run_;
};

// Sets that become one revision: all of them are seen, or none. For one thread; may be dropped.
class LARDER_API Batch {
 public:
  Batch(Batch&&) noexcept = default;
  Batch& operator=(Batch&&) noexcept = default;
  ~Batch();

  template <typename K, typename V>
  Batch& set(const Input<K, V>& input, const std::type_identity_t<K>& key, std::type_identity_t<V> value) {
    changes_.push_back({input.core_, detail::KeyOf<K>::hash(key), detail::KeyOf<K>::make(key), 0, true});
    changes_.back().value = detail::ValueOf<V>::make(std::move(value));
    changes_.back().is_erased = false;
    return *this;
  }
  // Reading it is an error afterwards, as before it was ever set.
  template <typename K, typename V>
  Batch& erase(const Input<K, V>& input, const std::type_identity_t<K>& key) {
    changes_.push_back({input.core_, detail::KeyOf<K>::hash(key), detail::KeyOf<K>::make(key), 0, true});
    return *this;
  }
  // Applies the sets, brings live nodes up to date and has subscribers told; the batch is empty then. Waits
  // until running functions have given up or returned. Returns the revision, which is the present one where
  // nothing differed. would_deadlock inside of a function.
  Result<Revision> commit();

 private:
  friend class Graph;
  explicit Batch(detail::GraphHot& graph) noexcept : graph_(&graph) {}

  detail::GraphHot* graph_;
  std::vector<detail::Change> changes_;
};

// Keeps a node live: up to date after every commit, before anyone asks. Ends with its destructor, at the
// latest before its graph.
class LARDER_API Want {
 public:
  Want() noexcept = default;
  Want(Want&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)), node_(other.node_) {}
  Want& operator=(Want&& other) noexcept {
    std::swap(graph_, other.graph_);
    std::swap(node_, other.node_);
    return *this;
  }
  ~Want();

 private:
  friend class Graph;
  Want(detail::GraphHot* graph, detail::NodeId node) noexcept : graph_(graph), node_(node) {}
  detail::GraphHot* graph_ = nullptr;
  detail::NodeId node_ = detail::kNoNode;
};

// A subscription ends with its destructor; after it, the callback is not running and will not be called, but
// for the call that the destructor itself stands in.
class LARDER_API GraphSubscription {
 public:
  GraphSubscription() noexcept = default;
  GraphSubscription(GraphSubscription&&) noexcept = default;
  GraphSubscription& operator=(GraphSubscription&& other) noexcept {
    std::swap(graph_, other.graph_);
    std::swap(subscriber_, other.subscriber_);
    return *this;
  }
  ~GraphSubscription();

 private:
  friend class Graph;
  detail::GraphHot* graph_ = nullptr;
  std::shared_ptr<void> subscriber_;
};

class LARDER_API Graph {
 public:
  // Throws std::bad_alloc, and std::invalid_argument for a policy that does not exist.
  explicit Graph(GraphOptions options = {});
  // No other thread may be inside.
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Declares an input. Reading one that was never set is the error not_found. Throws std::invalid_argument
  // for a name that is taken.
  template <typename K, typename V>
  Input<K, V> input(std::string name) {
    return Input<K, V>(declare(detail::spec_of<K, V>(std::move(name))));
  }
  // Declares a function: `call(Context&, const K&)` or `call(Context&)`, returning a V or a Result<V>.
  // Exceptions become the error maker_failed (bad_alloc: out_of_resources). Errors are kept like values;
  // those with code transient or out_of_resources for one revision only. `version` changes with what the
  // function makes of the same reads: what a snapshot holds of another version is made anew.
  template <typename Call>
  auto function(std::string name, Call call, std::string version = {});

  // A function that may depend on itself, through others or directly. On a cycle, whoever reads it is first
  // given `start`, then what came out of that, until it comes out as it was read: its value then, with that
  // of all others on the cycle. After rounds_max rounds it is the error maker_failed. With rounds_max 0 it is
  // not iterated: its value is `start` wherever it stands on a cycle. Where several functions with a start
  // value are on one cycle, each round reads all of them as the round before left them, so that it does not
  // matter who is asked first.
  template <typename V, typename Call>
  auto cyclic(std::string name, V start, Call call, unsigned rounds_max = 100, std::string version = {});

  // Sets one input: a batch of one.
  template <typename K, typename V>
  Result<Revision> set(const Input<K, V>& input, const std::type_identity_t<K>& key,
                       std::type_identity_t<V> value) {
    const detail::Word word = detail::ValueOf<V>::make(std::move(value));
    return set_one(*input.core_, detail::KeyOf<K>::hash(key), detail::KeyOf<K>::make(key), word);
  }
  template <typename K, typename V>
  Result<Revision> erase(const Input<K, V>& input, const std::type_identity_t<K>& key) {
    Batch batch(*graph_);
    batch.erase(input, key);
    return batch.commit();
  }
  Batch batch() noexcept { return Batch(*graph_); }

  // The value in the present revision, made now where it is not up to date. would_deadlock inside of a
  // function.
  template <typename K, typename V>
  Result<V> get(const Tracked<K, V>& of, const std::type_identity_t<K>& key) {
    using namespace detail;
    if constexpr (KeyOf<K>::kIsWord && kFits<V>) {
      const std::uint64_t phase = graph_->phase.load(std::memory_order_acquire);
      if ((phase & 1) == 0) [[likely]] {
        const Word wanted = KeyOf<K>::hash(key);
        const NodeId id = find_node(*graph_, *of.core_->table.load(std::memory_order_acquire), wanted,
                                    [=](Word word) { return word == wanted; });
        if (id != kNoNode) [[likely]] {
          Node& node = node_at(*graph_, id);
          const std::uint8_t state = node.state.load(std::memory_order_acquire);
          const Word word = node.value.load(std::memory_order_acquire);
          if ((state & (kNotReady | kFailed)) == kClean &&
              graph_->phase.load(std::memory_order_relaxed) == phase) [[likely]] {
            if (node.used.load(std::memory_order_relaxed) == 0) node.used.store(1, std::memory_order_relaxed);
            return from_word<V>(word);
          }
        }
      }
    }
    return get_slowly<K, V>(of, key);
  }
  template <typename V>
  Result<V> get(const Tracked<NoKey, V>& of) {
    return get(of, NoKey{});
  }

  // The same, until a stop is requested: then what runs for this call alone is given up at its next call on
  // its Context, and the error is transient. What another thread waits for, or what is live, runs on,
  // and so does what a helping thread has begun.
  template <typename K, typename V>
  Result<V> get(const Tracked<K, V>& of, const std::type_identity_t<K>& key, const std::stop_token& stop) {
    const std::stop_callback wake(stop, [this] { detail::wake_graph(*graph_); });
    return get_slowly<K, V>(of, key, &stop);
  }

  // Keeps the node live while the result lives. Makes it first; an error is a value like any other here.
  template <typename K, typename V>
  Result<Want> want(const Tracked<K, V>& of, const std::type_identity_t<K>& key) {
    for (unsigned tries = 0;; ++tries) {
      detail::GraphEntry entry(*graph_);
      if (entry.is_refused()) return refused();
      const detail::NodeId id = find_or_add(of, key);
      if (!entry.make(id, tries)) continue;
      entry.want(id);
      return Want(graph_.get(), id);
    }
  }
  // Keeps the node live and calls `told(const Result<V>&, Revision)` after each revision in which its value
  // differs from what was last told; `told` is first called for the first value that differs from the present
  // one. Calls come one after the other, on a thread that commits, without locks held; they may call the
  // graph, subscribe and unsubscribe.
  template <typename K, typename V, typename Told>
  Result<GraphSubscription> subscribe(const Tracked<K, V>& of, const std::type_identity_t<K>& key,
                                      Told told) {
    std::function<void(detail::Word, bool, Revision)> call =
        [told = std::move(told)](detail::Word word, bool is_failed, Revision revision) mutable {
          const Result<V> value = result<V>(word, is_failed);
          told(value, revision);
        };
    for (unsigned tries = 0;; ++tries) {
      detail::GraphEntry entry(*graph_);
      if (entry.is_refused()) return refused();
      const detail::NodeId id = find_or_add(of, key);
      if (!entry.make(id, tries)) continue;
      return subscribe_node(id, std::move(call));
    }
  }

  // A file seen through a converter: a function from paths. `convert(const std::string& content)` returns a V
  // or a Result<V>.
  template <typename Convert>
  auto translation(std::string name, Convert convert, std::string version = {}) {
    return function(
        std::move(name),
        [convert = std::move(convert)](Context& context, const std::string& path) {
          return convert(context.file(path));
        },
        std::move(version));
  }

  // Looks again at the files, folders and variables that functions have read, or at those named in `paths`
  // only; what may differ makes one revision, and what was read of it is read anew. A file whose inode, size
  // and times are as before is not read, unless it was so young when it was read that a change could hide
  // behind the same times. Where only the times differ, nothing beyond the file itself runs.
  Result<Revision> refresh();
  Result<Revision> refresh(const std::vector<std::string>& paths);

  // What the graph knows, for another run of the program: docs/format.md. Inputs with their values; of
  // functions what they depend on and what came out, or the digest of that: values over 256 bytes go into
  // GraphOptions::cache where there is one. Keys and values whose type cannot be written down
  // (detail/graph_written.hpp) are left out, and what depends on them will be made anew. would_deadlock
  // inside of a function.
  Result<std::string> save();
  // Into a graph whose functions are declared and of which nothing was asked or set yet (else
  // invalid_argument). Nothing runs: what is read later is made where its value was not kept, where its
  // function has another version, or where an input, file, folder or variable differs from then; all else is
  // as it was. `damaged` where it is not a whole snapshot: then nothing was loaded. Returns how many nodes
  // were.
  Result<std::size_t> load(BytesView snapshot);

  // A revision in which no input changed: volatile functions and transient errors get another run.
  Result<Revision> advance();
  Revision revision() const;

  // 0: no limit. Values beyond the new bounds leave at once.
  void resize(std::size_t lines_max, std::uint64_t bytes_max = 0);
  GraphStats stats() const;
  // Bytes that nodes, lists and tables take; values outside of nodes not counted.
  std::size_t memory_bytes() const;
  // Walks the whole graph and says what does not hold of the engine's own rules; empty when all is well. For
  // tests.
  std::string check() const;

 private:
  template <typename V>
  static Result<V> result(detail::Word word, bool is_failed) {
    if (is_failed) return tl::unexpected<Error>(detail::unboxed<Error>(word));
    if constexpr (detail::kFits<V>) {
      return detail::from_word<V>(word);
    } else {
      return detail::unboxed<V>(word);
    }
  }
  static tl::unexpected<Error> refused();
  static tl::unexpected<Error> given_up();

  template <typename K, typename V>
  detail::NodeId find_or_add(const Tracked<K, V>& of, const K& key) {
    using namespace detail;
    const std::uint64_t hash = KeyOf<K>::hash(key);
    const NodeId id = find_node(*graph_, *of.core_->table.load(std::memory_order_relaxed), hash,
                                [&](Word word) { return KeyOf<K>::same(word, key); });
    return id != kNoNode ? id : add_node(*graph_, *of.core_, hash, KeyOf<K>::make(key));
  }
  template <typename K, typename V>
  [[gnu::noinline]] Result<V> get_slowly(const Tracked<K, V>& of, const K& key,
                                         const std::stop_token* stop = nullptr) {
    for (unsigned tries = 0;; ++tries) {
      detail::GraphEntry entry(*graph_);
      if (entry.is_refused()) return refused();
      if (stop != nullptr && !entry.stops_with(*stop)) return given_up();
      const detail::NodeId id = find_or_add(of, key);
      if (!entry.make(id, tries)) continue;
      detail::Node& node = detail::node_at(*graph_, id);
      node.used.store(1, std::memory_order_relaxed);
      return result<V>(node.value.load(std::memory_order_relaxed), node.has(detail::kFailed));
    }
  }

  detail::FunctionCore* declare(detail::FunctionSpec spec);
  Result<Revision> set_one(detail::FunctionCore& input, std::uint64_t hash, detail::Word key,
                           detail::Word value);
  GraphSubscription subscribe_node(detail::NodeId id, std::function<void(detail::Word, bool, Revision)> call);

  struct Close {
    void operator()(detail::GraphHot* graph) const noexcept;
  };
  std::unique_ptr<detail::GraphHot, Close> graph_;
};

template <typename Call>
auto Graph::function(std::string name, Call call, std::string version) {
  using Shape = detail::CallOf<Call>;
  using K = typename Shape::KeyType;
  using V = typename Shape::Value;
  detail::FunctionSpec spec = detail::spec_of<K, V>(std::move(name));
  spec.version = std::move(version);
  spec.callable = std::make_shared<Call>(std::move(call));
  spec.run = &Shape::run;
  return Function<K, V>(declare(std::move(spec)));
}

template <typename V, typename Call>
auto Graph::cyclic(std::string name, V start, Call call, unsigned rounds_max, std::string version) {
  using Shape = detail::CallOf<Call>;
  static_assert(std::is_same_v<V, typename Shape::Value>, "the start value is what the function returns");
  detail::FunctionSpec spec = detail::spec_of<typename Shape::KeyType, V>(std::move(name));
  spec.callable = std::make_shared<Call>(std::move(call));
  spec.run = &Shape::run;
  spec.version = std::move(version);
  spec.has_start = true;
  spec.start = detail::ValueOf<V>::make(std::move(start));
  spec.rounds_max = rounds_max;
  return Function<typename Shape::KeyType, V>(declare(std::move(spec)));
}

}  // namespace larder
