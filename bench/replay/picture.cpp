// One picture per trace, two charts: the cost missed as a share of all, and relative to LRU. What we
// recommend is drawn strong, what nobody can beat dashed, the rest thin.
#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

#include "bench/replay/report.hpp"

namespace larder::replay {
namespace {

constexpr double kChartWidth = 330;
constexpr double kChartHeight = 330;
constexpr double kTop = 70;

struct Look {
  const char* name;
  const char* colour;
  double width;
  const char* dashes = "none";
};

constexpr Look kLooks[] = {
    {"adaptive", "#c2185b", 3},
    {"sampled", "#e67e22", 2.4},
    {"lru", "#111111", 2.4},
    {"gdsf", "#2e7d32", 1.4},
    {"gdsf_size", "#9ccc65", 1.4},
    {"s3fifo", "#1565c0", 1.4},
    {"sieve", "#29b6f6", 1.4},
    {"clock", "#8d6e63", 1.4},
    {"round_robin", "#bdbdbd", 1.4},
    {"grouped", "#7e57c2", 1.4},
    {"belady", "#616161", 1.4, "6 3"},
    {"belady_size", "#616161", 1.4, "2 3"},
    {"belady_cost", "#616161", 2, "8 3 2 3"},
};

Look look_of(const Line& line) {
  for (const Look& look : kLooks) {
    if (line.name == look.name) return look;
  }
  return {"", "#cccccc", 1.4};
}

[[gnu::format(printf, 2, 3)]] void put(std::string& out, const char* format, ...) {
  char text[512];
  va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  out += text;
}

struct Chart {
  double left;
  double low;
  double high;
  std::size_t columns;

  double x(std::size_t column) const {
    if (columns < 2) return left + kChartWidth / 2;
    return left + kChartWidth * static_cast<double>(column) / static_cast<double>(columns - 1);
  }
  double y(double value) const {
    return kTop + kChartHeight * (1 - (std::clamp(value, low, high) - low) / (high - low));
  }
};

void draw_frame(std::string& out, const Chart& chart, const Report& report, const char* title) {
  put(out, "<text x='%.0f' y='%.0f' class='title'>%s</text>\n", chart.left, kTop - 16, title);
  const double range = chart.high - chart.low;
  const double step = range > 1.2 ? 0.5 : range > 0.5 ? 0.2 : range > 0.2 ? 0.1 : 0.05;
  for (double at = std::ceil(chart.low / step - 1e-9) * step; at <= chart.high + 1e-9; at += step) {
    put(out, "<line x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f' class='grid'/>", chart.left,
        chart.left + kChartWidth, chart.y(at), chart.y(at));
    put(out, "<text x='%.1f' y='%.1f' class='left'>%.2f</text>\n", chart.left - 8, chart.y(at) + 4, at);
  }
  for (std::size_t i = 0; i < chart.columns; ++i) {
    put(out, "<text x='%.1f' y='%.1f' class='below'>%g %%</text>\n", chart.x(i), kTop + kChartHeight + 20,
        report.percents[i]);
  }
  put(out, "<text x='%.1f' y='%.1f' class='below'>size of the cache, of all that was asked for</text>\n",
      chart.left + kChartWidth / 2, kTop + kChartHeight + 40);
}

void draw_line(std::string& out, const Chart& chart, const Line& line, const std::vector<double>& values) {
  const Look look = look_of(line);
  put(out, "<polyline fill='none' stroke='%s' stroke-width='%.1f' stroke-dasharray='%s' points='",
      look.colour, look.width, look.dashes);
  for (std::size_t i = 0; i < values.size(); ++i) put(out, "%.1f,%.1f ", chart.x(i), chart.y(values[i]));
  out += "'/>\n";
}

std::vector<double> costs(const Line& line) {
  std::vector<double> all;
  for (const Run& run : line.runs) all.push_back(run.outcome.cost());
  return all;
}

}  // namespace

std::string draw(const Report& report) {
  const auto lru = std::find_if(report.lines.begin(), report.lines.end(),
                                [](const Line& line) { return line.name == "lru"; });
  double low = 1;
  double high = 0;
  double highest_ratio = 1.05;
  double lowest_ratio = 0.95;
  std::vector<std::vector<double>> shares;
  std::vector<std::vector<double>> ratios;
  for (const Line& line : report.lines) {
    shares.push_back(costs(line));
    ratios.push_back(shares.back());
    for (std::size_t i = 0; i < shares.back().size(); ++i) {
      low = std::min(low, shares.back()[i]);
      high = std::max(high, shares.back()[i]);
      if (lru == report.lines.end()) continue;
      ratios.back()[i] /= lru->runs[i].outcome.cost();
      lowest_ratio = std::min(lowest_ratio, ratios.back()[i]);
      highest_ratio = std::max(highest_ratio, ratios.back()[i]);
    }
  }
  const std::size_t columns = report.percents.size();
  const Chart share{60, std::max(0.0, low - 0.03), std::min(1.0, high + 0.03), columns};
  const Chart ratio{480, lowest_ratio - 0.02, std::min(highest_ratio, 1.3) + 0.02, columns};
  std::string out =
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 980 460' font-family='sans-serif' "
      "font-size='12'>\n"
      "<style>.grid{stroke:#e5e5e5} .title{font-size:14px;font-weight:bold} .left{text-anchor:end;fill:#555} "
      ".below{text-anchor:middle;fill:#555} .name{font-size:17px;font-weight:bold}</style>\n"
      "<rect width='980' height='460' fill='white'/>\n";
  put(out, "<text x='60' y='28' class='name'>%s</text>\n", report.trace.c_str());
  const char* what = report.has_cost ? "Making time missed" : "Requests missed";
  draw_frame(out, share, report, (std::string(what) + ", share of all").c_str());
  draw_frame(out, ratio, report, (std::string(what) + ", relative to LRU").c_str());
  double place = kTop + 6;
  for (std::size_t i = 0; i < report.lines.size(); ++i) {
    const Line& line = report.lines[i];
    draw_line(out, share, line, shares[i]);
    if (lru != report.lines.end()) draw_line(out, ratio, line, ratios[i]);
    const Look look = look_of(line);
    put(out,
        "<line x1='832' x2='856' y1='%.1f' y2='%.1f' stroke='%s' stroke-width='%.1f' stroke-dasharray='%s'/>",
        place - 4, place - 4, look.colour, look.width, look.dashes);
    put(out, "<text x='864' y='%.1f'>%s</text>\n", place, line.name.c_str());
    place += 22;
  }
  return out + "</svg>\n";
}

}  // namespace larder::replay
