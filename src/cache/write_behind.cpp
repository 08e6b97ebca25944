#include "cache/write_behind.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>
namespace larder {

namespace {

// Steady adding puts writing off by at most so many delays.
constexpr int kPatience = 10;

std::uint64_t size_of(const PendingWrite& write) noexcept {
  std::uint64_t size = write.bytes.size() + write.log.size() + write.recipe.canonical().size();
  for (const format::Text& text : write.texts) size += text.name.size() + text.text.size();
  return size;
}

bool is_of(const PendingWrite& write, const Recipe& recipe, const Key& key) noexcept {
  return write.key == key && write.recipe == recipe;
}

bool has_turn(const std::shared_ptr<const PendingWrite>& write) noexcept {
  return write->turn != nullptr;
}

}  // namespace

WriteBehind::WriteBehind(WriteBehindOptions options)
    : options_(std::move(options)), remind_after_(options_.remind_first) {}

WriteBehind::~WriteBehind() {
  (void)close(std::chrono::nanoseconds{0});
}

void WriteBehind::before_fork() noexcept {
  mutex_.lock();
}

void WriteBehind::after_fork() noexcept {
  mutex_.unlock();
}

// The parent's thread writes what waits; here nothing is left of it.
void WriteBehind::in_child() noexcept {
  (void)thread_.release();
  waiting_.clear();
  writing_.reset();
  bytes_ = 0;
  hurries_ = false;
  is_reminded_.store(false, std::memory_order_relaxed);
  // The threads that waited on it are gone, and destroying it would wait for them.
  ::new (static_cast<void*>(&changed_)) Condition;
  mutex_.unlock();
}

bool WriteBehind::add(PendingWrite write) {
  const std::uint64_t size = size_of(write);
  MutexLock lock(mutex_);
  if (closing_ || size > options_.bytes_max || bytes_ > options_.bytes_max - size) return false;
  if (writing_ != nullptr && is_of(*writing_, write.recipe, write.key)) return true;
  for (const auto& waiting : waiting_) {
    if (is_of(*waiting, write.recipe, write.key)) return true;
  }
  if (thread_ == nullptr && !start()) return false;
  waiting_.push_back(std::make_shared<const PendingWrite>(std::move(write)));
  bytes_ += size;
  last_added_ = Clock::system().steady();
  changed_.notify_all();
  return true;
}

void WriteBehind::begin_reminder() noexcept {
  MutexLock lock(mutex_);
  if (closing_ || is_reminded_.load(std::memory_order_relaxed)) return;
  if (thread_ == nullptr && !start()) return;
  remind_at_ = Clock::system().steady() + remind_after_;
  remind_after_ = std::min(2 * remind_after_, options_.remind_max);
  is_reminded_.store(true, std::memory_order_relaxed);
  changed_.notify_all();
}

bool WriteBehind::is_reminder_due() const {
  return is_reminded_.load(std::memory_order_relaxed) && Clock::system().steady() >= remind_at_;
}

void WriteBehind::wait_for_work() {
  while (waiting_.empty() && !closing_ && !is_reminder_due()) {
    if (is_reminded_.load(std::memory_order_relaxed)) {
      changed_.wait_for(mutex_, remind_at_ - Clock::system().steady());
    } else {
      changed_.wait(mutex_);
    }
  }
}

bool WriteBehind::is_awaited() const {
  return std::any_of(waiting_.begin(), waiting_.end(), has_turn);
}

bool WriteBehind::start() {
  try {
    thread_ = std::make_unique<std::thread>([this] { run(); });
    return true;
  } catch (const std::exception&) {  // no thread to be had, or no memory
    return false;
  }
}

std::optional<PendingWrite> WriteBehind::find(const Recipe& recipe, const Key& key) const {
  MutexLock lock(mutex_);
  if (writing_ != nullptr && is_of(*writing_, recipe, key)) return *writing_;
  for (const auto& waiting : waiting_) {
    if (is_of(*waiting, recipe, key)) return *waiting;
  }
  return std::nullopt;
}

std::size_t WriteBehind::drop(const std::function<bool(const PendingWrite&)>& matches) {
  // What is taken out is destroyed after the lock is let go.
  PendingWrites dropped;
  MutexLock lock(mutex_);
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    if (!matches(**at)) {
      ++at;
      continue;
    }
    bytes_ -= size_of(**at);
    dropped.splice(dropped.end(), waiting_, at++);
  }
  // I1: the write under way ends before we do.
  if (const auto writing = writing_; writing != nullptr && matches(*writing)) {
    while (writing_ == writing) changed_.wait(mutex_);
  }
  return dropped.size();
}

