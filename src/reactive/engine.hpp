// The Engine is a graph without its types. Its steps stand in one file each:
//   nodes.cpp    memory of nodes, tables, the two lists of each node
//   verify.cpp   is a node up to date? looks at its dependencies in the order in which they were asked for
//   execute.cpp  runs a function and takes over what it made
//   cycle.cpp    cycles that have a value to start from
//   promote.cpp  a change reaches consumers; heights; liveness
//   push.cpp     a batch becomes a revision; live nodes are brought up to date, lowest first
//   lines.cpp    values under the replacement policy
//   notify.cpp   subscribers
//   snapshot.cpp saved and loaded; large values through a cache
//   pool.cpp     threads that help
//   entry.cpp    threads come in and go out
//
// Words: a node's dependencies are its `sub`, its consumers its `sup`, as in the seed.
//
// What holds whenever the lock is free or a function runs:
//   I1  `sub` and `sup` mirror each other: n.sub[i] = {d, j} exactly when d.sup[j] = {n, i}.
//   I2  The recorded graph has no cycle, and n.height > d.height for every d in n.sub.
//   I3  n.live counts its live consumers and one for its own wants; all dependencies of a live node are live.
//   I4  Outside of a push every dependency of a clean node is clean, evicted or not. During a push that holds
//   for
//       nodes up to the level at work, and above it for nodes whose `settled` names this push.
//   I5  What is not clean has no clean lazy consumer; a dirty live node is queued, busy, or put off because
//   all who
//       consume it are dirty themselves.
//   I6  All functions between an entry's begin and its end see the same revision: sets wait until all have
//   left.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/mutex.hpp"
#include "format/graph_snapshot.hpp"
#include "larder/graph.hpp"
#include "policy/policy.hpp"
#include "reactive/edges.hpp"
#include "reactive/levels.hpp"

namespace larder::detail {

struct Frame {
  NodeId node = kNoNode;
  std::uint32_t next : 28 = 0;        // the dependency to look at next
  std::uint32_t wants_value : 1 = 0;  // else it is enough to know whether it is up to date
  std::uint32_t is_tainted : 1 = 0;   // on a cycle that was found
  std::uint32_t is_running : 1 = 0;
  std::uint32_t is_touched : 1 = 0;  // its function read what a cycle has made so far
};

struct Cycle;

// One thread's way through the graph. The stack is the path from what was asked for to what is at work;
// functions that run natively inside each other have their frames on it too.
struct Evaluator {
  std::vector<Frame> stack;
  std::vector<NodeId> asked;   // what the running functions asked for, once they diverged
  std::vector<Word> held;      // values that running functions may still look at
  std::vector<NodeId> pinned;  // made for functions that gave up; stay until the entry ends
  unsigned depth = 0;          // functions that run inside each other
  const char* stack_begin = nullptr;
  NodeId suspended_on = kNoNode;
  NodeId waiting_on = kNoNode;
  NodeId pushed = kNoNode;                  // what a push brings up to date here
  const Evaluator* gives_way_to = nullptr;  // gives up what it holds, which that one waits for
  std::uint64_t turn = 0;                   // how often it was taken
  bool is_unwinding = false;
  bool may_cancel = true;
  bool is_in_use = false;
  const std::stop_token* stop = nullptr;
  Cycle* cycle = nullptr;         // that is being solved: cycle.cpp
  std::vector<NodeId> new_heads;  // what a cycle that was met could start from
};

// Passes through functions that must give up: what they asked for is made first, or a newer revision is
// waiting.
struct Unwind {};

}  // namespace larder::detail

