// Runs a function and takes over what it made. Its dependencies are what it asked for in this very run; where
// they come out in the same order as last time the lists are left as they are.
#include <new>

#include "reactive/engine.hpp"

namespace larder::reactive {

using namespace larder::detail;

namespace {

constexpr unsigned kNestedMax = 64;
constexpr std::ptrdiff_t kStackMax = 128 * 1024;
// Up to here a list is searched one by one; beyond it nodes are stamped.
constexpr std::size_t kSearchedMax = 16;

}  // namespace

// False: it gave up. Inside of another function giving up goes on through that one.
bool Engine::execute(Evaluator& evaluator, NodeId id) NO_THREAD_SAFETY_ANALYSIS {
  const char here = 0;
  if (evaluator.depth == 0) {
    evaluator.stack_begin = &here;
  } else if (evaluator.depth >= kNestedMax || evaluator.stack_begin - &here > kStackMax) {
    evaluator.suspended_on = id;
    evaluator.is_unwinding = true;
    throw Unwind{};
  }
  Node& node = this->node(id);
  if (options_.cache != nullptr && restore(id, node)) return true;
  FunctionCore& core = function(node);
  Run run{.graph = this,
          .evaluator = &evaluator,
          .expected = node.edge(kSub),
          .expected_count = node.count(kSub),
          .asked_at = evaluator.asked.size(),
          .held_at = evaluator.held.size(),
          .self = id};
  evaluator.stack.back().is_running = true;
  evaluator.stack.back().is_touched = false;
  const Word key = node.key.load(std::memory_order_relaxed);
  Context context(run);
  Word word = 0;
  bool has_failed = false;
  bool passes_on = false;
  std::uint64_t cost = 0;
  const bool is_timed = lines_.needs_cost;
  const auto begin = is_timed ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
  ++evaluator.depth;
  if (is_parallel) mutex_.unlock();
  try {
    word = core.spec.run(core.spec.callable.get(), context, key, has_failed);
  } catch (const Unwind&) {
    // is_unwinding says so.
  } catch (const DependencyFailed& failed) {
    has_failed = true;
    passes_on = true;
    word = error_word(failed.error());
  } catch (const std::bad_alloc&) {
    has_failed = true;
    word = error_word({Code::out_of_resources, core.spec.name + ": out of memory"});
  } catch (const std::exception& thrown) {
    has_failed = true;
    word = error_word({Code::maker_failed, thrown.what()});
  } catch (...) {
    has_failed = true;
    word = error_word({Code::maker_failed, core.spec.name + ": threw something that is no std::exception"});
  }
  if (is_parallel) mutex_.lock();
  --evaluator.depth;
  while (evaluator.held.size() > run.held_at) {
    release(evaluator.held.back());
    evaluator.held.pop_back();
  }
  if (is_timed)
    cost = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin)
            .count());
  if (evaluator.is_unwinding) [[unlikely]] {
    // A function that swallowed it ends here as well.
    if (word != 0 && (has_failed || core.spec.value.is_boxed)) release(word);
    evaluator.asked.resize(run.asked_at);
    evaluator.stack.back().is_running = false;
    ++stats_.restarts;
    if (evaluator.depth != 0) throw Unwind{};
    evaluator.is_unwinding = false;
    return false;
  }
  run.has_failed = has_failed;
  run.passes_on = passes_on;
  run.is_tainted = evaluator.stack.back().is_tainted;
  run.is_touched = evaluator.stack.back().is_touched;
  run.cost = cost;
  finish(evaluator, run, word);
  return true;
}

void Engine::record(Run& run, NodeId id) {
  Evaluator& evaluator = *run.evaluator;
  const std::size_t own = evaluator.asked.size() - run.asked_at;
  if (run.number == 0 && run.cursor + own <= kSearchedMax) {
    for (std::uint32_t i = 0; i < run.cursor; ++i)
      if (run.expected[i].node == id) return;
    for (std::size_t i = run.asked_at; i < evaluator.asked.size(); ++i)
      if (evaluator.asked[i] == id) return;
  } else {
    if (run.number == 0) {
      if (++run_number_ == 0) {  // all stamps are as old as can be
        for (NodeId each = 0; each < node_count_; ++each) node(each).stamp = 0;
        run_number_ = 1;
      }
      run.number = run_number_;
      for (std::uint32_t i = 0; i < run.cursor; ++i) node(run.expected[i].node).stamp = run.number;
      for (std::size_t i = run.asked_at; i < evaluator.asked.size(); ++i)
        node(evaluator.asked[i]).stamp = run.number;
    }
    Node& node = this->node(id);
    if (node.stamp == run.number) return;
    node.stamp = run.number;
  }
  run.has_diverged = true;
  run.expected_count = run.cursor;  // from here on nothing is expected
  evaluator.asked.push_back(id);
}

