// Traces that nobody's build or launch left behind. They differ from the recorded ones in what decides a
// policy: whether cost goes with size, whether popularity drifts, whether loops and scans run through the
// cache.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "bench/replay/trace.hpp"
#include "policy/sample.hpp"

namespace larder::replay {
namespace {

using policy::mix;
using policy::Random;

double uniform(Random& random) {
  return static_cast<double>(random.next() >> 11) * 0x1p-53;
}

double normal(Random& random) {
  return std::sqrt(-2 * std::log(1 - uniform(random))) * std::cos(6.283185307179586 * uniform(random));
}

// Draws ranks 0 .. n-1 with probability falling as rank^-skew.
class Zipf {
 public:
  Zipf(std::size_t n, double skew) : cumulative_(n) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) cumulative_[i] = sum += std::pow(static_cast<double>(i + 1), -skew);
  }
  std::size_t draw(Random& random) const {
    const double at = uniform(random) * cumulative_.back();
    return static_cast<std::size_t>(std::lower_bound(cumulative_.begin(), cumulative_.end(), at) -
                                    cumulative_.begin());
  }

 private:
  std::vector<double> cumulative_;
};

// Objects come into being when they are first asked for; size and cost depend on the key and the seed alone.
class Writer {
 public:
  Writer(std::string name, std::uint64_t seed) : random(seed) { trace_.name = std::move(name); }

  // A new object of so many bytes and nanoseconds.
  std::uint32_t object(double size, double cost_ns) {
    trace_.objects.push_back({mix(trace_.objects.size() + 1), static_cast<std::uint64_t>(std::max(size, 1.0)),
                              static_cast<std::uint64_t>(std::max(cost_ns, 0.0))});
    return static_cast<std::uint32_t>(trace_.objects.size() - 1);
  }
  void ask(std::uint32_t object) { trace_.requests.push_back(object); }
  std::size_t asked() const { return trace_.requests.size(); }

  // Objects that nobody asked for are no part of a trace.
  Trace finish() {
    std::vector<std::uint32_t> place(trace_.objects.size(), ~0U);
    Trace kept;
    kept.name = trace_.name;
    for (const std::uint32_t object : trace_.requests) {
      if (place[object] == ~0U) {
        place[object] = static_cast<std::uint32_t>(kept.objects.size());
        kept.objects.push_back(trace_.objects[object]);
      }
      kept.requests.push_back(place[object]);
    }
    return kept;
  }

  Random random;

 private:
  Trace trace_;
};

double log_uniform(Random& random, double low, double high) {
  return low * std::pow(high / low, uniform(random));
}

// Popularity by Zipf over ranks whose owners drift; cost follows size loosely, or not at all.
Trace zipf_drift(std::uint64_t seed, bool with_size_and_cost) {
  Writer out(with_size_and_cost ? "zipf_drift" : "zipf_plain", seed);
  Random& random = out.random;
  constexpr std::size_t kObjects = 20000;
  std::vector<std::uint32_t> by_rank;
  const auto fresh = [&] {
    return with_size_and_cost ? out.object(std::exp(9 + 1.5 * normal(random)), log_uniform(random, 1e6, 1e10))
                              : out.object(1, 0);
  };
  for (std::size_t i = 0; i < kObjects; ++i) by_rank.push_back(fresh());
  const Zipf zipf(kObjects, 0.9);
  for (std::size_t i = 0; i < 300000; ++i) {
    if (i % 20 == 0) std::swap(by_rank[random.next(kObjects)], by_rank[random.next(kObjects)]);
    if (i % 40 == 0) by_rank[random.next(kObjects)] = fresh();
    out.ask(by_rank[zipf.draw(random)]);
  }
  return out.finish();
}

// Results of functions: small, of any cost, popular ones between scans that never come back.
Trace memo_scan(std::uint64_t seed) {
  Writer out("memo_scan", seed);
  Random& random = out.random;
  constexpr std::size_t kObjects = 30000;
  const auto fresh = [&] { return out.object(64 + random.next(193), log_uniform(random, 1e3, 1e7)); };
  std::vector<std::uint32_t> all;
  for (std::size_t i = 0; i < kObjects; ++i) all.push_back(fresh());
  const Zipf zipf(kObjects, 0.8);
  while (out.asked() < 300000) {
    for (std::size_t i = 0; i < 4000; ++i) out.ask(all[zipf.draw(random)]);
    const std::size_t scan = 500 + random.next(2000);
    for (std::size_t i = 0; i < scan; ++i) out.ask(fresh());
  }
  return out.finish();
}

