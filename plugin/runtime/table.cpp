// Whether a table pays. A look counts hits over a window of calls, out of line. For a function that does not
// call itself the body is timed, and hits must save more than all the looking and storing costs.
//
// A tree of calls begins switched on: what has few keys is over before a look would have told anything. A
// deep one is then judged by its hit ratio alone, as each hit saves a whole subtree; of keys that seldom come
// back within a short window more do in a longer one, so a window grows while some do. In a shallow one a hit
// saves a call or two: calls from outside are timed with the table and without it.
//
// A linear recursion is looked at twice, once memoizing calls from outside only (the body then runs as plain
// -O2 made it) and, unless those nearly all hit, once memoizing every level, for as long as that does not
// cost far more than the first; the cheaper way stays. What the body of one costs may grow from call to call,
// so pauses begin short. Nothing settles for ever: see the phases in table.hpp.
//
// Growth is by proof: a sample of the missed keys leaves a tag behind, and a missed key whose tag is still
// there is one that the table had and lost. Neither evictions nor the hit ratio tell that: the first happen
// as often to keys that never come back, the second is one half in a thrashing tree of calls as well.
#include "table.hpp"

#include <string.h>

#include <new>

#include "profile.hpp"
#include "strategies.hpp"
#include "threads.hpp"

const uint64_t larder_reuse_odd[LARDER_REUSE_KEY_WORDS_MAX] = {
    0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f, 0xd6e8feb86659fd93, 0xa0761d6478bd642f,
    0xe7037ed1a0b428db, 0x8ebc6af09c88c6e3, 0x589965cc75374cc3, 0x1d8e4e27c47d124f};

