#include <cxxabi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <vector>

#include "reuse/profile_line.hpp"
#include "tool/columns.hpp"
#include "tool/command.hpp"
#include "tool/json.hpp"

namespace larder::tool {
namespace {

constexpr Argument kReuseReportArguments[] = {
    {"FILE", "",
     "what a program built by larder cc --profile-reuse left behind; larder-reuse.profile when not given"},
};

struct Function {
  std::string name;
  reuse::ProfileLine line;  // its name is empty
};
// By name and fingerprint: functions of the same name in two sources, or of changed code, are two.
using Functions = std::map<std::pair<std::string, std::uint64_t>, reuse::ProfileLine>;

// The line that is none, or 0.
std::size_t read_profile(std::istream& file, Functions& functions) {
  std::string text;
  for (std::size_t number = 1; std::getline(file, text); ++number) {
    if (text.empty() || text[0] == '#') continue;
    reuse::ProfileLine run;
    if (!reuse::read_profile_line(text, run)) return number;
    const auto [known, is_first] = functions.try_emplace({std::string(run.name), run.fingerprint}, run);
    known->second.name = {};
    if (!is_first) reuse::add_run(known->second, run);
  }
  return 0;
}

// What C calls f would be read as the type that f stands for within names.
std::string readable(const std::string& name) {
  if (!name.starts_with("_Z")) return printable(name);
  int status = 0;
  char* const text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string result = text != nullptr && status == 0 ? text : name;
  std::free(text);
  return printable(result);
}

std::string fixed(double number, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, number);
  return text;
}

int run_report(Call& call) {
  const std::string path(call.has("FILE") ? call.value("FILE") : "larder-reuse.profile");
  std::ifstream file(path);
  if (!file || (file.peek(), file.bad())) {
    return call.refuse("cannot read " + path, "it is not there, or not readable",
                       "build with larder cc --profile-reuse and run the program first");
  }
  Functions by_name;
  if (const std::size_t line = read_profile(file, by_name); line != 0) {
    return call.refuse(path + ":" + std::to_string(line) + " is not a line of a reuse profile",
                       "it is damaged, or another version of larder wrote it",
                       "remove the file and run the program again");
  }
  std::vector<Function> functions;
  for (const auto& [key, line] : by_name) functions.push_back({key.first, line});
  std::stable_sort(functions.begin(), functions.end(), [](const Function& a, const Function& b) {
    return reuse::nanoseconds_to_save(a.line) > reuse::nanoseconds_to_save(b.line);
  });
  const auto seconds = [](double nanoseconds) { return nanoseconds * 1e-9; };
  if (call.wants_json()) {
    Json json = begin_json();
    json.key("functions").begin_array();
    for (const auto& [name, line] : functions) {
      json.begin_object()
          .member("name", name)
          .member("calls", line.calls)
          .member("keys", line.keys)
          .member("hit_ratio", reuse::hit_ratio(line))
          .member("seconds", seconds(static_cast<double>(line.nanoseconds)))
          .member("seconds_to_save", seconds(reuse::nanoseconds_to_save(line)))
          .end_object();
    }
    json.end_array().end_object();
    call.console().out(std::move(json).text());
    return functions.empty() ? kNo : kDone;
  }
  Columns columns(
      {{"TO SAVE", true}, {"SPENT", true}, {"CALLS", true}, {"KEYS", true}, {"HITS", true}, {"FUNCTION"}});
  for (const auto& [name, line] : functions) {
    columns.add({fixed(seconds(reuse::nanoseconds_to_save(line)), 3) + " s",
                 fixed(seconds(static_cast<double>(line.nanoseconds)), 3) + " s", std::to_string(line.calls),
                 std::to_string(line.keys), fixed(100 * reuse::hit_ratio(line), 1) + " %", readable(name)});
  }
  call.console().out(columns.text());
  return functions.empty() ? kNo : kDone;
}

}  // namespace

extern const Command kReuseReportCommand;
const Command kReuseReportCommand{
    "reuse-report",
    "which functions a table would make faster",
    "Prints what a program built by larder cc --profile-reuse recorded, the most seconds to be saved first. "
    "Distinct keys are estimated, about 3 % off. The seconds assume a table that is large enough.",
    kReuseReportArguments,
    true,
    false,
    run_report,
    "larder reuse-report\nlarder reuse-report --json my.profile"};

}  // namespace larder::tool
