// larder_replay plays traces against the policies and prints what each would have missed.
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "bench/replay/report.hpp"
#include "bench/replay/simulate.hpp"
#include "bench/replay/trace.hpp"
#include "policy/kind.hpp"

namespace larder::replay {
namespace {

constexpr const char* kUsage =
    "usage: larder_replay [option...] trace...\n"
    "       larder_replay --speed [entries...]\n"
    "A trace is a .ct16 or .ct16.zst file or the name of one that is made up (see --list).\n"
    "  --policy NAME     this policy; may be repeated (default: all but lru_vector,\n"
    "                    whose misses are lru's; grouped only where the keys name groups)\n"
    "  --size PERCENT    of the footprint; may be repeated (default: 0.5 2 10 30)\n"
    "  --late            tell of hits late, as a tier whose hits take no lock\n"
    "  --low-water PART  evict to this part of the size (default: 1, just enough)\n"
    "  --ghosts COUNT    remember so many evicted entries (default: as many as are kept)\n"
    "  --seed N          for made-up traces and for the policies (default: 1)\n"
    "  --no-floor        leave out those who know the future\n"
    "  --json            one JSON object instead of tables\n"
    "  --svg FOLDER      one picture per trace, FOLDER/<trace>.svg\n"
    "  --write FILE      replay nothing: write the trace there, as .ct16\n"
    "  --list            the made-up traces and the policies\n"
    "  --speed           time and memory per operation, with 10000 and 1000000 entries unless told "
    "otherwise\n";

struct Asked {
  std::vector<std::string> traces;
  std::vector<policy::Kind> policies;
  std::vector<double> percents;
  policy::BudgetOptions budget;
  Telling telling = Telling::at_once;
  bool with_floor = true;
  bool as_json = false;
  bool list = false;
  bool speed = false;
  std::string svg_folder;
  std::string write_to;
};

// Exits with 2 and a sentence when the arguments make no sense.
[[noreturn]] void refuse(std::string_view word, const char* why) {
  std::fprintf(stderr, "larder_replay: %.*s: %s\n%s", static_cast<int>(word.size()), word.data(), why,
               kUsage);
  std::exit(2);
}

double number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    refuse(text, "no number");
  }
  return value;
}

Asked parse(const std::vector<std::string>& words) {
  Asked asked;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const auto value = [&]() -> const std::string& {
      if (i + 1 == words.size()) refuse(word, "needs a value");
      return words[++i];
    };
    if (word == "--policy") {
      const auto kind = policy::from_name(value());
      if (!kind) refuse(words[i], "no such policy");
      asked.policies.push_back(*kind);
    } else if (word == "--size") {
      asked.percents.push_back(number(value()));
    } else if (word == "--low-water") {
      asked.budget.low_water = number(value());
    } else if (word == "--ghosts") {
      asked.budget.ghosts_max = static_cast<std::size_t>(number(value()));
    } else if (word == "--seed") {
      asked.budget.seed = static_cast<std::uint64_t>(number(value()));
    } else if (word == "--svg") {
      asked.svg_folder = value();
    } else if (word == "--write") {
      asked.write_to = value();
    } else if (word == "--late") {
      asked.telling = Telling::late;
    } else if (word == "--no-floor") {
      asked.with_floor = false;
    } else if (word == "--json") {
      asked.as_json = true;
    } else if (word == "--list") {
      asked.list = true;
    } else if (word == "--speed") {
      asked.speed = true;
    } else if (word.starts_with("-")) {
      refuse(word, "no such option");
    } else {
      asked.traces.push_back(word);
    }
  }
  if (asked.percents.empty()) asked.percents = {0.5, 2, 10, 30};
  if (asked.policies.empty()) {
    for (const policy::Named& one : policy::kinds()) {
      if (one.kind != policy::Kind::lru_vector) asked.policies.push_back(one.kind);
    }
  }
  return asked;
}