namespace larder::reactive {

using detail::Box;
using detail::Digest;
using detail::Evaluator;
using detail::Frame;
using detail::FunctionCore;
using detail::GraphHot;
using detail::GraphTable;
using detail::kSub;
using detail::kSup;
using detail::Run;
using detail::Unwind;
using detail::Word;

// Files, folders and variables: outside.cpp.
struct Outside;

struct Subscriber {
  std::function<void(Word, bool, Revision)> call;
  NodeId node = kNoNode;
  Word told = 0;  // what it was told last, or what was there when it came
  bool told_failed = false;
  bool told_is_boxed = false;
  bool is_ended = false;
  bool is_called = false;  // a call is at work, on the thread `caller`
  std::thread::id caller;

  Subscriber() = default;
  Subscriber(const Subscriber&) = delete;
  Subscriber& operator=(const Subscriber&) = delete;
  ~Subscriber() {
    if (told_is_boxed) detail::release(told);
  }
};

// Of nodes that are wanted or subscribed.
struct Extra {
  std::uint32_t wants = 0;  // subscriptions included
  bool is_pending = false;  // in Engine::pending_
  std::vector<std::shared_ptr<Subscriber>> subscribers;
};

// Values kept under a policy. No policy where neither lines nor bytes are bounded.
struct Lines {
  std::unique_ptr<policy::Policy> policy;
  std::vector<std::uint64_t> weights;              // by node; 0: holds no line
  std::unordered_map<NodeId, std::uint32_t> pins;  // wanted, or made for functions that gave up
  std::uint64_t bytes = 0;
  std::size_t pinned = 0;  // lines of pinned values
  // Members of cycles that were solved. They stay, pinned, until they are made anew: one that was evicted
  // alone would be made again of the others, and the recorded graph would close in a circle.
  std::unordered_set<NodeId> on_cycles;
  bool needs_cost = false;
};

// Not kept over a revision.
inline bool is_passing(const Error& error) noexcept {
  return error.code == Code::transient || error.code == Code::out_of_resources;
}

inline constexpr std::uint32_t kNoFloor = std::numeric_limits<std::uint32_t>::max();

class Engine : public GraphHot {
 public:
  explicit Engine(GraphOptions options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  static Engine& of(GraphHot& graph) noexcept { return static_cast<Engine&>(graph); }
  Node& node(NodeId id) noexcept { return detail::node_at(*this, id); }
  FunctionCore& function(const Node& node) noexcept { return *functions_[node.function]; }

  // nodes.cpp
  FunctionCore& declare(detail::FunctionSpec spec);
  NodeId find_or_add(FunctionCore& function, std::uint64_t hash, Word key);  // takes a boxed key over
  NodeId find(FunctionCore& function, std::uint64_t hash, Word key) noexcept;
  NodeId add(FunctionCore& function, std::uint64_t hash, Word key);  // an input must be given its value next
  void link(NodeId consumer, const NodeId* dependencies, std::size_t count, std::uint32_t from);
  void unlink(NodeId consumer, std::uint32_t from);
  void forget_idle();
  std::string name(NodeId id);
  Word never_set(NodeId id);  // the error of reading it

  // verify.cpp
  void ensure(Evaluator& evaluator, NodeId id, bool wants_value);
  bool is_ready(const Node& node) const noexcept {
    return (node.flags() & detail::kNotReady) == detail::kClean && is_settled(node);
  }
  bool is_settled(const Node& node) const noexcept { return node.height <= floor || node.settled == push; }
  [[noreturn]] void close_cycle(Evaluator& evaluator, NodeId id);
  [[noreturn]] void report_cycle(Evaluator& evaluator, NodeId id);
  void wait_for(Evaluator& evaluator, NodeId id);
  void give_way(Evaluator& evaluator);
  bool commits_wait() const noexcept {
    return (summons.load(std::memory_order_relaxed) & (detail::kDropWaits - 1)) != 0;
  }
  bool is_superseded(const Evaluator& evaluator) const noexcept;
  bool is_dropped(const Evaluator& evaluator) noexcept;
  bool is_cancelled(Evaluator& evaluator);

  // cycle.cpp
  bool is_member(const Evaluator& evaluator, NodeId id) const noexcept;
  bool join_cycle(Evaluator& evaluator, NodeId id);
  void take_into_cycle(Evaluator& evaluator, Run& run, Word word);
  void solve(Evaluator& evaluator);

  // execute.cpp
  bool execute(Evaluator& evaluator, NodeId id);
  void record(Run& run, NodeId id);

  // promote.cpp
  void changed(NodeId id);
  void mark_dirty(NodeId id);
  void mark_consumers_stale(NodeId id);
  void raise(NodeId id);
  void live_up(NodeId id);
  void live_down(NodeId id);
  void enqueue(NodeId id, Node& node) {
    if (node.has(detail::kQueued)) return;
    node.set(detail::kQueued);
    queue_.push(node.height, id, node);
  }

  // push.cpp
  bool has_queued() const noexcept { return !queue_.empty() || !later_.empty(); }
  void set(NodeId id, Word value, bool is_failed);
  void next_revision();
  bool push_changes(Evaluator& evaluator);
  bool may_put_off(NodeId id, Node& node);
  void run_dirty(Evaluator& evaluator, NodeId id, Node& node);
  void push_one(Evaluator& evaluator, NodeId id);
  NodeId take_queued(Levels& queue, std::uint32_t level);

  // pool.cpp
  struct Task {
    NodeId node;
    bool is_push;  // of the level at work; else to be made because it will be asked for
  };
  void offer(NodeId id, bool is_push);
  void help();
  void do_task(Evaluator& evaluator, Task task);
  bool push_level(Evaluator& evaluator, const std::vector<NodeId>& all);
  void close_pool();

  // lines.cpp
  void place(NodeId id, Node& node, std::uint64_t cost);
  void leave_line(NodeId id);
  void evict(NodeId id);
  void keep_on_cycle(NodeId id) {
    if (lines_.on_cycles.insert(id).second) pin(id);
  }
  void leave_cycle(NodeId id) {
    if (!lines_.on_cycles.empty() && lines_.on_cycles.erase(id) != 0) unpin(id);
  }
  void make_room(std::uint64_t bytes, std::uint64_t lines);
  void pin(NodeId id);
  void unpin(NodeId id);
  void bound(std::size_t lines, std::uint64_t bytes);

  // notify.cpp
  void announce(NodeId id);
  void tell();
  bool is_pushed() const noexcept { return !is_pushing_ && !has_queued(); }
  std::shared_ptr<Subscriber> subscribe(NodeId id, std::function<void(Word, bool, Revision)> call);
  void unsubscribe(const std::shared_ptr<Subscriber>& subscriber);
  void want(NodeId id);
  void unwant(NodeId id);

  // outside.cpp
  void declare_outside();
  Result<Revision> refresh(const std::vector<std::string>* paths);
  bool is_as_it_was(NodeId id);
  void tear(NodeId id);
  void mend_tears();
  std::string seen_outside(NodeId id);
  bool is_still(NodeId id, std::string_view seen);

  // snapshot.cpp
  Result<std::string> save();
  Result<std::size_t> load(BytesView bytes);
  bool restore(NodeId id, Node& node);
  bool save_value(NodeId id, format::GraphSnapshot::Node& saved, std::deque<std::string>& texts);
  bool load_value(NodeId id, const format::GraphSnapshot::Node& saved);
  std::vector<FunctionCore*> match(const format::GraphSnapshot& snapshot);

  // entry.cpp
  Evaluator& take_evaluator();
  void begin_change() noexcept;
  void end_change() noexcept;
  void wait_for_turn();
  bool enter_to_drop();
  void let_in();
  void leave(Evaluator* evaluator);
  // A revision of what is set and of what must be looked at again; `advances`: one in any case.
  Result<Revision> apply(detail::Change* changes, std::size_t count, bool advances,
                         const std::vector<NodeId>* again = nullptr);
  bool catch_up(Evaluator& evaluator);
  void settle();
  std::string check();

  // The lock stands around everything here. It is taken by an entry and given back when that ends, which no
  // analysis follows; where it does not, that is said.
  Mutex mutex_;
  Condition left_;  // a node is no longer busy, an evaluator has left, a callback has returned
  GraphOptions options_;
  std::vector<std::unique_ptr<FunctionCore>> functions_;
  std::uint32_t node_count_ = 0;  // ever taken fresh
  std::uint32_t nodes_present_ = 0;
  NodeId free_ = kNoNode;
  EdgePool edges_;
  Levels queue_;
  Levels later_;  // dirty nodes that were put off, by the level to wait for
  std::unordered_map<NodeId, Extra> extras_;
  std::vector<NodeId> reruns_;  // volatile, transient or on a cycle: dirty in the next revision
  std::deque<NodeId> pending_;  // subscribed nodes that came out different
  std::vector<NodeId> work_;    // scratch of promote.cpp
  std::vector<NodeId> idle_;    // perhaps of no use to anyone; looked at when the last evaluator leaves
  std::vector<GraphTable*> retired_;
  std::vector<std::unique_ptr<Evaluator>> evaluators_;
  std::vector<std::string> reports_;
  Lines lines_;
  Revision revision_ = 0;
  std::uint32_t run_number_ = 0;
  unsigned active_ = 0;   // evaluators inside
  unsigned waiting_ = 0;  // threads that wait for left_, evaluators apart
  unsigned put_off_ = 0;
  unsigned abandoned_ = 0;  // pushes in a row that a newer revision overtook
  unsigned in_use_ = 0;     // evaluators that threads have taken
  bool has_changes_ = false;
  bool is_pushing_ = false;
  bool has_dropped_ = false;  // during this push something stopped being live
  bool is_telling_ = false;
  GraphStats stats_;
  Condition offered_;  // a task is there
  std::vector<Task> tasks_;
  std::vector<std::thread> workers_;
  long workers_of_ = 0;      // the process that has them
  unsigned level_left_ = 0;  // of a push: tasks of the level at work that are not done
  bool is_overtaken_ = false;
  bool is_closing_ = false;
  std::shared_ptr<Outside> outside_;
  std::vector<NodeId> torn_;          // outside nodes that came out different within a revision
  std::atomic<bool> is_torn_{false};  // there are some: all that runs gives up

 private:
  GraphTable* make_table(std::size_t lines);
  void retire(GraphTable* table) noexcept;
  void insert_slot(GraphTable& table, std::uint64_t hash, NodeId id) noexcept;
  void remove_slot(FunctionCore& function, NodeId id) noexcept;
  void tell_one(Subscriber& subscriber);
  void remember_told(Subscriber& subscriber);
  void forget_told(Subscriber& subscriber) noexcept;
  std::uint64_t hash_of(FunctionCore& function, Word key) const;
  void reserve_edges(Node& node, unsigned list, std::uint32_t count);
  void drop_edges(Node& node, unsigned list) noexcept;
  void drop_value(Node& node) noexcept;
  void finish(Evaluator& evaluator, Run& run, Word word);
  bool is_equal(const Node& node, Word word, bool is_failed);
  void take_over(Run& run, Node& node);
  void clear_busy(Evaluator& evaluator, std::size_t base);
  bool owns(const Evaluator& evaluator, NodeId id) const noexcept;
  bool stands_in(const Evaluator& evaluator, NodeId id) const noexcept;
  void begin_member(detail::Cycle& cycle, NodeId id, bool is_head);
  bool add_heads(Evaluator& evaluator);
  bool run_round(Evaluator& evaluator);
  void run_head(Evaluator& evaluator, NodeId id);
  void give_value(Node& node, Word word, bool is_failed);
  void link_members(detail::Cycle& cycle);
  void end_cycle(Evaluator& evaluator);
  void abandon_cycle(Evaluator& evaluator) noexcept;
};

}  // namespace larder::reactive
