// The workload that every design answers: 64-byte values asked for in a Zipf order that was drawn beforehand.
// Streams are read-only once mapped and may be shared by threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace larder::bench {

inline constexpr std::size_t kThreadsMax = 2;

// With inserts, one operation in so many brings a key that is not there: 0.5 %.
inline constexpr std::size_t kInsertEvery = 200;

// How many keys a design of `entries` popular keys is asked to hold; the rest of the room is for cold ones.
constexpr std::size_t capacity_for(std::size_t entries) {
  return entries + entries / 8;
}
// Cold keys that take turns being inserted, beyond the popular ones.
constexpr std::size_t cold_keys_for(std::size_t entries) {
  return entries / 2;
}

// What is kept. No stricter alignment than malloc gives: a reference-counted allocation must not be
// padded to two cache lines for the benchmark's sake.
struct Value {
  std::array<std::uint64_t, 8> words{};

  explicit Value(std::uint32_t index) {
    for (std::uint64_t& word : words) word = index;
  }
  std::uint32_t index() const { return static_cast<std::uint32_t>(words[1]); }
  // Reads both ends of the value. Always zero, which no compiler can know: the next index of a dependent
  // walk is the stream's plus this.
  std::uint64_t touch() const { return words.front() ^ words.back(); }
};
static_assert(sizeof(Value) == 64);

// The operations of a run, one run of indices per thread, mapped from the file that `stream` writes.
class Stream {
 public:
  // Ends the program with a message when the file cannot be mapped.
  explicit Stream(const std::string& path);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  std::span<const std::uint32_t> of_thread(std::size_t thread) const;

 private:
  void* address_ = nullptr;
  std::size_t size_bytes_ = 0;
};

}  // namespace larder::bench
