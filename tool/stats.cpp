#include <algorithm>
#include <cstdio>

#include "cache/counts.hpp"
#include "recipe/readable.hpp"
#include "settings/units.hpp"
#include "tool/columns.hpp"
#include "tool/place.hpp"
#include "tool/shards.hpp"
#include "tool/shown.hpp"

namespace larder::tool {
namespace {

constexpr Outcome kOutcomes[] = {Outcome::memory_hit, Outcome::disk_hit, Outcome::bundle_hit,
                                 Outcome::remote_hit, Outcome::joined,   Outcome::made,
                                 Outcome::missed,     Outcome::failed,   Outcome::bypassed};
constexpr unsigned kReasonLast = static_cast<unsigned>(Reason::negative);

struct Stats {
  std::string root;
  bool exists = false;
  StoreUsage usage;
  Counts counts;
};

template <typename OnReason>
void each_reason(const CounterTotals& totals, const OnReason& on_reason) {
  for (unsigned number = 1; number <= kReasonLast; ++number) {
    const auto reason = static_cast<Reason>(number);
    if (totals[reason] != 0) on_reason(reason, totals[reason]);
  }
}

template <typename OnMeasure>
void each_measure(const HistogramSet& histograms, const OnMeasure& on_measure) {
  for (std::size_t number = 0; number < kMeasureCount; ++number) {
    const auto measure = static_cast<Measure>(number);
    if (histograms[measure].count() != 0) on_measure(measure, histograms[measure]);
  }
}

void write_json(Json& json, const Histogram& histogram) {
  json.member("count", histogram.count()).member("sum", histogram.sum()).member("mean", histogram.mean());
  for (const auto& [label, share] :
       {std::pair{"least", 0.0}, {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"greatest", 1.0}}) {
    json.member(label, histogram.quantile(share));
  }
  json.key("buckets").begin_array();
  for (const Histogram::Bucket& bucket : histogram.buckets()) {
    json.begin_array().value(bucket.lower).value(bucket.upper).value(bucket.times).end_array();
  }
  json.end_array();
}

void show_json(const Call& call, const Stats& stats) {
  const CounterTotals& totals = stats.counts.totals;
  Json json = begin_json();
  json.member("directory", stats.root).member("exists", stats.exists);
  json.member("entries", stats.usage.entries)
      .member("bytes", stats.usage.bytes)
      .member("is_exact", stats.usage.is_exact)
      .member("size_max_bytes", *call.options().size_max)
      .member("counted_since_unix_ns", stats.counts.since_unix_ns)
      .member("requests", totals.requests())
      .member("hits", totals.hits())
      .member("saved_ns", totals.saved().count());
  json.key("outcomes").begin_object();
  for (const Outcome outcome : kOutcomes) {
    json.key(name(outcome))
        .begin_object()
        .member("count", totals[outcome])
        .member("saved_ns", totals.saved(outcome).count())
        .end_object();
  }
  json.end_object().key("reasons").begin_object();
  each_reason(totals, [&](Reason reason, std::uint64_t count) { json.member(name(reason), count); });
  json.end_object().key("counters").begin_object();
  for (std::size_t number = 0; number < kCounterCount; ++number) {
    const auto counter = static_cast<Counter>(number);
    json.member(name(counter), totals[counter]);
  }
  json.end_object().key("histograms").begin_object();
  each_measure(*stats.counts.histograms, [&](Measure measure, const Histogram& histogram) {
    json.key(name(measure)).begin_object();
    json.member("unit", unit_of(measure) == Unit::bytes ? "bytes" : "ns");
    write_json(json, histogram);
    json.end_object();
  });
  json.end_object().end_object();
  call.console().out(std::move(json).text());
}

std::string share(std::uint64_t part, std::uint64_t all) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%",
                all == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(all));
  return text;
}

std::string duration_of(const CounterTotals& totals, Counter counter) {
  return settings::readable_duration(Nanoseconds(static_cast<std::int64_t>(totals[counter])));
}

std::string kept_text(const Call& call, const Stats& stats) {
  std::string text = usage_text(stats.usage);
  if (const std::uint64_t most = *call.options().size_max; most != 0) {
    text += " of " + settings::readable_size(most) + " (" + share(stats.usage.bytes, most) + ')';
  }
  return text;
}