Report replay(const Trace& trace, const Asked& asked) {
  Report report{.trace = trace.name,
                .requests = trace.requests.size(),
                .objects = trace.objects.size(),
                .footprint = trace.footprint(),
                .has_cost = trace.has_cost(),
                .percents = asked.percents,
                .lines = {}};
  const auto bytes_max = [&](double percent) {
    return std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(static_cast<double>(report.footprint) * percent / 100));
  };
  const auto foresee_line = [&](const char* name, Foresight foresight) {
    Line line{.name = name, .is_floor = true, .runs = {}};
    for (const double percent : asked.percents) {
      line.runs.emplace_back().outcome = foresee(trace, bytes_max(percent), foresight);
    }
    report.lines.push_back(std::move(line));
  };
  for (const policy::Kind kind : asked.policies) {
    if (kind == policy::Kind::grouped && !trace.has_groups()) continue;
    Line line{.name = std::string(policy::name(kind)), .is_floor = false, .runs = {}};
    for (const double percent : asked.percents) {
      policy::BudgetOptions options = asked.budget;
      options.policy = kind;
      options.limits.bytes = bytes_max(percent);
      line.runs.push_back(simulate(trace, options, asked.telling));
    }
    report.lines.push_back(std::move(line));
  }
  if (asked.with_floor) {
    foresee_line("belady", Foresight::time);
    if (trace.has_size()) foresee_line("belady_size", Foresight::time_size);
    if (trace.has_cost()) foresee_line("belady_cost", Foresight::cost);
  }
  return report;
}

int print_speed(const Asked& asked) {
  std::vector<std::uint32_t> counts;
  for (const std::string& word : asked.traces) counts.push_back(static_cast<std::uint32_t>(number(word)));
  if (counts.empty()) counts = {10000, 1000000};
  for (const std::uint32_t entries : counts) {
    std::printf("%u entries      touch ns  exchange ns  bytes/entry  ghost bytes/entry\n", entries);
    for (const policy::Named& one : policy::kinds()) {
      if (one.kind == policy::Kind::lru_vector && entries > 20000) continue;  // O(entries) by design
      const Speed speed = measure_speed(one.kind, std::max(entries, 1U));
      std::printf("  %-14s %8.0f %12.0f %12.1f %18.1f\n", std::string(one.name).c_str(), speed.touch_ns,
                  speed.exchange_ns, speed.memory_per_entry, speed.ghosts_per_entry);
    }
  }
  return 0;
}

int print_list() {
  for (const Synthetic& one : kSynthetic) std::printf("trace   %-12s %s\n", one.name, one.what);
  for (const policy::Named& one : policy::kinds()) {
    std::printf("policy  %-12s %s\n", std::string(one.name).c_str(), std::string(one.what).c_str());
  }
  return 0;
}

int run(const Asked& asked) {
  std::vector<Report> reports;
  for (const std::string& name : asked.traces) {
    const bool is_file = name.find_first_of("/.") != std::string::npos;
    const Result<Trace> trace = is_file ? load_trace(name) : make_trace(name, asked.budget.seed);
    if (!trace) {
      std::fprintf(stderr, "larder_replay: %s\n", trace.error().what.c_str());
      return 2;
    }
    if (!asked.write_to.empty()) {
      if (const auto written = save_trace(*trace, asked.write_to); written) return 0;
      std::fprintf(stderr, "larder_replay: write %s: failed\n", asked.write_to.c_str());
      return 2;
    }
    reports.push_back(replay(*trace, asked));
    if (!asked.as_json) print_table(reports.back(), stdout);
    if (asked.svg_folder.empty()) continue;
    const std::filesystem::path path = std::filesystem::path(asked.svg_folder) / (trace->name + ".svg");
    std::ofstream file(path);
    file << draw(reports.back());
    if (!file.flush()) {
      std::fprintf(stderr, "larder_replay: write %s: failed\n", path.c_str());
      return 2;
    }
  }
  if (asked.as_json) print_json(reports, stdout);
  return 0;
}

}  // namespace
}  // namespace larder::replay

int main(int argc, char** argv) {
  using namespace larder::replay;
  const Asked asked = parse(std::vector<std::string>(argv + 1, argv + argc));
  if (asked.list) return print_list();
  if (asked.speed) return print_speed(asked);
  if (asked.traces.empty()) refuse("trace", "none given");
  return run(asked);
}
