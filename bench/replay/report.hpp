// A Report is what was replayed of one trace, and how it is shown: as a table, as JSON, as a picture.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "bench/replay/simulate.hpp"
#include "bench/replay/trace.hpp"

namespace larder::replay {

struct Line {
  std::string name;       // of the policy, or of the foresight
  bool is_floor = false;  // knows the future
  std::vector<Run> runs;  // one for each size; of a floor only the outcome counts
};

struct Report {
  std::string trace;
  std::size_t requests = 0;
  std::size_t objects = 0;
  std::uint64_t footprint = 0;
  bool has_cost = false;
  std::vector<double> percents;  // of the footprint
  std::vector<Line> lines;
};

void print_table(const Report& report, std::FILE* out);
// One object: {"schema": 1, "traces": [...]}; docs/policies.md names its fields.
void print_json(const std::vector<Report>& reports, std::FILE* out);
// Cost missed by size: as a share of all, and relative to LRU where it was replayed.
std::string draw(const Report& report);

}  // namespace larder::replay
