#include "bench/replay/simulate.hpp"

#include <algorithm>
#include <ctime>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "policy/sample.hpp"

namespace larder::replay {
namespace {

using policy::Id;
using policy::kNoId;

std::uint64_t counted_cost(const Trace& trace, std::size_t request, bool has_cost) {
  return has_cost ? trace.cost_ns(request) : 1;
}

// Of this thread: others on the machine take nothing of it.
double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// What a lock-free hit leaves behind: written only when it changes.
struct Stamp {
  policy::Tick when = 0;
  std::uint32_t uses = 0;
};

class Tier {
 public:
  Tier(const Trace& trace, const policy::BudgetOptions& options, Telling telling)
      : trace_(trace), budget_(options), telling_(telling), id_of_(trace.objects.size(), kNoId) {}

  // True for a hit.
  bool ask(std::uint32_t object, std::uint64_t cost_ns) {
    if (const Id id = id_of_[object]; id != kNoId) {
      hit(id);
      return true;
    }
    const Object& one = trace_.objects[object];
    const std::uint64_t key = policy::mix(one.key);
    budget_.missed(key);
    if (budget_.admits(one.size, cost_ns) != Reason::none) return false;
    for (Id id; (id = budget_.victim({one.size, 1})) != kNoId;) {
      if (tell(id)) continue;
      budget_.evict(id);
      id_of_[object_of_[id]] = kNoId;
      free_.push_back(id);
    }
    if (free_.empty()) {
      free_.push_back(static_cast<Id>(object_of_.size()));
      object_of_.push_back(0);
      stamps_.emplace_back();
    }
    const Id id = free_.back();
    free_.pop_back();
    budget_.insert(id, {.key = key, .weight = one.size, .cost = cost_ns, .group = one.key >> 32});
    object_of_[id] = object;
    stamps_[id] = {};
    id_of_[object] = id;
    if (telling_ == Telling::late) {
      for (int i = 0; i < 2; ++i) {
        if (const Id asked = budget_.curious(); asked != kNoId) tell(asked);
      }
    }
    return false;
  }

  const policy::Budget& budget() const noexcept { return budget_; }
  std::size_t entries_max() const noexcept { return object_of_.size(); }

 private:
  void hit(Id id) {
    if (telling_ == Telling::at_once) return budget_.touch(id);
    Stamp& stamp = stamps_[id];
    if (stamp.uses != 0 && stamp.when == budget_.now()) return;
    stamp = {budget_.now(), std::min(stamp.uses + 1, 15U)};
  }

  // True when there was news.
  bool tell(Id id) {
    Stamp& stamp = stamps_[id];
    if (stamp.uses == 0) return false;
    budget_.touch(id, {.when = stamp.when, .uses = stamp.uses});
    stamp = {};
    return true;
  }

  const Trace& trace_;
  policy::Budget budget_;
  Telling telling_;
  std::vector<Id> id_of_;  // by object
  std::vector<std::uint32_t> object_of_;
  std::vector<Stamp> stamps_;
  std::vector<Id> free_;
};

}  // namespace

Run simulate(const Trace& trace, const policy::BudgetOptions& options, Telling telling) {
  Run run;
  const bool has_cost = trace.has_cost();
  Tier tier(trace, options, telling);
  const double start = cpu_ns();
  for (std::size_t i = 0; i < trace.requests.size(); ++i) {
    const std::uint64_t cost = has_cost ? trace.cost_ns(i) : 0;
    const std::uint64_t counted = counted_cost(trace, i, has_cost);
    const std::uint64_t size = trace.objects[trace.requests[i]].size;
    Outcome& sum = run.outcome;
    sum.asked_bytes += size;
    sum.asked_cost_ns += counted;
    if (tier.ask(trace.requests[i], cost)) continue;
    ++sum.missed;
    sum.missed_bytes += size;
    sum.missed_cost_ns += counted;
  }
  run.ns_per_request = (cpu_ns() - start) / static_cast<double>(trace.requests.size());
  run.outcome.asked = trace.requests.size();
  run.stats = tier.budget().stats();
  const auto entries = static_cast<double>(std::max<std::size_t>(tier.entries_max(), 1));
  const auto ghosts = static_cast<double>(tier.budget().ghosts().memory_bytes());
  run.memory_per_entry = (static_cast<double>(tier.budget().memory_bytes()) - ghosts) / entries;
  run.ghosts_per_entry = ghosts / entries;
  return run;
}

Speed measure_speed(policy::Kind kind, std::uint32_t entries) {
  policy::Budget budget({.limits = {.entries = entries}, .policy = kind});
  policy::Random random(7);
  std::uint64_t key = 0;
  const auto fresh = [&] {
    ++key;
    return policy::Entry{.key = policy::mix(key),
                         .weight = 1 + random.next(1000),
                         .cost = 1 + random.next(1000000),
                         .group = key / 64};
  };
  for (Id id = 0; id < entries; ++id) budget.insert(id, fresh());
  const auto exchange = [&](std::uint32_t times) {
    for (std::uint32_t i = 0; i < times; ++i) {
      const Id id = budget.victim({1, 1});
      budget.evict(id);
      budget.insert(id, fresh());
    }
  };
  exchange(entries);
  const std::uint32_t times = kind == policy::Kind::lru_vector ? 200'000'000 / entries / 10 : 200000;
  Speed speed;
  double start = cpu_ns();
  exchange(times);
  speed.exchange_ns = (cpu_ns() - start) / times;
  start = cpu_ns();
  for (std::uint32_t i = 0; i < times; ++i) budget.touch(random.next(entries));
  speed.touch_ns = (cpu_ns() - start) / times;
  const auto ghosts = static_cast<double>(budget.ghosts().memory_bytes());
  speed.memory_per_entry = (static_cast<double>(budget.memory_bytes()) - ghosts) / entries;
  speed.ghosts_per_entry = ghosts / entries;
  return speed;
}

namespace {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max() / 2;

std::vector<std::uint64_t> next_uses(const Trace& trace) {
  std::vector<std::uint64_t> next(trace.requests.size());
  std::vector<std::uint64_t> upcoming(trace.objects.size(), kNever);
  for (std::size_t i = trace.requests.size(); i-- > 0;) {
    next[i] = upcoming[trace.requests[i]];
    upcoming[trace.requests[i]] = i;
  }
  return next;
}

// Who is kept, with the time of its next use: in order, and to be drawn from.
class Foreseen {
 public:
  explicit Foreseen(std::size_t objects) : next_(objects, 0), place_(objects, kOutside) {}

