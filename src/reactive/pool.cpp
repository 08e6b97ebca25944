// Threads that help. What can be made at the same time is offered as a task: the nodes of one level of a
// push, and what Context::get_all asks for. Whoever offers works on it too and waits for nobody to begin, so
// a graph whose threads are all busy, or gone after a fork, loses nothing but time.
//
// A task is the number of a node, which counts as long as somebody is inside: nodes leave, and tasks with
// them, when the last one does.
#include <unistd.h>

#include <system_error>

#include "larder/graph.hpp"
#include "reactive/engine.hpp"
#include "reactive/inside.hpp"

namespace larder::reactive {

using namespace larder::detail;

Inside*& inside_of_thread() noexcept {
  thread_local Inside* t_inside = nullptr;
  return t_inside;
}

bool is_inside(const GraphHot& graph) noexcept {
  for (const Inside* inside = inside_of_thread(); inside != nullptr; inside = inside->outer)
    if (inside->graph == &graph) return true;
  return false;
}

void Engine::offer(NodeId id, bool is_push) {
  tasks_.push_back({id, is_push});
  if (workers_.size() + 1 < options_.threads && workers_.size() < tasks_.size()) {
    workers_of_ = ::getpid();
    try {
      workers_.emplace_back([this] { help(); });
    } catch (const std::system_error&) {
      // One thread fewer.
    }
  }
  offered_.notify_one();
}

void Engine::help() NO_THREAD_SAFETY_ANALYSIS {
  mutex_.lock();
  for (;;) {
    while (!is_closing_ && tasks_.empty()) offered_.wait(mutex_);
    if (is_closing_) break;
    const Task task = tasks_.back();
    tasks_.pop_back();
    begin_change();
    Evaluator& evaluator = take_evaluator();
    {
      const Stay stay(*this);
      do_task(evaluator, task);
    }
    leave(&evaluator);
    mutex_.lock();
  }
  mutex_.unlock();
}

void Engine::do_task(Evaluator& evaluator, Task task) {
  try {
    if (task.is_push)
      push_one(evaluator, task.node);
    else if (!is_ready(node(task.node)) && !node(task.node).has(kBusy))
      ensure(evaluator, task.node, true);
  } catch (const Unwind&) {
    evaluator.is_unwinding = false;
    if (task.is_push && evaluator.gives_way_to == nullptr && is_superseded(evaluator)) is_overtaken_ = true;
    give_way(evaluator);
  }
  if (task.is_push) {
    --level_left_;
    left_.notify_all();
  }
}

// All that waits at the level at work, by whoever has a hand free. False: a newer revision waits.
bool Engine::push_level(Evaluator& evaluator, const std::vector<NodeId>& all) NO_THREAD_SAFETY_ANALYSIS {
  is_overtaken_ = false;
  level_left_ = static_cast<unsigned>(all.size());
  for (std::size_t i = 1; i < all.size(); ++i) offer(all[i], true);
  do_task(evaluator, {all[0], true});
  while (level_left_ != 0) {
    bool has_done = false;
    for (std::size_t i = tasks_.size(); i-- > 0 && !has_done;) {
      if (!tasks_[i].is_push) continue;
      const Task task = tasks_[i];
      tasks_.erase(tasks_.begin() + static_cast<std::ptrdiff_t>(i));
      do_task(evaluator, task);
      has_done = true;
    }
    if (has_done || level_left_ == 0) continue;
    left_.wait(mutex_);
  }
  return !is_overtaken_;
}

void Engine::close_pool() NO_THREAD_SAFETY_ANALYSIS {
  if (workers_.empty()) return;
  if (workers_of_ != ::getpid()) {  // forked: they are the parent's
    for (std::thread& worker : workers_) worker.detach();
    return;
  }
  mutex_.lock();
  is_closing_ = true;
  offered_.notify_all();
  mutex_.unlock();
  for (std::thread& worker : workers_) worker.join();
}

}  // namespace larder::reactive

namespace larder::detail {

using reactive::Engine;

// Others begin at the end, this thread at the beginning.
void make_together(Run& run, const std::vector<NodeId>& nodes) {
  Engine& engine = Engine::of(*run.graph);
  const auto is_free = [&](NodeId id) {
    return !engine.is_ready(engine.node(id)) && !engine.node(id).has(kBusy);
  };
  for (const NodeId id : nodes)
    if (id != nodes.front() && is_free(id)) engine.offer(id, false);
  for (const NodeId id : nodes)
    if (is_free(id)) require_node(run, id);
}

}  // namespace larder::detail
