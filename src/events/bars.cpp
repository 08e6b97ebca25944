// Histograms for people: values with units, and bars.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>

#include "events/histogram.hpp"

namespace larder {
namespace {

struct Scale {
  double factor;
  const char* name;
};

std::string print(double value, const char* name) {
  char text[48];
  const int digits = value < 9.995 && value != static_cast<double>(static_cast<long long>(value)) ? 1 : 0;
  std::snprintf(text, sizeof text, "%.*f%s", digits, value, name);
  return text;
}

// The greatest scale that leaves at least 1 in front of its name.
std::string scaled(std::uint64_t value, std::span<const Scale> scales) {
  const auto number = static_cast<double>(value);
  std::size_t chosen = 0;
  while (chosen + 1 < scales.size() && number >= scales[chosen + 1].factor * 0.9995) ++chosen;
  return print(number / scales[chosen].factor, scales[chosen].name);
}

// Where rows may begin, ascending from 0: powers of two for bytes, 1-2-5 steps for the rest.
std::vector<std::uint64_t> borders(Unit unit) {
  std::vector<std::uint64_t> all{0, 1};
  for (std::uint64_t decade = 1; unit != Unit::bytes; decade *= 10) {
    if (decade != 1) all.push_back(decade);
    if (decade >= 10'000'000'000'000'000'000u) break;
    all.push_back(2 * decade);
    all.push_back(5 * decade);
  }
  for (unsigned bit = 1; unit == Unit::bytes && bit < 64; ++bit) all.push_back(std::uint64_t{1} << bit);
  return all;
}

struct Row {
  std::uint64_t lower;
  std::uint64_t upper;  // the next row's lower; 0: none
  std::uint64_t times;
};

std::vector<Row> rows_of(const std::vector<Histogram::Bucket>& buckets, Unit unit, std::size_t rows_max) {
  std::vector<std::uint64_t> edges = borders(unit);
  const auto begin_of_last = std::ranges::upper_bound(edges, buckets.back().middle());
  const auto begin_of_first = std::ranges::upper_bound(edges, buckets.front().middle()) - 1;
  const std::uint64_t end = begin_of_last == edges.end() ? 0 : *begin_of_last;
  edges = {begin_of_first, begin_of_last};
  while (edges.size() > std::max<std::size_t>(rows_max, 1)) {  // every second border goes
    std::size_t kept = 0;
    for (std::size_t i = 0; i < edges.size(); i += 2) edges[kept++] = edges[i];
    edges.resize(kept);
  }
  std::vector<Row> rows;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    rows.push_back({edges[i], i + 1 < edges.size() ? edges[i + 1] : end, 0});
  }
  auto row = rows.begin();
  for (const Histogram::Bucket& bucket : buckets) {
    while (row->upper != 0 && bucket.middle() >= row->upper) ++row;
    row->times += bucket.times;
  }
  return rows;
}

}  // namespace

std::string to_text(std::uint64_t value, Unit unit) {
  static constexpr Scale kCounts[] = {{1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "G"}, {1e12, "T"}, {1e15, "P"}};
  static constexpr Scale kBytes[] = {{1, " B"},
                                     {1024.0, " KiB"},
                                     {1048576.0, " MiB"},
                                     {1073741824.0, " GiB"},
                                     {1099511627776.0, " TiB"},
                                     {1125899906842624.0, " PiB"}};
  static constexpr Scale kTimes[] = {{1, " ns"}, {1e3, " us"}, {1e6, " ms"}, {1e9, " s"}};
  switch (unit) {
    case Unit::count:
      return scaled(value, kCounts);
    case Unit::bytes:
      return scaled(value, kBytes);
    case Unit::nanoseconds:
      return scaled(value, kTimes);
  }
  return {};
}

std::string to_bars(const Histogram& histogram, Unit unit, std::size_t rows_max, std::size_t width) {
  const Histogram reading = histogram;
  const std::vector<Histogram::Bucket> buckets = reading.buckets();
  if (buckets.empty()) return "nothing recorded\n";
  const auto text = [&](double q) { return to_text(reading.quantile(q), unit); };
  std::string out = to_text(reading.count(), Unit::count) + " recorded, least " + text(0) + ", median " +
                    text(0.5) + ", 90% " + text(0.9) + ", 99% " + text(0.99) + ", greatest " + text(1) + "\n";
  const std::vector<Row> rows = rows_of(buckets, unit, rows_max);
  const std::uint64_t longest = std::ranges::max(rows, {}, &Row::times).times;
  const auto all = static_cast<double>(reading.count());
  for (const Row& row : rows) {
    const double part = static_cast<double>(row.times) / static_cast<double>(longest);
    auto length = static_cast<std::size_t>(std::lround(part * static_cast<double>(width)));
    if (row.times != 0 && length == 0) length = 1;
    const std::string bar = std::string(length, '#') + std::string(width - std::min(length, width), ' ');
    char figures[96];
    std::snprintf(figures, sizeof figures, "%9s .. %-9s |", to_text(row.lower, unit).c_str(),
                  row.upper == 0 ? "" : to_text(row.upper, unit).c_str());
    out += figures + bar;
    std::snprintf(figures, sizeof figures, "| %7s %5.1f%%\n", to_text(row.times, Unit::count).c_str(),
                  100 * static_cast<double>(row.times) / all);
    out += figures;
  }
  return out;
}

}  // namespace larder
