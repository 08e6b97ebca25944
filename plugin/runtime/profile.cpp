// A profile is text, one line per function and run: see docs/reuse.md. Lines are appended in one write, so
// that processes that end together do not mix theirs.
//
// Distinct keys are estimated by HyperLogLog with 1024 registers (about 3 % off), and below 2560 of them by
// counting empty registers. What tables would have hit is simulated on the hashes of the keys.
#include "profile.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <new>

#include "threads.hpp"

namespace larder::reuse {

namespace {

constexpr uint64_t kRegisters = 1024;
constexpr uint64_t kNameMax = 7900;
constexpr uint64_t kSimulated = 256;  // entries of the simulated tables

}  // namespace

struct Counts {
  Counts* next = nullptr;  // of all functions, once merged; of no function at present where there is no site
  const Site* site = nullptr;
  uint64_t calls = 0;
  uint64_t timed = 0;
  uint64_t cycles = 0;
  uint64_t direct_hits = 0;  // a direct-mapped table
  uint64_t turn_hits = 0;    // replaced in turn
  uint64_t lru_hits = 0;     // least recently used
  uint64_t turn_next = 0;
  uint64_t clock = 0;
  uint64_t counting_before = 0;  // this thread's counting when the timed call began
  unsigned char registers[kRegisters] = {};
  uint64_t direct[kSimulated] = {};
  uint64_t turn[kSimulated] = {};
  uint64_t lru[kSimulated] = {};
  uint64_t lru_used[kSimulated] = {};
};

namespace {

// Cycles that this thread has spent counting: within a timed call, they are not the function's.
thread_local uint64_t counting;
constexpr uint64_t kAroundCounting = 40;  // of a counted call, outside of what can be measured

Counts* all_counts;
uint64_t first_cycles;
timespec first_time;

uint64_t rounded(double value) {
  const auto whole = static_cast<uint64_t>(value);
  return whole + (value - static_cast<double>(whole) >= 0.5 ? 1 : 0);
}

// The natural logarithm of 1/x for 0 < x <= 1: halvings, then a series.
double log_inverse(double x) {
  double result = 0;
  while (x < 0.75) {
    x *= 2;
    result += 0.693147180559945309;
  }
  const double y = (1 - x) / (1 + x);
  double term = y;
  double sum = 0;
  for (int i = 1; i < 24; i += 2) {
    sum += term / i;
    term *= y * y;
  }
  return result + 2 * sum;
}

uint64_t distinct(const Counts& counts) {
  double sum = 0;
  uint64_t empty = 0;
  for (const unsigned char rank : counts.registers) {
    sum += 1.0 / static_cast<double>(uint64_t{1} << rank);
    empty += rank == 0;
  }
  constexpr auto kCount = static_cast<double>(kRegisters);
  const double estimate = 0.7213 / (1 + 1.079 / kCount) * kCount * kCount / sum;
  if (estimate <= 2.5 * kCount && empty != 0)
    return rounded(kCount * log_inverse(static_cast<double>(empty) / kCount));
  return static_cast<uint64_t>(estimate);
}

void simulate(Counts& counts, uint64_t tag) {
  uint64_t& direct = counts.direct[tag >> 56];
  counts.direct_hits += direct == tag;
  direct = tag;

  bool is_hit = false;
  for (uint64_t i = 0; i < kSimulated && !is_hit; ++i) is_hit = counts.turn[i] == tag;
  counts.turn_hits += is_hit;
  if (!is_hit) counts.turn[counts.turn_next++ % kSimulated] = tag;

  uint64_t oldest = 0;
  uint64_t found = kSimulated;
  for (uint64_t i = 0; i < kSimulated && found == kSimulated; ++i) {
    if (counts.lru[i] == tag) found = i;
    if (counts.lru_used[i] < counts.lru_used[oldest]) oldest = i;
  }
  counts.lru_hits += found != kSimulated;
  if (found == kSimulated) found = oldest;
  counts.lru[found] = tag;
  counts.lru_used[found] = ++counts.clock;
}

uint64_t scramble(uint64_t hash) {
  hash ^= hash >> 31;
  hash *= 0x7fb5d329728ea185;
  hash ^= hash >> 27;
  hash *= 0x81dadef4bc2dd44d;
  return hash ^ hash >> 33;
}

// Null: there are none.
Counts* counts_of(const Site* site) {
  Counts* counts = all_counts;
  while (counts != nullptr && counts->site != site) counts = counts->next;
  return counts;
}

// A module that is loaded later may have its function where this one was.
void drop(Counts& counts) {
  Counts* const next = counts.next;
  counts = Counts();
  counts.next = next;
}

double nanoseconds_per_cycle() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const double passed = static_cast<double>(now.tv_sec - first_time.tv_sec) * 1e9 +
                        static_cast<double>(now.tv_nsec - first_time.tv_nsec);
  const auto cycles = static_cast<double>(cycles_now() - first_cycles);
  return cycles > 0 ? passed / cycles : 1;
}

class Line {
 public:
  void add(const char* text) {
    while (*text != '\0' && size_ < sizeof text_ - 2) text_[size_++] = *text++;
  }
  void add(uint64_t number) {
    char digits[24];
    char* at = digits + sizeof digits - 1;
    *at = '\0';
    do {
      *--at = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    add(at);
  }
  const char* text() const { return text_; }
  size_t size() const { return size_; }

 private:
  char text_[8192];
  size_t size_ = 0;
};

}  // namespace

bool prepare_counts(Table& table, Place& place) noexcept {
  if ((table.site->flags & LARDER_REUSE_PROFILE) == 0) return false;
  void* piece = take_piece(this_thread(), sizeof(Counts));
  if (piece == nullptr) return false;
  auto* counts = new (piece) Counts();
  counts->site = table.site;
  if (first_cycles == 0) {
    clock_gettime(CLOCK_MONOTONIC, &first_time);
    first_cycles = cycles_now();
  }
  table.counts = counts;
  table.phase = Phase::fixed;
  place.slots = nullptr;
  place.countdown = 0;
  return true;
}

int count_call(Table& table, uint64_t hash, const uint64_t* key, uint64_t* value) noexcept {
  const uint64_t begun = cycles_now();
  Counts& counts = *table.counts;
  ++counts.calls;
  // The words themselves, not only their hash: two keys of one hash are two keys.
  uint64_t tag = hash;
  for (uint64_t i = 0; i < table.site->key_words; ++i) tag = scramble(tag + key[i]);
  if (tag == 0) tag = 1;
  unsigned char& rank = counts.registers[tag % kRegisters];
  const auto zeroes = static_cast<unsigned char>(__builtin_clzll(tag >> 10 << 10 | 1 << 9) + 1);
  if (zeroes > rank) rank = zeroes;
  simulate(counts, tag);
  const auto stack = reinterpret_cast<uint64_t>(value);
  const bool is_within = table.started != 0 && stack < table.timed_stack;
  const uint64_t now = cycles_now();
  counting += now - begun + kAroundCounting;
  if (is_within) {
    ++table.timed_depth;
  } else {
    table.timed_stack = stack;
    table.timed_depth = 1;
    table.started = now;
    counts.counting_before = counting;
  }
  return LARDER_REUSE_COMPUTE;
}

void count_result(Table& table) noexcept {
  if (table.started == 0 || --table.timed_depth != 0) return;
  const uint64_t passed = cycles_now() - table.started;
  const uint64_t counted = counting - table.counts->counting_before;
  table.counts->cycles += passed > counted ? passed - counted : 0;
  ++table.counts->timed;
  table.started = 0;
}

void merge_counts(Table& table) noexcept {
  const Counts* from = table.counts;
  Counts* into = counts_of(from->site);
  if (into == nullptr) into = counts_of(nullptr);
  if (into == nullptr) {
    void* pages = take_pages(sizeof(Counts));
    if (pages == nullptr) return;
    into = new (pages) Counts();
    into->next = all_counts;
    all_counts = into;
  }
  into->site = from->site;
  into->calls += from->calls;
  into->timed += from->timed;
  into->cycles += from->cycles;
  into->direct_hits += from->direct_hits;
  into->turn_hits += from->turn_hits;
  into->lru_hits += from->lru_hits;
  for (uint64_t i = 0; i < kRegisters; ++i)
    if (from->registers[i] > into->registers[i]) into->registers[i] = from->registers[i];
}

void begin_counts(Table& table) noexcept {
  const uint64_t before = table.counts->counting_before;
  *table.counts = Counts();
  table.counts->site = table.site;
  table.counts->counting_before = before;
}

void drop_merged_counts() noexcept {
  for (Counts* counts = all_counts; counts != nullptr; counts = counts->next) drop(*counts);
}

void write_profile(const Site* site) noexcept {
  Counts* counts = counts_of(site);
  // A name that the line cannot hold would make the whole file unreadable.
  if (counts == nullptr || counts->calls == 0 || strlen(site->name) > kNameMax) return;
  const char* path = getenv("LARDER_REUSE_PROFILE");
  const int file = open(path != nullptr && *path != '\0' ? path : "larder-reuse.profile",
                        O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return;
  const auto spent = static_cast<uint64_t>(static_cast<double>(counts->cycles) * nanoseconds_per_cycle());
  Line line;
  line.add("reuse1\t");
  line.add(site->name);
  const uint64_t numbers[] = {site->fingerprint, counts->calls,    distinct(*counts), counts->direct_hits,
                              counts->turn_hits, counts->lru_hits, counts->timed,     spent};
  for (const uint64_t number : numbers) {
    line.add("\t");
    line.add(number);
  }
  line.add("\n");
  const ssize_t written = write(file, line.text(), line.size());
  (void)written;
  close(file);
  drop(*counts);
}

}  // namespace larder::reuse
