#include <cxxabi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "tool/columns.hpp"
#include "tool/command.hpp"
#include "tool/json.hpp"

namespace larder::tool {
namespace {

constexpr Argument kArguments[] = {
    {"FILE", "",
     "what a program built by larder cc --profile-reuse left behind; larder-reuse.profile when not given"},
};

constexpr double kLookNanoseconds = 3;  // what each call costs that goes through a table

struct Gain {
  std::string name;
  double calls = 0;
  double keys = 0;
  double seconds = 0;
  double hit_ratio() const { return calls > 0 ? std::max(0.0, 1 - keys / calls) : 0; }
  // What was spent in calls that a large enough table would have answered, less the looking.
  double to_save() const { return std::max(0.0, seconds * hit_ratio() - calls * kLookNanoseconds * 1e-9); }
};

// The line that is none, or 0. Several runs add up, and may have met the same keys.
std::size_t read_profile(std::istream& file, std::map<std::string, Gain>& gains) {
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream fields(line);
    std::string version;
    std::string name;
    std::uint64_t numbers[8];
    if (!std::getline(fields, version, '\t') || version != "reuse1" || !std::getline(fields, name, '\t'))
      return number;
    for (std::uint64_t& one : numbers)
      if (!(fields >> one)) return number;
    if (fields >> version) return number;
    Gain& gain = gains[name];
    gain.name = name;
    gain.calls += static_cast<double>(numbers[1]);
    gain.keys = std::max(gain.keys, static_cast<double>(numbers[2]));
    gain.seconds += static_cast<double>(numbers[7]) * 1e-9;
  }
  return 0;
}

std::string readable(const std::string& name) {
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
  if (!file) {
    return call.refuse("cannot read " + path, "it is not there, or not readable",
                       "build with larder cc --profile-reuse and run the program first");
  }
  std::map<std::string, Gain> by_name;
  if (const std::size_t line = read_profile(file, by_name); line != 0) {
    return call.refuse(path + ":" + std::to_string(line) + " is not a line of a reuse profile",
                       "it is damaged, or another version of larder wrote it",
                       "remove the file and run the program again");
  }
  std::vector<Gain> gains;
  for (const auto& [name, gain] : by_name) gains.push_back(gain);
  std::sort(gains.begin(), gains.end(), [](const Gain& a, const Gain& b) {
    return a.to_save() != b.to_save() ? a.to_save() > b.to_save() : a.name < b.name;
  });
  if (call.wants_json()) {
    Json json = begin_json();
    json.key("functions").begin_array();
    for (const Gain& gain : gains) {
      json.begin_object()
          .member("name", gain.name)
          .member("calls", static_cast<std::uint64_t>(gain.calls))
          .member("keys", static_cast<std::uint64_t>(gain.keys))
          .member("hit_ratio", gain.hit_ratio())
          .member("seconds", gain.seconds)
          .member("seconds_to_save", gain.to_save())
          .end_object();
    }
    json.end_array().end_object();
    call.console().out(std::move(json).text());
    return gains.empty() ? kNo : kDone;
  }
  Columns columns(
      {{"TO SAVE", true}, {"SPENT", true}, {"CALLS", true}, {"KEYS", true}, {"HITS", true}, {"FUNCTION"}});
  for (const Gain& gain : gains) {
    columns.add({fixed(gain.to_save(), 3) + " s", fixed(gain.seconds, 3) + " s", fixed(gain.calls, 0),
                 fixed(gain.keys, 0), fixed(100 * gain.hit_ratio(), 1) + " %", readable(gain.name)});
  }
  call.console().out(columns.text());
  return gains.empty() ? kNo : kDone;
}

}  // namespace

extern const Command kReuseReportCommand;
const Command kReuseReportCommand{
    "reuse-report",
    "which functions a table would make faster",
    "Prints what a program built by larder cc --profile-reuse recorded, the most seconds to be saved first. "
    "Distinct "
    "keys are estimated, about 3 % off. The seconds assume a table that is large enough.",
    kArguments,
    true,
    false,
    run_report};

}  // namespace larder::tool
