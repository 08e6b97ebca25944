// The thread that answers for one command: it takes in each call that is halted and lets it go on, until
// nobody is left who could be halted. Its object is used by one other thread.
#pragma once

#include <atomic>
#include <thread>

#include "base/mutex.hpp"
#include "trace/record.hpp"

namespace larder::trace {

class Answers {
 public:
  Answers() = default;
  ~Answers();
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

  // The end of a socket through which the listener can be sent; -1: cannot begin.
  int begin();
  // Nobody of this process will send one any more.
  void close_sender() noexcept;
  // What was done until the last process ended, or a moment after the first. To be called once, when the
  // first has been waited for.
  Report end() EXCLUDES(mutex_);
  bool has_ended() EXCLUDES(mutex_);
  // Ends the thread. The listener, now the caller's, that somebody else must answer; -1: nobody needs to.
  int release() EXCLUDES(mutex_);

 private:
  enum class Phase : std::uint8_t { runs, ends, released };  // in this order only

  void run();
  // False: released while somebody may still be halted.
  bool serve(int listener);
  // `is_last`: nobody is left.
  void report(Report report, bool is_last) EXCLUDES(mutex_);
  void enter(Phase phase) noexcept;
  // For something to be reported.
  void wait() REQUIRES(mutex_);

  int sender_ = -1;
  int receiver_ = -1;
  int wake_ = -1;      // an eventfd
  int listener_ = -1;  // the thread's until it has ended
  std::atomic<Phase> phase_ = Phase::runs;
  std::atomic<bool> needs_signal_ = true;  // the thread may wait where it hears of no other phase
  Mutex mutex_;
  Condition changed_;
  Report report_ GUARDED_BY(mutex_);
  bool is_reported_ GUARDED_BY(mutex_) = false;
  bool has_ended_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace larder::trace
