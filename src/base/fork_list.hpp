// ForkList keeps the live objects of one class that a fork must find at rest. Any thread may enter and leave.
// T has three functions, called with no other fork under way:
//   void before_fork() noexcept     takes its locks
//   void after_fork() noexcept      gives them back, in the parent
//   void in_child() noexcept        gives them back, and forgets the threads that are gone
#pragma once

#include "base/fork.hpp"
#include "base/mutex.hpp"

namespace larder {

template <typename T, int kFloor>
class ForkList {
 public:
  // An object is in the list while its place lives.
  class Place {
   public:
    explicit Place(T& object) : object_(object) {
      at_fork(kFloor, {prepare, parent, child});
      MutexLock lock(mutex_);
      next_ = first_;
      if (first_ != nullptr) first_->previous_ = this;
      first_ = this;
    }
    ~Place() {
      MutexLock lock(mutex_);
      if (next_ != nullptr) next_->previous_ = previous_;
      (previous_ != nullptr ? previous_->next_ : first_) = next_;
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    friend class ForkList;
    T& object_;
    Place* next_ = nullptr;
    Place* previous_ = nullptr;
  };

 private:
  static void prepare() noexcept NO_THREAD_SAFETY_ANALYSIS {
    mutex_.lock();
    for (Place* place = first_; place != nullptr; place = place->next_) place->object_.before_fork();
  }
  static void parent() noexcept NO_THREAD_SAFETY_ANALYSIS {
    for (Place* place = first_; place != nullptr; place = place->next_) place->object_.after_fork();
    mutex_.unlock();
  }
  static void child() noexcept NO_THREAD_SAFETY_ANALYSIS {
    for (Place* place = first_; place != nullptr; place = place->next_) place->object_.in_child();
    mutex_.unlock();
  }

  static inline constinit Mutex mutex_;
  static inline constinit Place* first_ = nullptr;
};

}  // namespace larder
