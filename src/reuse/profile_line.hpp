// A line of a reuse profile: what a recording run found out about one function, and what follows from it. The
// run-time library writes it (plugin/runtime/profile.cpp), the plugin chooses by it, `larder reuse-report`
// prints it.
//
//   reuse1 NAME FINGERPRINT CALLS KEYS DIRECT_HITS TURN_HITS LRU_HITS TIMED NANOSECONDS      separated by
//   tabs
//
// Standard library alone: the plugin is C++17 and knows nothing of the house.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace larder::reuse {

struct ProfileLine {
  std::string_view name;          // as the linker sees it
  std::uint64_t fingerprint = 0;  // of the body
  std::uint64_t calls = 0;
  std::uint64_t keys = 0;         // distinct, estimated
  std::uint64_t direct_hits = 0;  // that 256 entries would have had: direct-mapped,
  std::uint64_t turn_hits = 0;    // replaced in turn,
  std::uint64_t lru_hits = 0;     // least recently used
  std::uint64_t timed = 0;        // calls from outside: calls within them belong to them
  std::uint64_t nanoseconds = 0;  // in those
};

// False: it is no such line.
inline bool read_profile_line(std::string_view text, ProfileLine& line) {
  const auto next = [&text] {
    const std::size_t tab = text.find('\t');
    const std::string_view field = text.substr(0, tab);
    text = tab == std::string_view::npos ? std::string_view() : text.substr(tab + 1);
    return field;
  };
  if (std::count(text.begin(), text.end(), '\t') != 9 || next() != "reuse1") return false;
  line.name = next();
  for (std::uint64_t* const number : {&line.fingerprint, &line.calls, &line.keys, &line.direct_hits,
                                      &line.turn_hits, &line.lru_hits, &line.timed, &line.nanoseconds}) {
    const std::string_view field = next();
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), *number);
    if (error != std::errc() || end != field.data() + field.size()) return false;
  }
  return !line.name.empty();
}

// Another run of the same function. Keys of different runs may be the same ones.
inline void add_run(ProfileLine& to, const ProfileLine& run) {
  to.calls += run.calls;
  to.keys = std::max(to.keys, run.keys);
  to.direct_hits += run.direct_hits;
  to.turn_hits += run.turn_hits;
  to.lru_hits += run.lru_hits;
  to.timed += run.timed;
  to.nanoseconds += run.nanoseconds;
}

// What a table of a certain kind would cost, in nanoseconds.
struct TableCosts {
  double look = 3;
  double store = 5;
  double lost = 0;  // of what was stored, the share that is gone when it is asked for
};

// The whole run with such a table. A call that is answered saves the calls within it as well, so what is
// looked up is what comes from outside and from the bodies that are worked through.
inline double nanoseconds_with(const ProfileLine& line, const TableCosts& costs) {
  if (line.calls == 0) return 0;
  const auto calls = static_cast<double>(line.calls);
  const double outside = std::min(calls, static_cast<double>(line.timed));
  const double inner = (calls - outside) / calls;  // calls within a body, on the average
  const double keys = std::min(calls, static_cast<double>(line.keys));
  const double misses =
      std::min(calls, (keys + costs.lost * outside) / std::max(1e-9, 1 - costs.lost * inner));
  const double looks = std::min(calls, outside + misses * inner);
  const double body = static_cast<double>(line.nanoseconds) / calls;
  return misses * (body + costs.store) + looks * costs.look;
}

// With a table that is large enough; 0 when it would not pay.
inline double nanoseconds_to_save(const ProfileLine& line) {
  return std::max(0.0, static_cast<double>(line.nanoseconds) - nanoseconds_with(line, {}));
}

inline double hit_ratio(const ProfileLine& line) {
  if (line.calls == 0 || line.keys >= line.calls) return 0;
  return 1 - static_cast<double>(line.keys) / static_cast<double>(line.calls);
}

enum class Replacement : std::uint64_t {
  adaptive,
  round_robin,
  lru_vector,
  lru_hash
};  // as sites number them

struct TableChoice {
  bool pays = false;
  Replacement replacement = Replacement::adaptive;
  std::uint64_t log2_start = 0;   // adaptive: entries of the first table
  std::uint64_t entries_max = 0;  // the others: how many they keep
  double nanoseconds = 0;         // the run's, estimated
};

// The adaptive table answers soonest, but two keys may share a slot: of what was stored some is lost even in
// a roomy table. The vector and the hash lose nothing that fits, are an order of magnitude slower, and slower
// yet when more keys come than were seen: so they are for bodies beside which even that does not count.
inline TableChoice choose_table(const ProfileLine& line, std::uint64_t entry_words) {
  constexpr std::uint64_t kRoom = 8;  // slots per key, at most
  constexpr double kCall = 25;        // what it takes to ask the library
  constexpr double kHash = 15;
  constexpr double kScan = 0.5;           // per element that is looked at
  constexpr double kScanShare = 0.05;     // of a body, that replacing may take
  constexpr std::uint64_t kFewKeys = 16;  // where searching a vector is as good as hashing
  const auto calls = static_cast<double>(line.calls);
  TableChoice best;
  best.nanoseconds = static_cast<double>(line.nanoseconds) * 0.9;  // less must be clearly less
  const auto consider = [&](const TableCosts& costs, const TableChoice& choice) {
    const double nanoseconds = nanoseconds_with(line, costs);
    if (nanoseconds >= best.nanoseconds) return;
    best = choice;
    best.pays = true;
    best.nanoseconds = nanoseconds;
  };
  const double keys = std::max(1.0, static_cast<double>(line.keys));
  for (std::uint64_t log2 = 6; log2 <= 20; ++log2) {
    const auto slots = static_cast<double>(std::uint64_t{1} << log2);
    if (log2 > 6 && slots > keys * kRoom) break;
    const double bytes = slots * static_cast<double>(entry_words) * 8;
    TableCosts costs;
    costs.look = bytes <= (32 << 10) ? 2 : bytes <= (1 << 20) ? 3 : bytes <= (16 << 20) ? 8 : 20;
    costs.lost = 1 - (1 - std::exp(-keys / slots)) * slots / keys;
    TableChoice choice;
    choice.log2_start = log2;
    consider(costs, choice);
  }
  const double outside = line.timed == 0 ? calls : static_cast<double>(line.timed);
  const double body = static_cast<double>(line.nanoseconds) / std::max(1.0, outside);
  TableChoice choice;
  choice.entries_max = line.keys + line.keys / 4 + 8;
  const double scan = static_cast<double>(choice.entries_max) * kScan;
  if (scan > body * kScanShare) return best;
  choice.replacement = line.keys <= kFewKeys ? Replacement::round_robin : Replacement::lru_hash;
  TableCosts costs;
  costs.look = kCall + (line.keys <= kFewKeys ? scan : kHash);
  costs.store = kCall + kHash;
  consider(costs, choice);
  return best;
}

}  // namespace larder::reuse
