// A Table is what one thread keeps of one memoized function: slots, and the state that decides whether they
// pay.
//
// Phases:
//   look  every call is counted; after a window of calls the table settles:
//         -> on   when what hits save outweighs what looking costs
//         -> off  otherwise, for a number of calls that doubles each time
//   attempt  a tree of calls begins switched on, for a few misses: many are over by then
//         -> look   when hardly any call from outside was answered meanwhile: a deep tree
//         -> weigh  when many were: their time is known now
//   weigh calls from outside are timed without the table
//         -> on, off  as the times say
//   on    hits never come here; misses are counted, and after a number that doubles each time -> look
//   off   nothing is counted but calls, inline; at zero -> look
//   fixed one of the seed's strategies, or the profile: stays
//
// Invariants:
//   T1  Slots are written only while place->slots is null, so that a signal handler of this thread never
//   reads a
//       half-written slot. Rewritten code keeps this as well and marks its place busy meanwhile: the library
//       then leaves it alone, so that slots that are about to be written are still those of the place.
//   T2  Slots that were outgrown stay mapped until the thread ends: an interrupted reader may still look at
//   them.
//       Tables grow by four, so these are at most a third of what is in use.
//   T3  Slot 0 of fresh slots holds the key 1, which hashes elsewhere in any table of two or more.
//   T4  The library is entered once at a time per thread (Thread::busy); a signal handler that interrupts it
//   is
//       told to work without.
#pragma once

#include "larder_reuse.h"

namespace larder::reuse {

using Site = larder_reuse_site;
using Place = larder_reuse_place;

enum class Phase : unsigned char { look, attempt, weigh, on, off, fixed };

struct Thread;
struct Vector;
struct Counts;

}  // namespace larder::reuse

struct larder_reuse_table {
  larder_reuse_table* next = nullptr;  // of this thread
  const larder::reuse::Site* site = nullptr;
  larder::reuse::Place* place = nullptr;  // null: its module was unloaded
  uint64_t* slots = nullptr;
  uint64_t bytes = 0;  // that this table counts for, outgrown slots included
  uint32_t log2 = 0;   // of the number of slots
  larder::reuse::Phase phase = larder::reuse::Phase::look;
  bool is_full_part = false;  // linear recursion: the second half of a look memoizes every level
  uint64_t window = 0;        // calls of this look
  uint64_t calls = 0;         // in this look
  uint64_t hits = 0;          // in this look
  uint64_t misses = 0;        // while on, since the last look
  uint64_t room = 0;          // that the place was given last
  uint64_t misses_max = 0;    // the next look comes after as many
  int64_t pause = 0;          // the next off phase lasts as many calls
  // What working costs, by the cycle counter. One call is timed at a time.
  uint64_t started = 0;      // 0: none is being timed
  uint64_t timed_depth = 0;  // calls begun since, the timed one included
  uint64_t timed_stack = 0;  // where the timed one's frame stands
  uint64_t cycles = 0;
  uint64_t timed = 0;
  uint64_t longest = 0;
  // A tree of calls, in attempt and weigh: calls from outside are those whose frames stand highest.
  bool is_shallow = false;
  uint64_t top = 0;
  uint64_t outers = 0;
  uint64_t since = 0;  // cycles when the count began; linear recursion: when the second half of a look did
  uint64_t born = 0;   // cycles when this table was made
  uint64_t with_table = 0;  // cycles per call from outside
  // Linear recursion: the first half of a look, which memoizes calls from outside only.
  uint64_t outer_calls = 0;
  uint64_t outer_hits = 0;
  uint64_t outer_cycles = 0;  // per call that missed
  uint64_t full_outer_calls = 0;
  // A sample of the misses: a tag that is met again was lost by the table.
  uint32_t* ghosts = nullptr;
  uint64_t ghosts_mask = 0;
  uint64_t lost = 0;
  uint64_t misses_since_growth = 0;
  larder::reuse::Vector* vector = nullptr;  // the seed's strategies
  larder::reuse::Counts* counts = nullptr;  // the profile
};

namespace larder::reuse {

using Table = larder_reuse_table;

// Outcomes are those of larder_reuse_slow.
int look_up(Table& table, Place& place, uint64_t hash, const uint64_t* key, uint64_t* value);
// `stack` is where the caller's frame stands.
void insert(Table& table, Place& place, uint64_t hash, const uint64_t* key, const uint64_t* value,
            uint64_t stack);
// Gives a fresh table its slots and first phase; false: no memory.
bool prepare(Table& table, Place& place);
// Forgets all results; what follows is as it was at first, but in the memory that is there.
void clear(Table& table, Place& place);

}  // namespace larder::reuse