// A word for where an answer came from.
std::string_view place_of(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::memory_hit:
      return "memory";
    case Outcome::disk_hit:
      return "disk";
    case Outcome::bundle_hit:
      return "bundle";
    case Outcome::remote_hit:
      return "remote";
    default:
      return name(outcome);
  }
}

void show_text(const Call& call, const Stats& stats) {
  Console& console = call.console();
  const CounterTotals& totals = stats.counts.totals;
  const std::uint64_t requests = totals.requests();
  Columns head({{""}, {""}});
  head.add({"directory", to_readable(stats.root, 0, 4096)});
  head.add({"kept", kept_text(call, stats)});
  if (stats.counts.since_unix_ns != 0) head.add({"counted since", date(stats.counts.since_unix_ns)});
  head.add({"requests", std::to_string(requests) + ", of these hits " + share(totals.hits(), requests)});
  head.add({"saved", settings::readable_duration(totals.saved()) + "; making took " +
                         duration_of(totals, Counter::making_ns)});
  if (totals[Counter::waits] != 0) {
    head.add({"waited", duration_of(totals, Counter::wait_ns) + " in " +
                            std::to_string(totals[Counter::waits]) + " requests for others' making"});
  }
  if (totals[Counter::evicted] != 0) {
    head.add({"evicted", entries_text(totals[Counter::evicted]) + ", " +
                             settings::readable_size(totals[Counter::evicted_bytes]) + ", that took " +
                             duration_of(totals, Counter::evicted_cost_ns) + " to make"});
  }
  if (totals[Counter::damaged] != 0) head.add({"damaged", entries_text(totals[Counter::damaged])});
  console.out(head.text());
  if (requests != 0) {
    console.out('\n' + console.strong("answered by") + '\n');
    Columns outcomes({{""}, {""}, {"", true}, {"", true}, {""}});
    for (const Outcome outcome : kOutcomes) {
      if (totals[outcome] == 0) continue;
      const Nanoseconds saved = totals.saved(outcome);
      outcomes.add({"", std::string(place_of(outcome)), std::to_string(totals[outcome]),
                    share(totals[outcome], requests),
                    saved.count() == 0 ? "" : "saved " + settings::readable_duration(saved)});
    }
    console.out(outcomes.text());
  }
  Columns reasons({{""}, {""}, {"", true}});
  each_reason(totals, [&](Reason reason, std::uint64_t count) {
    reasons.add({"", std::string(name(reason)), std::to_string(count)});
  });
  if (!reasons.empty()) {
    console.out('\n' + console.strong("not a hit, or not kept, because") + '\n');
    console.out(reasons.text());
  }
  const unsigned width = console.out_width();
  const std::size_t bars = width == 0 ? 30 : std::clamp<std::size_t>(width < 51 ? 0 : width - 51, 4, 40);
  each_measure(*stats.counts.histograms, [&](Measure measure, const Histogram& histogram) {
    std::string title(name(measure));
    std::replace(title.begin(), title.end(), '_', ' ');
    console.out('\n' + console.strong(title) + '\n');
    std::string_view rest;
    const std::string text = to_bars(histogram, unit_of(measure), 12, bars);
    for (rest = text; !rest.empty(); rest.remove_prefix(rest.find('\n') + 1)) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      console.out((width == 0 ? std::string(line) : cut(line, width)) + '\n');
    }
  });
}

int run_stats(Call& call) {
  const auto place = open_place(call, Access::look);
  if (!place) return kError;
  Stats stats;
  stats.root = place->root;
  stats.counts.histograms = std::make_unique<HistogramSet>();
  if (place->store != nullptr) {
    stats.exists = true;
    stats.usage = seen_usage(*place, kNamesMax);
    stats.counts = read_counts(place->store->notes());
  } else {
    stats.usage.is_exact = true;
  }
  call.wants_json() ? show_json(call, stats) : show_text(call, stats);
  if (!stats.exists && !call.wants_json()) tell_no_store(call, *place);
  return kDone;
}

}  // namespace

extern const Command kStatsCommand;
const Command kStatsCommand{
    "stats",
    "show what is kept, how requests were answered, and what that saved",
    "Shows how many entries and bytes are on disk, hits by tier, why the rest were no hits, the making that "
    "was saved, and histograms. The counts are those of every process that used this directory since it was "
    "made; a running process adds its own after one second, later every ten.",
    {},
    true,
    false,
    run_stats,
    "larder stats\nlarder stats --json"};

}  // namespace larder::tool