// The same loop over and over: whatever is smaller than the loop gets no hit from LRU.
Trace loop(std::uint64_t seed) {
  Writer out("loop", seed);
  Random& random = out.random;
  std::vector<std::uint32_t> all;
  for (std::size_t i = 0; i < 5000; ++i) {
    const double size = std::exp(9 + normal(random));
    all.push_back(out.object(size, 4e5 * std::pow(size, 0.74) * std::exp(0.7 * normal(random))));
  }
  for (std::size_t round = 0; round < 40; ++round) {
    for (const std::uint32_t object : all) out.ask(object);
  }
  return out.finish();
}

// Loops, then favourites, then working sets that move, then favourites again.
Trace phases(std::uint64_t seed) {
  Writer out("phases", seed);
  Random& random = out.random;
  const auto fresh = [&] {
    const double size = std::exp(9 + 1.3 * normal(random));
    return out.object(size, 4e5 * std::pow(size, 0.74) * std::exp(normal(random)));
  };
  std::vector<std::uint32_t> all;
  for (std::size_t i = 0; i < 12000; ++i) all.push_back(fresh());
  const Zipf zipf(all.size(), 1.0);
  for (std::size_t phase = 0; phase < 12; ++phase) {
    switch (phase % 3) {
      case 0:
        for (std::size_t i = 0; i < 30000; ++i) out.ask(all[i % 4000]);
        break;
      case 1:
        for (std::size_t i = 0; i < 30000; ++i) out.ask(all[zipf.draw(random)]);
        break;
      default:
        for (std::size_t i = 0; i < 30000; ++i) {
          const std::size_t at = i / 10 + random.next(1500);
          out.ask(all[at % all.size()]);
        }
        break;
    }
    for (std::size_t i = 0; i < 1000; ++i) all[random.next(all.size())] = fresh();
  }
  return out.finish();
}

// What LRU is best at: the deeper in the stack, the rarer; every object the same.
Trace recency(std::uint64_t seed) {
  Writer out("recency", seed);
  Random& random = out.random;
  std::vector<std::uint32_t> stack;  // most recent last
  for (std::size_t i = 0; i < 200000; ++i) {
    const double depth = log_uniform(random, 1, 30000);
    const auto at = static_cast<std::size_t>(depth);
    std::uint32_t object = 0;
    if (at > stack.size() || uniform(random) < 0.05) {
      object = out.object(1, 0);
    } else {
      object = stack[stack.size() - at];
      stack.erase(stack.end() - static_cast<std::ptrdiff_t>(at));
    }
    stack.push_back(object);
    out.ask(object);
  }
  return out.finish();
}

// Builds of a project that changes: each build asks for every unit once; a change makes some units new for
// ever.
Trace rebuilds(std::uint64_t seed) {
  Writer out("rebuilds", seed);
  Random& random = out.random;
  struct Project {
    std::vector<std::uint32_t> units;
    std::vector<double> sizes;
    std::vector<double> costs;
  };
  std::vector<Project> projects(6);
  for (Project& project : projects) {
    const std::size_t units = 100 + random.next(500);
    for (std::size_t i = 0; i < units; ++i) {
      project.sizes.push_back(std::exp(10 + 1.4 * normal(random)));
      project.costs.push_back(3e6 * std::pow(project.sizes.back(), 0.5) * std::exp(normal(random)));
      project.units.push_back(out.object(project.sizes.back(), project.costs.back()));
    }
  }
  const Zipf favourite(projects.size(), 0.7);
  while (out.asked() < 250000) {
    Project& project = projects[favourite.draw(random)];
    const double share = uniform(random) < 0.15 ? 0.6 : 0.02;  // a header that all include, or a source
    for (std::size_t i = 0; i < project.units.size(); ++i) {
      if (uniform(random) < share * 0.5) project.units[i] = out.object(project.sizes[i], project.costs[i]);
      out.ask(project.units[i]);
    }
  }
  return out.finish();
}

