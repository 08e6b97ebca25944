// A StartOrder is the order in which a program first used its entries, so that its next start can load them
// before they are asked for. Any thread may call used(); one thread at a time the rest.
//
//   start-<hash of the program's name> := frame with the payload
//   payload := version entry*
//   version := u8 = 1
//   entry   := flags u64_high u64_low; flags := u8: bit 0 = load first
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/mutex.hpp"
#include "larder/recipe.hpp"
#include "store/notes.hpp"

namespace larder {

struct FirstUse {
  Key key;
  bool load_first = false;
  friend bool operator==(const FirstUse&, const FirstUse&) = default;
};

// What is flagged stands before the rest; otherwise in the order of `uses`.
std::string encode_start_order(std::vector<FirstUse> uses);
// Empty when `note` holds no order.
std::vector<FirstUse> decode_start_order(std::string_view note);

class StartOrder {
 public:
  static constexpr std::size_t kMax = 4096;

  // The first call for a key counts.
  void used(const Key& key, bool load_first);
  // What was used so far is not written down.
  void clear();
  // Writes it down if anything was used since the last call.
  void save(const Notes& notes, std::string_view program);

  void before_fork() noexcept NO_THREAD_SAFETY_ANALYSIS { mutex_.lock(); }
  void after_fork() noexcept NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock(); }

 private:
  struct HashKey {
    std::size_t operator()(const Key& key) const noexcept { return static_cast<std::size_t>(key.low); }
  };

  Mutex mutex_;
  std::vector<FirstUse> uses_ GUARDED_BY(mutex_);
  std::unordered_set<Key, HashKey> seen_ GUARDED_BY(mutex_);
  std::size_t saved_ GUARDED_BY(mutex_) = 0;
};

// The order of the program's previous start.
std::vector<FirstUse> read_start_order(const Notes& notes, std::string_view program);
void clear_start_order(const Notes& notes, std::string_view program);
// Those of all programs.
void clear_start_orders(const Notes& notes);

}  // namespace larder
