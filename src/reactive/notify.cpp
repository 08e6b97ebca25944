// Subscribers are told when nothing is left to push: once per revision, of the newest one only, and only what
// differs from what they were told last. One thread at a time tells, without the lock; who commits meanwhile
// leaves it to that one, so that each subscriber hears of revisions in their order.
#include "larder/graph.hpp"
#include "reactive/engine.hpp"

namespace larder::reactive {

using namespace larder::detail;

void Engine::announce(NodeId id) {
  const auto at = extras_.find(id);
  if (at == extras_.end() || at->second.subscribers.empty() || at->second.is_pending) return;
  at->second.is_pending = true;
  pending_.push_back(id);
}

// Called with the lock, which it gives up around each callback.
void Engine::tell() {
  if (is_telling_ || pending_.empty()) return;
  is_telling_ = true;
  // Only what is settled is told: a newer revision in the making brings its own thread here.
  while (!pending_.empty() && is_pushed()) {
    const NodeId id = pending_.front();
    pending_.pop_front();
    const auto at = extras_.find(id);
    if (at == extras_.end()) continue;
    at->second.is_pending = false;
    const auto subscribers = at->second.subscribers;
    for (const auto& subscriber : subscribers) {
      if (subscriber->is_ended) continue;
      if (!is_pushed()) {
        announce(id);
        break;
      }
      tell_one(*subscriber);
    }
  }
  is_telling_ = false;
}

void Engine::tell_one(Subscriber& subscriber) NO_THREAD_SAFETY_ANALYSIS {
  Node& node = this->node(subscriber.node);
  const bool is_failed = node.has(kFailed);
  const Word word = node.value.load(std::memory_order_relaxed);
  if (is_equal(node, subscriber.told, subscriber.told_failed)) return;
  forget_told(subscriber);
  remember_told(subscriber);
  subscriber.is_called = true;
  subscriber.caller = std::this_thread::get_id();
  ++stats_.told;
  const Revision revision = revision_;
  mutex_.unlock();
  std::string thrown;
  try {
    subscriber.call(word, is_failed, revision);
  } catch (const std::exception& exception) {
    thrown = exception.what();
  } catch (...) {
    thrown = "something that is no std::exception";
  }
  mutex_.lock();
  subscriber.is_called = false;
  if (!thrown.empty()) reports_.push_back("a subscriber threw: " + thrown);
  left_.notify_all();
}

// What was told is kept: it is what the next value is compared with, and the callback reads it without the
// lock.
void Engine::remember_told(Subscriber& subscriber) {
  Node& node = this->node(subscriber.node);
  subscriber.told_failed = node.has(kFailed);
  subscriber.told = node.value.load(std::memory_order_relaxed);
  subscriber.told_is_boxed = subscriber.told_failed || function(node).spec.value.is_boxed;
  if (subscriber.told_is_boxed) retain(subscriber.told);
}

void Engine::forget_told(Subscriber& subscriber) noexcept {
  if (subscriber.told_is_boxed) release(subscriber.told);
  subscriber.told_is_boxed = false;
  subscriber.told = 0;
}

std::shared_ptr<Subscriber> Engine::subscribe(NodeId id, std::function<void(Word, bool, Revision)> call) {
  auto subscriber = std::make_shared<Subscriber>();
  subscriber->call = std::move(call);
  subscriber->node = id;
  want(id);
  extras_[id].subscribers.push_back(subscriber);
  remember_told(*subscriber);
  return subscriber;
}

// Called with the lock. Waits for a call that is at work on another thread.
void Engine::unsubscribe(const std::shared_ptr<Subscriber>& subscriber) NO_THREAD_SAFETY_ANALYSIS {
  subscriber->is_ended = true;
  while (subscriber->is_called && subscriber->caller != std::this_thread::get_id()) left_.wait(mutex_);
  auto& subscribers = extras_[subscriber->node].subscribers;
  std::erase(subscribers, subscriber);
  if (!subscriber->is_called) forget_told(*subscriber);
  unwant(subscriber->node);
}

void Engine::want(NodeId id) {
  Extra& extra = extras_[id];
  if (extra.wants++ != 0) return;
  node(id).set(kExtra);
  live_up(id);
  pin(id);
}

void Engine::unwant(NodeId id) {
  const auto at = extras_.find(id);
  if (--at->second.wants != 0) return;
  extras_.erase(at);
  node(id).clear(kExtra);
  live_down(id);
  unpin(id);
  idle_.push_back(id);
}

}  // namespace larder::reactive