// Makes what the run asked for the node's dependencies. I1 to I3.
void Engine::take_over(Run& run, Node& node) {
  Evaluator& evaluator = *run.evaluator;
  const std::uint32_t before = node.count(kSub);
  if (!run.has_diverged && run.cursor == before) return;
  const bool is_live = node.live != 0;
  const std::size_t added = evaluator.asked.size() - run.asked_at;
  const NodeId* const asked = evaluator.asked.data() + run.asked_at;
  // What goes keeps its liveness until what comes has it, so that nothing in both falls asleep in between.
  const std::size_t gone_at = work_.size();
  if (is_live)
    for (std::uint32_t i = run.cursor; i < before; ++i) work_.push_back(node.edge(kSub)[i].node);
  unlink(run.self, run.cursor);
  link(run.self, asked, added, run.cursor);
  if (run.cursor + added == 0) drop_edges(node, kSub);
  std::uint32_t height = 0;
  const Edge* const subs = node.edge(kSub);
  for (std::uint32_t i = 0; i < node.count(kSub); ++i) {
    const std::uint32_t below = this->node(subs[i].node).height + 1;
    height = below > height ? below : height;
  }
  const bool rises = height > node.height;
  node.height = height;
  if (rises && node.count(kSup) != 0) raise(run.self);
  if (is_live) {
    for (std::size_t i = 0; i < added; ++i) live_up(asked[i]);
    for (std::size_t i = gone_at, end = work_.size(); i < end; ++i) live_down(work_[i]);
    work_.resize(gone_at);
  }
  evaluator.asked.resize(run.asked_at);
}

bool Engine::is_equal(const Node& node, Word word, bool is_failed) {
  const Word kept = node.value.load(std::memory_order_relaxed);
  if (node.has(kFailed) != is_failed) return false;
  if (is_failed) {
    const auto& a = unboxed<Error>(kept);
    const auto& b = unboxed<Error>(word);
    return a.code == b.code && a.what == b.what;
  }
  const ValueType& type = functions_[node.function]->spec.value;
  if (type.is_boxed && node.has(kEvicted)) {
    Digest digest;
    return kept != 0 && type.digest != nullptr && type.digest(word, digest) &&
           digest == unboxed<Digest>(kept);
  }
  return type.equal == nullptr ? kept == word : type.equal(kept, word);
}

void Engine::finish(Evaluator& evaluator, Run& run, Word word) {
  const NodeId id = run.self;
  Node& node = this->node(id);
  ++stats_.evaluations;
  if (evaluator.cycle != nullptr && (run.is_touched || is_member(evaluator, id)))
    return take_into_cycle(evaluator, run, word);
  leave_cycle(id);
  take_over(run, node);
  const bool was_made = node.condition() != kAbsent;
  const bool was_evicted = node.has(kEvicted);
  const bool is_boxed = run.has_failed || function(node).spec.value.is_boxed;
  const bool is_same = was_made && is_equal(node, word, run.has_failed);
  const bool was_clean = node.condition() == kClean;
  if (is_same && !was_evicted) {
    if (is_boxed && word != 0) release(word);
    ++stats_.cut_offs;
  } else {
    if (was_made) drop_value(node);
    node.value.store(word, std::memory_order_release);
    if (run.has_failed)
      node.set(kFailed);
    else
      node.clear(kFailed);
    if (was_evicted) node.clear(kEvicted);
    if (lines_.policy != nullptr) place(id, node, run.cost);
  }
  node.become(kClean);
  node.settled = push;
  const bool reruns = run.is_volatile || run.is_tainted ||
                      (run.has_failed && !run.passes_on &&
                       is_passing(unboxed<Error>(node.value.load(std::memory_order_relaxed))));
  if (reruns && !node.has(kVolatile)) reruns_.push_back(id);
  if (reruns) node.set(kVolatile);
  if (is_same || !was_made) return;
  if (was_evicted && was_clean) {
    // Nothing it reads changed, and yet it came out different.
    const ValueType& type = function(node).spec.value;
    if (type.is_boxed && type.digest == nullptr) return;  // cannot be told
    if (function(node).spec.is_outside) return tear(id);
    reports_.push_back(name(id) + ": gave another result for the same reads when it was made again");
  }
  changed(id);
}

}  // namespace larder::reactive

namespace larder {

bool Context::is_superseded() const noexcept {
  if (run_.graph->summons.load(std::memory_order_relaxed) == 0) return false;
  const detail::RunLock lock(*run_.graph);
  return run_.evaluator->is_unwinding || reactive::Engine::of(*run_.graph).is_cancelled(*run_.evaluator);
}

}  // namespace larder

namespace larder::detail {

using reactive::Engine;

void record_node(Run& run, NodeId id) {
  Engine::of(*run.graph).record(run, id);
}

void hold_word(Run& run, Word word) {
  run.evaluator->held.push_back(word);
  retain(word);
}

void throw_failed(Word error) {
  throw DependencyFailed(unboxed<Error>(error));
}

Word error_word(Error error) {
  return boxed<Error>(std::move(error));
}

}  // namespace larder::detail
