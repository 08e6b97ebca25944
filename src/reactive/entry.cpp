// Threads come in and go out. Whoever sets takes precedence: it says so by its summons, upon which
// running functions give up at their next call on their Context; it comes in when all have left, so that no
// function ever sees two revisions, and those that gave up start again in the new one.
#include "larder/graph.hpp"
#include "reactive/engine.hpp"
#include "reactive/inside.hpp"

namespace larder {

using namespace detail;
using reactive::Engine;
using reactive::Inside;
using reactive::is_inside;
using reactive::Subscriber;

namespace {

constexpr unsigned kAbandonedMax = 16;

}  // namespace

namespace reactive {

Engine::Engine(GraphOptions options) : options_(std::move(options)) {
  is_parallel = options_.threads > 1;
  chunks = static_cast<std::atomic<Node*>*>(
      std::calloc(std::size_t{1} << (32 - kChunkBits), sizeof(std::atomic<Node*>)));
  if (chunks == nullptr) throw std::bad_alloc();
  const std::size_t lines_max = options_.lines_max;
  const std::uint64_t bytes_max = options_.bytes_max;
  try {
    bound(lines_max, bytes_max);
    declare_outside();
  } catch (...) {
    std::free(chunks);
    throw;
  }
}

Evaluator& Engine::take_evaluator() {
  Evaluator* taken = nullptr;
  for (auto& evaluator : evaluators_)
    if (taken == nullptr && !evaluator->is_in_use) taken = evaluator.get();
  if (taken == nullptr) {
    evaluators_.push_back(std::make_unique<Evaluator>());
    taken = evaluators_.back().get();
  }
  taken->is_in_use = true;
  ++taken->turn;
  ++in_use_;
  return *taken;
}

// R1. The phase stays odd while a push that was given up waits to be finished: its nodes belong to two
// revisions.
void Engine::begin_change() noexcept {
  const std::uint64_t now = phase.load(std::memory_order_relaxed);
  if (active_++ == 0 && (now & 1) == 0) phase.store(now + 1, std::memory_order_relaxed);
}

void Engine::end_change() noexcept {
  if (--active_ != 0) return;
  if (is_torn_) mend_tears();
  tasks_.clear();
  if (!idle_.empty()) forget_idle();
  if (!has_queued()) phase.store(phase.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

// Commits go first; and where functions run one at a time, so do those at work: one of them may have let go
// of the lock to have askers dropped.
void Engine::wait_for_turn() NO_THREAD_SAFETY_ANALYSIS {
  while (commits_wait() || (!is_parallel && in_use_ != 0)) {
    ++waiting_;
    left_.wait(mutex_);
    --waiting_;
  }
}

// Ends what an entry began and unlocks; what is to be said is said afterwards.
void Engine::leave(Evaluator* evaluator) NO_THREAD_SAFETY_ANALYSIS {
  if (evaluator != nullptr) {
    for (const NodeId id : evaluator->pinned) {
      unpin(id);
      idle_.push_back(id);
    }
    evaluator->pinned.clear();
    evaluator->may_cancel = true;
    evaluator->is_unwinding = false;
    evaluator->suspended_on = kNoNode;
    evaluator->pushed = kNoNode;
    evaluator->gives_way_to = nullptr;
    if (std::exchange(evaluator->stop, nullptr) != nullptr) summons.fetch_sub(kMayStop);
    evaluator->is_in_use = false;
    --in_use_;
  }
  end_change();
  if (waiting_ != 0 || is_parallel) left_.notify_all();
  if (!pending_.empty()) tell();
  std::vector<std::string> reports;
  if (!reports_.empty()) reports.swap(reports_);
  mutex_.unlock();
  if (options_.report)
    for (const std::string& report : reports) options_.report(report);
}

// False inside of a function where functions run one at a time: the thread has the lock already.
bool Engine::enter_to_drop() NO_THREAD_SAFETY_ANALYSIS {
  if (!is_parallel && is_inside(*this)) return false;
  summons.fetch_add(kDropWaits);
  mutex_.lock();
  summons.fetch_sub(kDropWaits);
  begin_change();
  return true;
}

// The lock is let go of so that askers who drop get in; nobody else does (wait_for_turn).
void Engine::let_in() NO_THREAD_SAFETY_ANALYSIS {
  ++waiting_;
  while ((summons.load(std::memory_order_relaxed) & (kMayStop - kDropWaits)) != 0) left_.wait(mutex_);
  --waiting_;
}

// Finishes a push that was given up. False: a newer revision is waiting.
bool Engine::catch_up(Evaluator& evaluator) NO_THREAD_SAFETY_ANALYSIS {
  while (is_pushing_) {
    if (is_superseded(evaluator)) return false;
    ++waiting_;
    left_.wait(mutex_);
    --waiting_;
  }
  if (!has_queued()) return true;
  evaluator.may_cancel = abandoned_ < kAbandonedMax;
  is_pushing_ = true;
  const bool is_done = push_changes(evaluator);
  is_pushing_ = false;
  floor = kNoFloor;
  if (has_dropped_) summons.fetch_sub(kHasDropped);
  has_dropped_ = false;
  if (waiting_ != 0) left_.notify_all();
  abandoned_ = is_done ? 0 : abandoned_ + 1;
  return is_done;
}

// Finishes the push that a tear interrupted: no newer commit comes that would.
void Engine::settle() {
  for (unsigned tries = 0;; ++tries) {
    detail::GraphEntry entry(*this);
    if (entry.is_refused() || entry.settle(tries)) return;
  }
}

Result<Revision> Engine::apply(Change* changes, std::size_t count, bool advances,
                               const std::vector<NodeId>* again) NO_THREAD_SAFETY_ANALYSIS {
  if (is_inside(*this)) {
    for (std::size_t i = 0; i < count; ++i) {
      if (changes[i].input->spec.key.is_boxed) release(changes[i].key);
      if (!changes[i].is_erased && changes[i].input->spec.value.is_boxed) release(changes[i].value);
    }
    return fail(Code::would_deadlock,
                "set an input inside of a tracked function: it must not change what it reads");
  }
  const bool is_first = mutex_.lock_if_free();
  if (!is_first || active_ != 0) {
    summons.fetch_add(kCommitWaits);
    if (!is_first) mutex_.lock();
    while (active_ != 0) {
      ++waiting_;
      left_.wait(mutex_);
      --waiting_;
    }
    summons.fetch_sub(kCommitWaits);
    if (waiting_ != 0) left_.notify_all();
  }
  begin_change();
  has_changes_ = false;
  if (advances) {
    next_revision();
    has_changes_ = true;
  }
  if (again != nullptr) {
    for (const NodeId id : *again) {
      Node& node = this->node(id);
      // It may have left, and another may have come in its place: running that once more does no harm.
      if (node.function == kNoFunction || !function(node).spec.is_outside || node.condition() != kClean)
        continue;
      if (!has_changes_) next_revision();
      has_changes_ = true;
      mark_dirty(id);
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Change& change = changes[i];
    if (!change.is_erased) {
      set(find_or_add(*change.input, change.hash, change.key), change.value, false);
      continue;
    }
    const NodeId id = find(*change.input, change.hash, change.key);
    if (change.input->spec.key.is_boxed) release(change.key);
    if (id != kNoNode) set(id, never_set(id), true);
  }
  const Revision revision = revision_;
  Evaluator* evaluator = nullptr;
  if (has_queued()) {
    const Stay stay(*this);
    evaluator = &take_evaluator();
    catch_up(*evaluator);
  }
  const bool is_left_over = is_torn_;
  leave(evaluator);
  if (is_left_over) settle();
  return revision;
}

}  // namespace reactive

namespace detail {

void lock_graph(GraphHot& graph) noexcept NO_THREAD_SAFETY_ANALYSIS {
  Engine::of(graph).mutex_.lock();
}

void unlock_graph(GraphHot& graph) noexcept NO_THREAD_SAFETY_ANALYSIS {
  Engine::of(graph).mutex_.unlock();
}

GraphEntry::GraphEntry(GraphHot& graph) NO_THREAD_SAFETY_ANALYSIS : graph_(&graph) {
  static_assert(sizeof(Inside) <= sizeof(inside_));
  if (is_inside(graph)) {
    is_refused_ = true;
    return;
  }
  Engine& engine = Engine::of(graph);
  engine.mutex_.lock();
  engine.wait_for_turn();
  engine.begin_change();
  evaluator_ = &engine.take_evaluator();
  reactive::inside_of_thread() = new (inside_) Inside{graph_, reactive::inside_of_thread()};
}

GraphEntry::~GraphEntry() NO_THREAD_SAFETY_ANALYSIS {
  if (is_refused_) return;
  reactive::inside_of_thread() = std::launder(reinterpret_cast<Inside*>(inside_))->outer;
  Engine::of(*graph_).leave(evaluator_);
}

bool GraphEntry::settle(unsigned tries) {
  Engine& engine = Engine::of(*graph_);
  evaluator_->may_cancel = tries < kAbandonedMax;
  return engine.catch_up(*evaluator_) && !engine.is_torn_;
}

bool GraphEntry::make(NodeId id, unsigned tries) {
  Engine& engine = Engine::of(*graph_);
  if (!settle(tries)) return false;
  evaluator_->may_cancel = tries < kAbandonedMax;
  try {
    while (!engine.is_ready(engine.node(id))) engine.ensure(*evaluator_, id, true);
  } catch (const Unwind&) {
    evaluator_->is_unwinding = false;
    engine.give_way(*evaluator_);
    return false;
  }
  return settle(tries);  // what came out different without a reason has consumers too
}

bool GraphEntry::stops_with(const std::stop_token& stop) {
  if (stop.stop_requested()) return false;
  if (evaluator_->stop == nullptr) Engine::of(*graph_).summons.fetch_add(kMayStop);
  evaluator_->stop = &stop;
  return true;
}

void wake_graph(GraphHot& graph) NO_THREAD_SAFETY_ANALYSIS {
  if (!graph.is_parallel) return;  // nobody waits inside, and who runs has the lock
  Engine& engine = Engine::of(graph);
  engine.mutex_.lock();
  engine.left_.notify_all();
  engine.mutex_.unlock();
}

void GraphEntry::want(NodeId id) {
  Engine::of(*graph_).want(id);
}

}  // namespace detail

Batch::~Batch() {
  for (const Change& change : changes_) {
    if (change.input->spec.key.is_boxed) release(change.key);
    if (!change.is_erased && change.input->spec.value.is_boxed) release(change.value);
  }
}

Result<Revision> Batch::commit() {
  std::vector<Change> changes;
  changes.swap(changes_);
  return Engine::of(*graph_).apply(changes.data(), changes.size(), false);
}

Want::~Want() NO_THREAD_SAFETY_ANALYSIS {
  if (graph_ == nullptr) return;
  Engine& engine = Engine::of(*graph_);
  const bool has_entered = engine.enter_to_drop();
  engine.unwant(node_);
  if (has_entered) engine.leave(nullptr);
}

GraphSubscription::~GraphSubscription() NO_THREAD_SAFETY_ANALYSIS {
  if (graph_ == nullptr || subscriber_ == nullptr) return;
  Engine& engine = Engine::of(*graph_);
  const auto subscriber = std::static_pointer_cast<Subscriber>(subscriber_);
  const bool has_entered = engine.enter_to_drop();
  engine.unsubscribe(subscriber);
  if (has_entered) engine.leave(nullptr);
}

Graph::Graph(GraphOptions options) : graph_(new Engine(std::move(options))) {}

Graph::~Graph() = default;

tl::unexpected<Error> Graph::given_up() {
  return fail(Code::transient, "given up: who asked asked to stop");
}

void Graph::Close::operator()(GraphHot* graph) const noexcept {
  delete static_cast<Engine*>(graph);
}

FunctionCore* Graph::declare(FunctionSpec spec) {
  Engine& engine = Engine::of(*graph_);
  const MutexLock lock(engine.mutex_);
  for (const auto& function : engine.functions_) {
    if (function->spec.name != spec.name) continue;
    if (spec.has_start && spec.value.is_boxed) release(spec.start);
    throw std::invalid_argument(spec.name + ": is declared already");
  }
  return &engine.declare(std::move(spec));
}

tl::unexpected<Error> Graph::refused() {
  return fail(
      Code::would_deadlock,
      "asked the graph inside of a tracked function: ask its Context, so that the reading is recorded");
}

Result<Revision> Graph::set_one(FunctionCore& input, std::uint64_t hash, Word key, Word value) {
  Change change{&input, hash, key, value, false};
  return Engine::of(*graph_).apply(&change, 1, false);
}

Result<Revision> Graph::advance() {
  return Engine::of(*graph_).apply(nullptr, 0, true);
}

GraphSubscription Graph::subscribe_node(NodeId id, std::function<void(Word, bool, Revision)> call) {
  GraphSubscription subscription;
  subscription.subscriber_ = Engine::of(*graph_).subscribe(id, std::move(call));
  subscription.graph_ = graph_.get();
  return subscription;
}

Result<Revision> Graph::refresh() {
  return Engine::of(*graph_).refresh(nullptr);
}

Result<Revision> Graph::refresh(const std::vector<std::string>& paths) {
  return Engine::of(*graph_).refresh(&paths);
}

Result<std::string> Graph::save() {
  return Engine::of(*graph_).save();
}

Result<std::size_t> Graph::load(BytesView snapshot) {
  return Engine::of(*graph_).load(snapshot);
}

Revision Graph::revision() const {
  Engine& engine = Engine::of(*graph_);
  const MutexLock lock(engine.mutex_);
  return engine.revision_;
}

void Graph::resize(std::size_t lines_max, std::uint64_t bytes_max) NO_THREAD_SAFETY_ANALYSIS {
  Engine& engine = Engine::of(*graph_);
  engine.mutex_.lock();
  engine.wait_for_turn();
  engine.begin_change();
  engine.bound(lines_max, bytes_max);
  engine.leave(nullptr);
}

GraphStats Graph::stats() const {
  Engine& engine = Engine::of(*graph_);
  const MutexLock lock(engine.mutex_);
  GraphStats stats = engine.stats_;
  stats.nodes = engine.nodes_present_;
  stats.lines = engine.lines_.policy == nullptr ? 0 : engine.lines_.policy->size() + engine.lines_.pinned;
  stats.bytes = engine.lines_.bytes;
  return stats;
}

std::size_t Graph::memory_bytes() const {
  Engine& engine = Engine::of(*graph_);
  const MutexLock lock(engine.mutex_);
  std::size_t bytes = std::size_t{engine.node_count_} * sizeof(Node) + engine.edges_.memory_bytes() +
                      engine.queue_.memory_bytes() + engine.lines_.weights.capacity() * 8;
  for (const auto& function : engine.functions_)
    bytes += function->table.load(std::memory_order_relaxed)->lines * 64;
  if (engine.lines_.policy != nullptr) bytes += engine.lines_.policy->memory_bytes();
  return bytes;
}

std::string Graph::check() const {
  Engine& engine = Engine::of(*graph_);
  const MutexLock lock(engine.mutex_);
  return engine.check();
}

}  // namespace larder
