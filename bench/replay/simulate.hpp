// simulate() plays a trace against a budget as a tier would and counts what had to be made; the offline
// functions say what could not have been avoided by someone who knows the future. One thread.
#pragma once

#include <cstdint>
#include <string>

#include "bench/replay/trace.hpp"
#include "policy/budget.hpp"

namespace larder::replay {

struct Outcome {
  std::uint64_t missed = 0;  // requests
  std::uint64_t missed_bytes = 0;
  std::uint64_t missed_cost_ns = 0;  // where the trace has no cost, requests
  std::uint64_t asked = 0;
  std::uint64_t asked_bytes = 0;
  std::uint64_t asked_cost_ns = 0;

  double objects() const noexcept { return static_cast<double>(missed) / static_cast<double>(asked); }
  double bytes() const noexcept {
    return static_cast<double>(missed_bytes) / static_cast<double>(asked_bytes);
  }
  double cost() const noexcept {
    return static_cast<double>(missed_cost_ns) / static_cast<double>(asked_cost_ns);
  }
};

struct Run {
  Outcome outcome;
  policy::BudgetStats stats;
  double ns_per_request = 0;    // budget and policy, without the replay's own table
  double ns_per_eviction = 0;   // naming a victim and letting it go
  double memory_per_entry = 0;  // bytes of budget and policy per entry kept, ghosts apart
  double ghosts_per_entry = 0;  // bytes of the memory of evicted entries per entry kept
};

// How the tier tells the policy of hits.
enum class Telling {
  at_once,  // each as it happens
  late,     // as a tier whose hits take no lock: a stamp per entry, told at the second look
};

Run simulate(const Trace& trace, const policy::BudgetOptions& options, Telling telling);

// What a budget with a policy costs on `entries` equal entries: nanoseconds of processor time for a touch,
// and for naming a victim, letting it go and taking another entry in; bytes as in Run.
struct Speed {
  double touch_ns = 0;
  double exchange_ns = 0;
  double memory_per_entry = 0;
  double ghosts_per_entry = 0;
};
Speed measure_speed(policy::Kind kind, std::uint32_t entries);

enum class Foresight {
  time,       // Belady: who is needed last goes first
  time_size,  // time to the next use * size
  cost,       // time to the next use * size / cost
};

// Looks at 64 entries drawn at random for each victim, `time` at all.
Outcome foresee(const Trace& trace, std::uint64_t bytes_max, Foresight foresight);

}  // namespace larder::replay