namespace larder::reuse {

namespace {

constexpr uint32_t kLog2Start = 6;
constexpr uint32_t kLog2StartTree = 8;  // a window of looking must fit
constexpr uint64_t kEntriesMax = 1 << 22;
constexpr uint64_t kWindowFirst = 64;  // enough to see that nothing comes back
constexpr uint64_t kWindowFirstTree = 128;
constexpr uint64_t kWindow = 256;
constexpr uint64_t kWindowMax = 1024;
constexpr uint64_t kWindowAgain = 1024;
constexpr uint64_t kAttemptMisses = 128;
constexpr uint64_t kMeasuredMisses = 64;  // that follow in an attempt
constexpr uint64_t kShallowOuters = 4;    // calls from outside within these
constexpr uint64_t kRoomMax = 4096;
constexpr uint64_t kWeighOuters = 32;
constexpr uint64_t kOuterCalls = 16;  // each half of a look at a linear recursion
constexpr int64_t kPauseFirst = 8 << 10;
constexpr int64_t kPauseFirstDeep = 1 << 10;  // in a deep tree each stands for a few levels of calls
constexpr int64_t kPauseFirstLinear = 64;
constexpr int64_t kPauseMax = 4 << 20;
constexpr uint64_t kMissesFirst = 16 << 10;
constexpr uint64_t kMissesMax = 1 << 22;
constexpr uint64_t kGhostsMin = 256;
constexpr uint64_t kSampled = 16;  // one key in so many
constexpr uint64_t kLostMin = 8;
// In cycles, measured where the body was not.
constexpr uint64_t kHitCycles = 12;
constexpr uint64_t kStoreCycles = 15;
constexpr uint64_t kTimingCycles = 60;
constexpr uint64_t kSlowCycles = 70;
constexpr uint64_t kLeaveCycles = 50;
constexpr uint64_t kFullCyclesMin = 30000;  // a second half of a look may always take as long, and
constexpr uint64_t kFullShare = 100;        // a hundredth of the time since the table was made
constexpr uint64_t kOutlier = 1 << 20;      // the thread was interrupted

bool is_linear(const Site& site) {
  return (site.flags & LARDER_REUSE_LINEAR) != 0;
}

bool is_tree(const Site& site) {
  return (site.flags & LARDER_REUSE_TREE) != 0;
}

int64_t pause_first(const Table& table) {
  if (is_linear(*table.site)) return kPauseFirstLinear;
  return is_tree(*table.site) && !table.is_shallow ? kPauseFirstDeep : kPauseFirst;
}

uint64_t entries_max(const Site& site) {
  return site.entries_max != 0 ? site.entries_max : kEntriesMax;
}

uint64_t hash_of(const Site& site, const uint64_t* key) {
  uint64_t hash = 0;
  for (uint64_t i = 0; i < site.key_words; ++i) {
    const uint64_t word = (site.flags & LARDER_REUSE_FOLD) != 0 ? key[i] ^ key[i] >> 32 : key[i];
    hash ^= word * larder_reuse_odd[i];
  }
  return hash;
}

uint64_t* slot_of(const Table& table, uint64_t hash) {
  return table.slots + (hash >> (64 - table.log2)) * (table.site->key_words + table.site->value_words);
}

// Behind the slots stands a word that leads to the slots that these replaced.
bool take_slots(Table& table, uint32_t log2) {
  const uint64_t words = (table.site->key_words + table.site->value_words) << log2;
  auto* slots = static_cast<uint64_t*>(take_piece(this_thread(), words * 8 + 16));
  if (slots == nullptr) return false;
  slots[words] = reinterpret_cast<uint64_t>(table.slots);
  slots[0] = 1;  // T3
  table.slots = slots;
  table.log2 = log2;
  table.bytes += words * 8 + 16;
  return true;
}

void take_ghosts(Table& table) {
  const uint64_t entries = uint64_t{1} << table.log2;
  const uint64_t count = entries / 4 < kGhostsMin ? kGhostsMin : entries / 4;
  if (table.ghosts != nullptr && count <= table.ghosts_mask + 1) return;
  // Never given back before the thread ends while small; large ones are.
  if (table.ghosts != nullptr && is_large((table.ghosts_mask + 1) * 4)) {
    give_pages(table.ghosts, (table.ghosts_mask + 1) * 4);
    table.ghosts = nullptr;
  }
  auto* ghosts = static_cast<uint32_t*>(take_piece(this_thread(), count * 4));
  if (ghosts == nullptr) return;
  table.ghosts = ghosts;
  table.ghosts_mask = count - 1;
}

void grow(Table& table, Place& place) {
  if (table.log2 + 2 > 40 || (uint64_t{4} << table.log2) > entries_max(*table.site)) return;
  const uint64_t* old = table.slots;
  const uint64_t count = uint64_t{1} << table.log2;
  if (!take_slots(table, table.log2 + 2)) return;
  const uint64_t words = table.site->key_words + table.site->value_words;
  for (uint64_t i = 0; i < count; ++i, old += words) {
    const uint64_t hash = hash_of(*table.site, old);
    if (hash >> (64 - (table.log2 - 2)) != i) continue;  // never written, or T3
    uint64_t* slot = slot_of(table, hash);
    for (uint64_t k = 0; k < words; ++k) slot[k] = old[k];
  }
  place.shift = 64 - table.log2;
  take_ghosts(table);
}

void count_loss(Table& table, Place& place, uint64_t hash) {
  // The lower half of the hash knows nothing of the upper half of a key word.
  const uint64_t mixed = (hash ^ hash >> 32) * larder_reuse_odd[1];
  if (mixed >> LARDER_REUSE_SAMPLE_SHIFT != 0 || table.ghosts == nullptr) return;
  const auto tag = static_cast<uint32_t>(mixed >> 4 | 1);
  uint32_t& ghost = table.ghosts[mixed >> 36 & table.ghosts_mask];
  if (ghost != tag) {
    ghost = tag;
    return;
  }
  if (++table.lost < kLostMin) return;
  // Many keys lost, of all that were missed?
  if (table.lost * kSampled * 8 >= table.misses_since_growth) grow(table, place);
  table.lost = 0;
  table.misses_since_growth = 0;
}

// Rewritten code looks into the slots from now on, and stores `room` results by itself.
void open(Table& table, Place& place, uint64_t room) {
  place.room = table.room = room;
  place.shift = 64 - table.log2;
  place.slots = table.slots;
}

void begin_look(Table& table, Place& place, uint64_t window) {
  table.phase = Phase::look;
  table.window = window;
  table.calls = table.hits = table.cycles = table.timed = table.longest = table.started = 0;
  table.is_full_part = !is_linear(*table.site);
  table.full_outer_calls = 0;
  place.slots = nullptr;
  place.countdown = 0;
  if (is_linear(*table.site)) {
    place.stack_span = 0;  // memoizes calls from outside only
    table.window = kOuterCalls;
  }
}

void begin_attempt(Table& table, Place& place) {
  table.phase = Phase::attempt;
  table.misses = table.top = table.outers = table.since = 0;
  open(table, place, kAttemptMisses);
}

void begin_weigh(Table& table, Place& place) {
  table.phase = Phase::weigh;
  table.top = table.outers = table.calls = table.since = 0;
  place.slots = nullptr;
  place.countdown = 0;
}

void switch_on(Table& table, Place& place) {
  table.phase = Phase::on;
  table.misses = 0;
  table.pause = pause_first(table);
  open(table, place, kRoomMax);
}

void switch_off(Table& table, Place& place) {
  table.phase = Phase::off;
  place.slots = nullptr;
  place.countdown = table.pause;
  const int64_t factor = is_linear(*table.site) ? 4 : 2;
  table.pause = table.pause * factor < kPauseMax ? table.pause * factor : kPauseMax;
  table.misses_max = kMissesFirst;
}

// Of the timed calls without the longest, which may have met a page fault or another process.
uint64_t mean_cycles(const Table& table) {
  if (table.timed < 2) return table.cycles;
  return (table.cycles - table.longest) / (table.timed - 1);
}

bool pays(const Table& table) {
  if ((table.site->flags & LARDER_REUSE_TREE) != 0) return table.hits * 4 >= table.calls;
  const uint64_t body = table.timed != 0 ? mean_cycles(table) : table.site->cost;
  const uint64_t costs = table.calls * kHitCycles + (table.calls - table.hits) * kStoreCycles;
  return table.hits * body > costs + costs / 4;
}

void settle(Table& table, Place& place) {
  const bool tree = is_tree(*table.site);
  const uint64_t window = tree ? kWindowMax : kWindow;
  if (tree ? pays(table) : false) return switch_on(table, place);
  if (table.window < window && table.hits * 16 >= table.calls) {
    table.window = tree ? table.window * 2 : window;  // something comes back: look longer
    return;
  }
  if (pays(table))
    switch_on(table, place);
  else
    switch_off(table, place);
}

// Counts calls from outside by where their frames stand. The time runs from the first of them that is
// followed by another at its height; false until then, and for calls from within.
bool count_outer(Table& table, uint64_t stack) {
  if (stack < table.top) return false;
  if (stack > table.top) {
    table.top = stack;
    table.outers = table.since = 0;
    return false;
  }
  if (table.since == 0) {
    table.calls = 0;
    table.since = cycles_now();
    return false;
  }
  ++table.outers;
  return true;
}

void end_attempt(Table& table, Place& place) {
  table.is_shallow = table.outers >= kShallowOuters;
  table.pause = pause_first(table) > table.pause ? pause_first(table) : table.pause;
  if (!table.is_shallow) return begin_look(table, place, kWindowFirstTree);
  table.with_table = (cycles_now() - table.since) / table.outers;
  begin_weigh(table, place);
}

int weigh(Table& table, Place& place, uint64_t stack) {
  ++table.calls;
  if (!count_outer(table, stack) || table.outers < kWeighOuters) return LARDER_REUSE_LEAVE;
  const uint64_t took = cycles_now() - table.since;
  const uint64_t own = table.calls * kLeaveCycles;
  const uint64_t without = (took > own ? took - own : 0) / table.outers;
  if (table.with_table + table.with_table / 8 < without)
    switch_on(table, place);
  else
    switch_off(table, place);
  return LARDER_REUSE_LEAVE;
}

// Memoizing every level takes too long to be worth an answer.
void give_up_full(Table& table, Place& place) {
  const uint64_t body = table.outer_cycles;
  const uint64_t outer =
      kHitCycles + (table.outer_calls - table.outer_hits) * (body + kStoreCycles) / table.outer_calls;
  if (table.outer_hits < table.outer_calls && outer + outer / 4 >= body) return switch_off(table, place);
  switch_on(table, place);
  place.stack_span = 0;
}

// Both ways cost nothing more to try once the first half has shown what the body costs.
void settle_linear(Table& table, Place& place) {
  if (!table.is_full_part) {
    table.outer_calls = table.calls;
    table.outer_hits = table.hits;
    table.outer_cycles = mean_cycles(table);
    if (table.hits * 4 >= table.calls * 3 && table.outer_cycles > 4 * kHitCycles) {
      switch_on(table, place);  // and span stays 0
      return;
    }
    table.since = cycles_now();
    table.calls = table.hits = table.cycles = table.timed = table.longest = table.started = 0;
    table.is_full_part = true;
    measure_stack(this_thread(), place);
    return;
  }
  const uint64_t body = table.outer_cycles;
  const uint64_t outer =
      kHitCycles + (table.outer_calls - table.outer_hits) * (body + kStoreCycles) / table.outer_calls;
  const uint64_t slow = table.calls * kSlowCycles;
  const uint64_t full = kHitCycles +
                        (table.cycles > slow ? table.cycles - slow : 0) / table.full_outer_calls +
                        (table.calls - table.hits) * kStoreCycles / table.full_outer_calls;
  // Nothing was missed outside: nothing is known of the body, but all comes back.
  const bool is_known = table.outer_hits < table.outer_calls;
  const uint64_t least = full < outer ? full : outer;
  if (is_known && least + least / 4 >= body) return switch_off(table, place);
  switch_on(table, place);
  if (outer <= full) place.stack_span = 0;
}

// One call at a time is timed; `stack` is the caller's frame. Calls begun deeper belong to it.
void begin_timing(Table& table, uint64_t stack) {
  if (table.started != 0 && stack < table.timed_stack) {
    ++table.timed_depth;
    return;
  }
  table.timed_stack = stack;
  table.timed_depth = 1;
  table.started = cycles_now();
}

void end_timing(Table& table) {
  if (table.started == 0 || --table.timed_depth != 0) return;
  uint64_t cycles = cycles_now() - table.started;
  table.started = 0;
  if (cycles > kOutlier) cycles = kOutlier;
  cycles = cycles > kTimingCycles ? cycles - kTimingCycles : 1;
  table.cycles += cycles;
  if (cycles > table.longest) table.longest = cycles;
  ++table.timed;
}

bool is_equal(const uint64_t* a, const uint64_t* b, uint64_t words) {
  for (uint64_t i = 0; i < words; ++i)
    if (a[i] != b[i]) return false;
  return true;
}

int look(Table& table, Place& place, uint64_t hash, const uint64_t* key, uint64_t* value) {
  const uint64_t keys = table.site->key_words;
  const auto stack = reinterpret_cast<uint64_t>(value);  // in the caller's frame
  const bool is_outer = table.started == 0 || stack >= table.timed_stack;
  if (is_linear(*table.site)) {
    if (!table.is_full_part) {
      if (table.calls >= kOuterCalls) settle_linear(table, place);
    } else if (is_outer && table.full_outer_calls == kOuterCalls) {
      settle_linear(table, place);
    } else if ((table.calls & 63) == 63 &&
               cycles_now() - table.since > (table.since - table.born) / kFullShare + kFullCyclesMin) {
      give_up_full(table, place);
    }
  } else if (table.calls >= table.window) {
    settle(table, place);
  }
  if (table.phase == Phase::off) return LARDER_REUSE_LEAVE;

  ++table.calls;
  if (is_outer && table.is_full_part) ++table.full_outer_calls;
  const uint64_t* slot = slot_of(table, hash);
  if (is_equal(slot, key, keys)) {
    ++table.hits;
    for (uint64_t i = 0; i < table.site->value_words; ++i) value[i] = slot[keys + i];
    return LARDER_REUSE_HIT;
  }
  if (table.phase == Phase::look && !((table.site->flags & LARDER_REUSE_TREE) != 0))
    begin_timing(table, stack);
  return LARDER_REUSE_COMPUTE;
}

void begin(Table& table, Place& place) {
  begin_look(table, place, kWindowFirst);
  if ((table.site->flags & LARDER_REUSE_ALWAYS) != 0)
    switch_on(table, place);
  else if (is_tree(*table.site))
    begin_attempt(table, place);
}

}  // namespace

bool prepare(Table& table, Place& place) {
  const Site& site = *table.site;
  table.pause = pause_first(table);
  table.misses_max = kMissesFirst;
  table.born = cycles_now();
  if (prepare_counts(table, place)) return true;
  if (prepare_vector(table, place)) return true;
  uint32_t log2 = is_tree(site) ? kLog2StartTree : kLog2Start;
  if (site.log2_start != 0) log2 = static_cast<uint32_t>(site.log2_start);
  if (!take_slots(table, log2) && (log2 == kLog2Start || !take_slots(table, kLog2Start))) return false;
  take_ghosts(table);
  begin(table, place);
  return true;
}

void clear(Table& table, Place& place) {
  if (table.phase == Phase::fixed) return clear_vector(table);
  place.slots = nullptr;  // T1
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  memset(table.slots, 0, (table.site->key_words + table.site->value_words) << table.log2 << 3);
  table.slots[0] = 1;  // T3
  if (table.ghosts != nullptr) memset(table.ghosts, 0, (table.ghosts_mask + 1) * 4);
  table.lost = table.misses_since_growth = 0;
  table.is_shallow = false;
  table.pause = pause_first(table);
  table.misses_max = kMissesFirst;
  table.born = cycles_now();
  begin(table, place);
}

int look_up(Table& table, Place& place, uint64_t hash, const uint64_t* key, uint64_t* value) {
  if (table.phase == Phase::off) {
    if (table.is_shallow) {
      begin_attempt(table, place);
      return LARDER_REUSE_COMPUTE;
    }
    // What was waited for longer is looked at longer, at the same share of the time.
    const uint64_t share = static_cast<uint64_t>(table.pause) / 256;
    const uint64_t window = share < kWindowFirst ? kWindowFirst : share < kWindowMax ? share : kWindowMax;
    while (window > uint64_t{1} << table.log2 && !is_linear(*table.site)) {
      const uint32_t before = table.log2;
      grow(table, place);
      if (table.log2 == before) break;
    }
    begin_look(table, place, window);
  }
  if (table.phase == Phase::attempt) return LARDER_REUSE_COMPUTE;  // the first call
  if (table.phase == Phase::weigh) return weigh(table, place, reinterpret_cast<uint64_t>(value));
  return look(table, place, hash, key, value);
}

void insert(Table& table, Place& place, uint64_t hash, const uint64_t* key, const uint64_t* value,
            uint64_t stack) {
  if (table.phase == Phase::off) return;
  if (table.phase == Phase::look) end_timing(table);
  const bool was_on = table.phase == Phase::on || table.phase == Phase::attempt;
  place.slots = nullptr;  // T1
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  uint64_t* slot = slot_of(table, hash);
  const uint64_t keys = table.site->key_words;
  for (uint64_t i = 0; i < keys; ++i) slot[i] = key[i];
  for (uint64_t i = 0; i < table.site->value_words; ++i) slot[keys + i] = value[i];
  const uint64_t missed = was_on && place.room < table.room ? table.room - place.room + 1 : 1;
  table.misses_since_growth += missed;
  count_loss(table, place, hash);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  if (!was_on) return;
  table.misses += missed;
  if (table.phase == Phase::attempt) {
    if (table.misses < kAttemptMisses) return open(table, place, kAttemptMisses - table.misses);
    count_outer(table, stack);
    if (table.misses >= kAttemptMisses + kMeasuredMisses) return end_attempt(table, place);
    return open(table, place, 0);
  }
  if (table.misses < table.misses_max) {
    const uint64_t left = table.misses_max - table.misses;
    return open(table, place, left < kRoomMax ? left : kRoomMax);
  }
  table.misses_max = table.misses_max * 2 < kMissesMax ? table.misses_max * 2 : kMissesMax;
  if (table.is_shallow)
    begin_attempt(table, place);
  else
    begin_look(table, place, is_tree(*table.site) ? kWindow : kWindowAgain);
}

}  // namespace larder::reuse