// Programs of many users: each launch asks for all of an application's programs in order; few and large
// entries.
Trace launches(std::uint64_t seed) {
  Writer out("launches", seed);
  Random& random = out.random;
  std::vector<std::vector<std::uint32_t>> applications(150);
  const auto fresh = [&] {
    const double size = log_uniform(random, 4e3, 4e6);
    return out.object(size, 2e7 * std::pow(size / 4e3, 0.3) * std::exp(1.2 * normal(random)));
  };
  for (auto& programs : applications) {
    const std::size_t count = 5 + static_cast<std::size_t>(log_uniform(random, 1, 200));
    for (std::size_t i = 0; i < count; ++i) programs.push_back(fresh());
  }
  const Zipf zipf(applications.size(), 0.8);
  for (std::size_t launch = 0; launch < 5000; ++launch) {
    auto& programs = applications[zipf.draw(random)];
    if (uniform(random) < 0.02) {
      for (auto& program : programs) {
        if (uniform(random) < 0.5) program = fresh();
      }
    }
    for (const std::uint32_t program : programs) out.ask(program);
  }
  return out.finish();
}

// Nothing lives long: every object is asked for a few times within a moment and never again.
Trace bursts(std::uint64_t seed) {
  Writer out("bursts", seed);
  Random& random = out.random;
  std::vector<std::uint32_t> recent(400, ~0U);
  for (std::size_t i = 0; i < 70000; ++i) {
    const std::uint32_t object = out.object(1, 0);
    recent[i % recent.size()] = object;
    out.ask(object);
    for (int again = 0; again < 2; ++again) {
      const std::uint32_t other = recent[random.next(recent.size())];
      if (other != ~0U) out.ask(other);
    }
  }
  return out.finish();
}

// All of it in little, for tests: favourites of all sizes and costs, a loop, a scan.
Trace small(std::uint64_t seed) {
  Writer out("small", seed);
  Random& random = out.random;
  const auto fresh = [&] { return out.object(1 + random.next(2000), log_uniform(random, 1e6, 1e9)); };
  std::vector<std::uint32_t> all;
  for (std::size_t i = 0; i < 600; ++i) all.push_back(fresh());
  const Zipf zipf(all.size(), 0.9);
  while (out.asked() < 9000) {
    for (std::size_t i = 0; i < 700; ++i) out.ask(all[zipf.draw(random)]);
    for (std::size_t i = 0; i < 300; ++i) out.ask(all[300 + i % 150]);
    for (std::size_t i = 0; i < 100; ++i) out.ask(fresh());
    for (std::size_t i = 0; i < 20; ++i) std::swap(all[random.next(600)], all[random.next(600)]);
  }
  return out.finish();
}

}  // namespace

const std::vector<Synthetic> kSynthetic = {
    {"zipf_drift", "drifting favourites, size and cost independent"},
    {"zipf_plain", "drifting favourites, all equal"},
    {"memo_scan", "small results of any cost, with scans"},
    {"loop", "one loop, again and again"},
    {"phases", "loops, favourites and moving working sets in turn"},
    {"recency", "the deeper in the LRU stack the rarer, all equal"},
    {"rebuilds", "projects built over and over while they change"},
    {"bursts", "a few requests within a moment and never again, all equal"},
    {"small", "all of it in little, for tests"},
    {"launches", "applications that ask for all their programs at every start"},
};

Result<Trace> make_trace(const std::string& name, std::uint64_t seed) {
  if (name == "zipf_drift") return zipf_drift(seed, true);
  if (name == "zipf_plain") return zipf_drift(seed, false);
  if (name == "memo_scan") return memo_scan(seed);
  if (name == "loop") return loop(seed);
  if (name == "phases") return phases(seed);
  if (name == "recency") return recency(seed);
  if (name == "rebuilds") return rebuilds(seed);
  if (name == "bursts") return bursts(seed);
  if (name == "small") return small(seed);
  if (name == "launches") return launches(seed);
  return fail(Code::not_found, "make a trace: no kind is named " + name);
}

}  // namespace larder::replay
