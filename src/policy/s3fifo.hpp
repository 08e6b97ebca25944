// S3Fifo is three queues: a small one (a tenth of the room) that new entries pass through, a main one for
// what was used at least twice on the way or came back soon after leaving, and a queue of the keys that left
// the small one. Main gives an entry another round for each use, three at most. (Yang et al., SOSP 2023.)
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "policy/list.hpp"
#include "policy/policy.hpp"

namespace larder::policy {

class S3Fifo final : public Policy {
 public:
  explicit S3Fifo(Limits limits) : limits_(limits) {}

 private:
  enum class Queue : std::uint8_t { small, main };
  struct Known {
    std::uint64_t key = 0;
    std::uint64_t weight = 0;
    Queue queue = Queue::small;
    std::uint8_t uses = 0;  // since it came in, or since main last let it stay; 3 at most
  };
  struct Left {
    std::uint64_t key = 0;
    std::uint64_t weight = 0;
    std::uint64_t turn = 0;  // of two that bear the same key, the later counts
  };

  void do_insert(Id id, const Entry& entry, Past past) override;
  void do_touch(Id id, Touch touch) override;
  void do_reweigh(Id id, std::uint64_t weight, std::uint64_t cost) override;
  void do_remove(Id id, Departure departure) override;
  Id do_victim() override;
  void do_resize(Limits limits) override { limits_ = limits; }
  std::size_t do_memory_bytes() const noexcept override;
  std::uint64_t room() const noexcept;
  std::uint64_t measure(std::uint64_t weight) const noexcept { return limits_.bytes == 0 ? 1 : weight; }
  List& list(Queue queue) noexcept { return queue == Queue::small ? small_ : main_; }
  std::uint64_t& held(Queue queue) noexcept { return queue == Queue::small ? small_held_ : main_held_; }
  Id small_victim();
  Id main_victim();
  void remember(const Known& known);
  bool take_remembered(std::uint64_t key);

  Limits limits_;
  Links links_;
  std::vector<Known> known_;
  List small_;
  List main_;
  std::uint64_t small_held_ = 0;
  std::uint64_t main_held_ = 0;
  std::deque<Left> left_;
  std::unordered_map<std::uint64_t, std::uint64_t> turn_of_;  // key -> turn of its entry in left_
  std::uint64_t left_held_ = 0;
  std::uint64_t turn_ = 0;
};

}  // namespace larder::policy