  bool contains(std::uint32_t object) const { return place_[object] != kOutside; }
  void keep(std::uint32_t object, std::uint64_t next) {
    if (contains(object)) forget(object);
    next_[object] = next;
    place_[object] = sample_.insert(object);
    order_.emplace(next, object);
  }
  void forget(std::uint32_t object) {
    order_.erase({next_[object], object});
    if (const std::uint32_t moved = sample_.remove(place_[object]); moved != kNoId)
      place_[moved] = place_[object];
    place_[object] = kOutside;
  }
  std::uint32_t last() const { return std::prev(order_.end())->second; }

  std::uint32_t worst_of_64(const Trace& trace, std::uint64_t now, bool with_cost, policy::Random& random) {
    std::uint32_t worst = last();
    if (next_[worst] == kNever) return worst;
    double highest = -1;
    sample_.draw(64, random, drawn_);
    for (const std::uint32_t object : drawn_) {
      const Object& one = trace.objects[object];
      const double cost = with_cost ? static_cast<double>(std::max<std::uint64_t>(one.cost_ns, 1)) : 1;
      const double score = static_cast<double>(next_[object] - now) * static_cast<double>(one.size) / cost;
      if (score > highest) {
        highest = score;
        worst = object;
      }
    }
    return worst;
  }

 private:
  static constexpr std::uint32_t kOutside = ~0U;
  std::vector<std::uint64_t> next_;
  std::vector<std::uint32_t> place_;
  policy::Sample sample_;
  std::vector<std::uint32_t> drawn_;
  std::set<std::pair<std::uint64_t, std::uint32_t>> order_;
};

}  // namespace

Outcome foresee(const Trace& trace, std::uint64_t bytes_max, Foresight foresight) {
  Outcome sum;
  sum.asked = trace.requests.size();
  const bool has_cost = trace.has_cost();
  const std::vector<std::uint64_t> next = next_uses(trace);
  Foreseen kept(trace.objects.size());
  policy::Random random(1);
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < trace.requests.size(); ++i) {
    const std::uint32_t object = trace.requests[i];
    const std::uint64_t size = trace.objects[object].size;
    const std::uint64_t cost = counted_cost(trace, i, has_cost);
    sum.asked_bytes += size;
    sum.asked_cost_ns += cost;
    if (kept.contains(object)) {
      kept.keep(object, next[i]);
      continue;
    }
    ++sum.missed;
    sum.missed_bytes += size;
    sum.missed_cost_ns += cost;
    if (size > bytes_max || next[i] == kNever) continue;
    while (bytes + size > bytes_max) {
      const std::uint32_t out = foresight == Foresight::time
                                    ? kept.last()
                                    : kept.worst_of_64(trace, i, foresight == Foresight::cost, random);
      bytes -= trace.objects[out].size;
      kept.forget(out);
    }
    kept.keep(object, next[i]);
    bytes += size;
  }
  return sum;
}

}  // namespace larder::replay