extern "C" int larder_reuse_slow(larder_reuse_place* place, const larder_reuse_site* site, uint64_t hash,
                                 const uint64_t* key, uint64_t* value) {
  using namespace larder::reuse;
  Thread& thread = this_thread();
  const Entered entered(thread);
  if (place->busy != 0) return LARDER_REUSE_LEAVE;
  if (!entered.was_free || site->version != LARDER_REUSE_VERSION) return LARDER_REUSE_LEAVE;
  Table* table = place->table;
  if (table == nullptr) {
    if (place->countdown > 0) return LARDER_REUSE_LEAVE;
    table = make_table(thread, *place, *site);
    if (table == nullptr) {
      place->countdown = kPauseMax;
      return LARDER_REUSE_LEAVE;
    }
    place->table = table;
  }
  if (table->counts != nullptr) return count_call(*table, hash, key, value);
  if (table->vector != nullptr) return find_in_vector(*table, key, value);
  return look_up(*table, *place, hash, key, value);
}

extern "C" void larder_reuse_put(larder_reuse_place* place, const larder_reuse_site*, uint64_t hash,
                                 const uint64_t* key, const uint64_t* value) {
  using namespace larder::reuse;
  const Entered entered(this_thread());
  Table* table = place->table;
  if (!entered.was_free || table == nullptr || place->busy != 0) return;
  if (table->counts != nullptr) return count_result(*table);
  if (table->vector != nullptr) return put_in_vector(*table, key, value);
  insert(*table, *place, hash, key, value, reinterpret_cast<uint64_t>(__builtin_frame_address(0)));
}

extern "C" void larder_reuse_put_small(larder_reuse_place* place, const larder_reuse_site* site,
                                       uint64_t hash, uint64_t key, uint64_t value) {
  larder_reuse_put(place, site, hash, &key, &value);
}