bool WriteBehind::flush(std::chrono::nanoseconds deadline) {
  const auto end = Clock::system().steady() + deadline;
  MutexLock lock(mutex_);
  hurries_ = true;
  changed_.notify_all();
  while (!is_at_rest()) {
    const auto left = end - Clock::system().steady();
    if (left <= std::chrono::nanoseconds{0}) break;
    changed_.wait_for(mutex_, left);
  }
  hurries_ = false;
  return is_at_rest();
}

PendingWrites WriteBehind::close(std::chrono::nanoseconds deadline) noexcept {
  if (deadline > std::chrono::nanoseconds{0}) flush(deadline);
  std::unique_ptr<std::thread> thread;
  PendingWrites lost;
  {
    MutexLock lock(mutex_);
    closing_ = true;
    lost.swap(waiting_);
    for (const auto& write : lost) bytes_ -= size_of(*write);
    thread = std::move(thread_);
    changed_.notify_all();
  }
  // I2: at most the write under way.
  if (thread != nullptr) thread->join();
  return lost;
}

std::uint64_t WriteBehind::pending_entries() const {
  MutexLock lock(mutex_);
  return waiting_.size() + (writing_ != nullptr ? 1 : 0);
}

std::uint64_t WriteBehind::pending_bytes() const {
  MutexLock lock(mutex_);
  return bytes_;
}

// Waits for work and takes the oldest, of what is awaited if there is such; null when closing.
std::shared_ptr<const PendingWrite> WriteBehind::next_write() {
  MutexLock lock(mutex_);
  const bool was_writing = writing_ != nullptr;
  if (was_writing) {
    bytes_ -= size_of(*writing_);
    writing_.reset();
    changed_.notify_all();
  }
  const bool goes_on = was_writing && !waiting_.empty();
  wait_for_work();
  // Also while much is written: what it reminds of does not wait for the end of that.
  if (is_reminder_due()) return nullptr;
  // After a pause, wait until no more is added for a while: starting is busy enough without us.
  const auto patience_ends = Clock::system().steady() + kPatience * options_.delay;
  while (!goes_on && !closing_ && !hurries_ && !is_awaited()) {
    const auto now = Clock::system().steady();
    const auto begin = std::min(last_added_ + options_.delay, patience_ends);
    if (now >= begin) break;
    changed_.wait_for(mutex_, begin - now);
  }
  if (closing_ || waiting_.empty()) return nullptr;
  // What other processes may be waiting for goes first.
  const auto awaited = std::find_if(waiting_.begin(), waiting_.end(), has_turn);
  const auto next = awaited != waiting_.end() ? awaited : waiting_.begin();
  writing_ = std::move(*next);
  waiting_.erase(next);
  return writing_;
}

void WriteBehind::run() {
  for (;;) {
    const auto write = next_write();
    if (write != nullptr) options_.write(*write);
    bool is_last = false;
    {
      MutexLock lock(mutex_);
      if (write == nullptr && closing_) return;
      is_last = waiting_.empty() || is_reminder_due();
      // Before idle(): what is counted from here on asks for a reminder of its own.
      if (is_last) is_reminded_.store(false, std::memory_order_relaxed);
    }
    if (is_last && options_.idle) options_.idle();
  }
}

}  // namespace larder
