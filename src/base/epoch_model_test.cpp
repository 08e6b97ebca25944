// Walks through every interleaving of a small model of base/epoch.hpp: readers and a writer step by step, on
// a machine whose threads have store buffers (stores become visible to others later, in order: x86's TSO).
// A second writer retires into the same bin meanwhile. Checks that no reader ever holds what was freed, and
// that the model would notice: without the writer's barrier, with a stamp taken before the unlinking, or when
// what was closed after the barrier is freed too, it finds the use after free.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

namespace larder {
namespace {

constexpr int kReaders = 2;
constexpr int kPasses = 2;        // each reader pins this often
constexpr int kObjects = 2;       // the writer retires this many, one after the other
constexpr int kOther = kObjects;  // the object that the second writer retires

// What a change of the protocol would break.
struct Protocol {
  bool writer_has_barrier = true;
  bool stamp_after_unlinking = true;
  bool waits_for_readers = true;
  bool oldest_is_bounded = true;  // by the epoch before the barrier
};

// A store that its thread has made and others do not see yet: at most one per reader, its announcement.
struct Reader {
  std::uint8_t step = 0;
  std::uint8_t passes = 0;
  std::uint8_t epoch = 0;                     // read before announcing
  std::uint8_t announced = 0;                 // as others see it
  std::array<std::int8_t, 2> buffer{-1, -1};  // announcements on their way, oldest first
  std::int8_t holds = -1;                     // the object that it looks at
  auto operator<=>(const Reader&) const = default;
};

struct State {
  std::array<Reader, kReaders> readers;
  std::uint8_t writer = 0;
  std::uint8_t round = 0;
  std::uint8_t epoch = 1;
  std::uint8_t stamp = 0;
  std::uint8_t oldest = 0;
  std::uint8_t scanned = 0;
  std::int8_t linked = 0;  // the object that the slot shows; -1: none
  std::uint8_t other_writer = 0;
  std::uint8_t other_stamp = 255;
  std::int8_t other_linked = kOther;  // as `linked`, in the second writer's slot
  std::array<bool, kObjects + 1> freed{};
  auto operator<=>(const State&) const = default;
};

void announce(Reader& reader, int epoch) {
  reader.buffer[reader.buffer[0] == -1 ? 0 : 1] = static_cast<std::int8_t>(epoch);
}
bool flush_one(Reader& reader) {
  if (reader.buffer[0] == -1) return false;
  reader.announced = static_cast<std::uint8_t>(reader.buffer[0]);
  reader.buffer = {reader.buffer[1], -1};
  return true;
}

// One step of a reader: pin (read the epoch, announce it), load, use, unpin. The first reads the one slot,
// the second the other. False: it has no more.
bool step(State& state, Reader& reader) {
  if (reader.passes == kPasses) return false;
  const bool is_full = reader.buffer[1] != -1;  // something must become visible first
  if (is_full && (reader.step == 1 || reader.step == 4)) return false;
  switch (reader.step++) {
    case 0:
      reader.epoch = state.epoch;
      break;
    case 1:
      announce(reader, reader.epoch);
      break;
    case 2:
      reader.holds = &reader == &state.readers[0] ? state.linked : state.other_linked;
      break;
    case 3:
      break;  // looks at it: checked in every state
    case 4:
      reader.holds = -1;
      announce(reader, 0);
      reader.step = 0;
      ++reader.passes;
  }
  return true;
}

// One step of the writer, for each object: unlink, move the epoch on, read it, barrier, read the
// announcements one by one, free if they allow it (else read them again) along with all that is closed by
// then and old enough, show the next object. The writer's own stores are atomic read-modify-writes or come
// before one, so that it needs no buffer.
bool step(State& state, const Protocol& protocol) {
  if (state.round == kObjects) return false;
  const auto unlink = [&] { state.linked = -1; };
  const auto take_stamp = [&] { state.stamp = state.epoch++; };
  switch (state.writer) {
    case 0:
      protocol.stamp_after_unlinking ? unlink() : take_stamp();
      break;
    case 1:
      protocol.stamp_after_unlinking ? take_stamp() : unlink();
      break;
    case 2:
      state.oldest = protocol.oldest_is_bounded ? state.epoch : std::uint8_t{255};
      break;
    case 3:
      if (protocol.writer_has_barrier) {
        for (Reader& reader : state.readers) {
          while (flush_one(reader)) {
          }
        }
      }
      state.scanned = 0;
      break;
    case 4: {
      const std::uint8_t announced = state.readers[state.scanned].announced;
      if (announced != 0 && announced < state.oldest) state.oldest = announced;
      if (++state.scanned < kReaders) return true;
      break;
    }
    case 5:
      if (state.other_stamp < state.oldest) state.freed[kOther] = true;
      if (protocol.waits_for_readers && state.stamp >= state.oldest) {
        state.writer = 2;
        return true;
      }
      state.freed[state.round] = true;
      break;
    case 6:
      ++state.round;
      state.linked = state.round < kObjects ? static_cast<std::int8_t>(state.round) : std::int8_t{-1};
      state.writer = 0;
      return true;
  }
  ++state.writer;
  return true;
}

// The second writer unlinks and closes; the first one frees.
bool step_other(State& state) {
  if (state.other_writer == 2) return false;
  if (state.other_writer++ == 0)
    state.other_linked = -1;
  else
    state.other_stamp = state.epoch++;
  return true;
}

bool is_bad(const State& state) {
  for (const Reader& reader : state.readers) {
    if (reader.holds >= 0 && state.freed[static_cast<std::size_t>(reader.holds)]) return true;
  }
  return false;
}

struct Verdict {
  std::size_t states = 0;
  bool use_after_free = false;
  bool everything_freed_somewhere = false;
};

Verdict explore(const Protocol& protocol) {
  Verdict verdict;
  std::set<State> seen{State{}};
  std::deque<State> waiting{State{}};
  while (!waiting.empty() && !verdict.use_after_free) {
    const State state = waiting.front();
    waiting.pop_front();
    verdict.use_after_free = is_bad(state);
    verdict.everything_freed_somewhere |= state.round == kObjects;
    const auto visit = [&](const State& next) {
      if (seen.insert(next).second) waiting.push_back(next);
    };
    State next = state;
    if (step(next, protocol)) visit(next);
    next = state;
    if (step_other(next)) visit(next);
    for (std::size_t i = 0; i < kReaders; ++i) {
      next = state;
      if (step(next, next.readers[i])) visit(next);
      next = state;
      if (flush_one(next.readers[i])) visit(next);
    }
  }
  verdict.states = seen.size();
  return verdict;
}

TEST(EpochModel, NeverFreesWhatAReaderHolds) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a model in one thread has no races, and the detector takes minutes for its states";
#endif
  const Verdict verdict = explore({});
  EXPECT_FALSE(verdict.use_after_free);
  EXPECT_TRUE(verdict.everything_freed_somewhere);
  EXPECT_GT(verdict.states, 10'000u);
}

TEST(EpochModel, FindsTheUseAfterFreeWithoutTheBarrier) {
  EXPECT_TRUE(explore({.writer_has_barrier = false}).use_after_free);
}

TEST(EpochModel, FindsTheUseAfterFreeWithAStampTakenBeforeUnlinking) {
  EXPECT_TRUE(explore({.stamp_after_unlinking = false}).use_after_free);
}

TEST(EpochModel, FindsTheUseAfterFreeOfWhatWasClosedAfterTheBarrier) {
  EXPECT_TRUE(explore({.oldest_is_bounded = false}).use_after_free);
}

TEST(EpochModel, FindsTheUseAfterFreeWithoutWaiting) {
  EXPECT_TRUE(explore({.waits_for_readers = false}).use_after_free);
}

}  // namespace
}  // namespace larder
