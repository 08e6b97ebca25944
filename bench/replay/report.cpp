#include "bench/replay/report.hpp"

namespace larder::replay {

void print_table(const Report& report, std::FILE* out) {
  std::fprintf(
      out, "%s: %zu requests for %zu objects, %.1f MB; %s\n", report.trace.c_str(), report.requests,
      report.objects, static_cast<double>(report.footprint) / 1e6,
      report.has_cost ? "misses of objects / bytes / cost" : "no cost in it: misses of objects / bytes");
  std::fprintf(out, "  %-14s", "");
  for (const double percent : report.percents) std::fprintf(out, "  %18.1f %%", percent);
  std::fprintf(out, "   ns/request\n");
  for (const Line& line : report.lines) {
    std::fprintf(out, "  %-14s", line.name.c_str());
    double slowest = 0;
    for (const Run& run : line.runs) {
      std::fprintf(out, "  %.4f %.4f ", run.outcome.objects(), run.outcome.bytes());
      if (report.has_cost) {
        std::fprintf(out, "%.4f", run.outcome.cost());
      } else {
        std::fprintf(out, "   -  ");
      }
      slowest = run.ns_per_request > slowest ? run.ns_per_request : slowest;
    }
    if (line.is_floor) {
      std::fprintf(out, "            -\n");
    } else {
      std::fprintf(out, "   %10.0f\n", slowest);
    }
  }
}

namespace {

void print_run(const Line& line, const Run& run, std::FILE* out) {
  std::fprintf(out, "{\"objects\": %.6f, \"bytes\": %.6f, \"cost\": %.6f", run.outcome.objects(),
               run.outcome.bytes(), run.outcome.cost());
  if (!line.is_floor) {
    std::fprintf(out,
                 ", \"missed\": %llu, \"evicted\": %llu, \"would_have_hit\": %llu, \"ns_per_request\": %.1f, "
                 "\"bytes_per_entry\": %.1f",
                 static_cast<unsigned long long>(run.outcome.missed),
                 static_cast<unsigned long long>(run.stats.evicted_entries),
                 static_cast<unsigned long long>(run.stats.ghost_hits), run.ns_per_request,
                 run.memory_per_entry);
  }
  std::fputs("}", out);
}

}  // namespace

void print_json(const std::vector<Report>& reports, std::FILE* out) {
  std::fputs("{\"schema\": 1, \"traces\": [", out);
  const char* next_trace = "\n";
  for (const Report& report : reports) {
    std::fprintf(out,
                 "%s{\"name\": \"%s\", \"requests\": %zu, \"objects\": %zu, \"footprint_bytes\": %llu, "
                 "\"has_cost\": %s, \"percents\": [",
                 next_trace, report.trace.c_str(), report.requests, report.objects,
                 static_cast<unsigned long long>(report.footprint), report.has_cost ? "true" : "false");
    next_trace = ",\n";
    for (std::size_t i = 0; i < report.percents.size(); ++i) {
      std::fprintf(out, "%s%g", i == 0 ? "" : ", ", report.percents[i]);
    }
    std::fputs("], \"policies\": {", out);
    const char* next_line = "\n  ";
    for (const Line& line : report.lines) {
      std::fprintf(out, "%s\"%s\": [", next_line, line.name.c_str());
      next_line = ",\n  ";
      for (std::size_t i = 0; i < line.runs.size(); ++i) {
        if (i != 0) std::fputs(", ", out);
        print_run(line, line.runs[i], out);
      }
      std::fputs("]", out);
    }
    std::fputs("}}", out);
  }
  std::fputs("\n]}\n", out);
}

}  // namespace larder::replay
