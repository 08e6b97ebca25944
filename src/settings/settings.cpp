#include "settings/settings.hpp"

#include <algorithm>
#include <array>

#include "base/assert.hpp"
#include "settings/config_text.hpp"
#include "settings/suggest.hpp"
#include "settings/units.hpp"

namespace larder::settings {
namespace {

// Variables that are no settings, or another part's: not worth a warning.
constexpr std::string_view kConfigVariable = "LARDER_CONFIG";

// `what: why; what to do`, as set_value writes it, taken apart.
Problem to_problem(Origin origin, std::string where, const Row& row, std::string_view message) {
  message.remove_prefix(std::min(message.size(), row.name.size() + 2));
  const std::size_t border = message.rfind("; ");
  Problem problem;
  problem.origin = origin;
  problem.where = std::move(where);
  problem.what = std::string(row.name) + " cannot be set so";
  problem.why = std::string(message.substr(0, border));
  problem.advice = border == std::string_view::npos ? "write " + std::string(name(row.kind))
                                                    : std::string(message.substr(border + 2));
  return problem;
}

// No part of a problem is longer than what names a file takes, whatever was read.
void bound(std::string& part) {
  constexpr std::size_t kMost = 4096 + 256;
  if (part.size() <= kMost) return;
  part.resize(kMost);
  while (!part.empty() && (static_cast<unsigned char>(part.back()) & 0xc0) == 0x80) part.pop_back();
  part += "...";
}

class Resolver {
 public:
  explicit Resolver(const Surroundings& surroundings) : around_(surroundings) {
    set_defaults(settings_.values);
  }

  void take_files();
  void take_environment();
  void take_options(const Options& said);
  void settle();
  Settings result() && {
    for (Problem& problem : settings_.problems) {
      for (std::string* part : {&problem.where, &problem.what, &problem.why, &problem.advice}) bound(*part);
    }
    return std::move(settings_);
  }

 private:
  void say(const Row& row, std::string_view text, Origin origin, std::string place);
  bool take_file(const std::string& path, Origin origin);
  void tell_slips(const std::vector<std::string_view>& names);
  void take_assignment(const Assignment& one, const std::string& path, Origin origin);
  std::string find_project_file() const;
  void settle_places();
  void settle_persistent();
  void settle_limits();
  bool is_said(std::string_view setting) const {
    return settings_.source(setting).origin != Origin::fallback;
  }
  void set_source(std::string_view setting, Origin origin, std::string place) {
    settings_.sources[index_of(*find(setting))] = {origin, std::move(place)};
  }

  const Surroundings& around_;
  Settings settings_;
  bool disabled_outside_ = false;
};

void Resolver::say(const Row& row, std::string_view text, Origin origin, std::string place) {
  const Result<void> set = set_value(row, text, settings_.values);
  if (!set) {
    settings_.problems.push_back(to_problem(origin, std::move(place), row, set.error().what));
    return;
  }
  settings_.sources[index_of(row)] = {origin, std::move(place)};
}

std::string Resolver::find_project_file() const {
  std::string dir = around_.working_dir;
  const std::string* home = around_.variable("HOME");
  while (!dir.empty() && (home == nullptr || dir != *home)) {
    std::string path = dir + (dir == "/" ? "" : "/") + std::string(kProjectFile);
    // A file that cannot be read is found, too: it is worth a complaint.
    const Result<std::optional<std::string>> text = around_.read_config(path);
    if (!text || *text) return path;
    if (dir == "/") break;
    dir.erase(std::max<std::size_t>(dir.rfind('/'), 1));
  }
  return {};
}

void Resolver::take_files() {
  if (around_.is_privileged || !around_.read_config) return;
  const std::string project = find_project_file();
  const std::string user = user_config_path(around_);
  take_file(system_config_path(around_), Origin::system_file);
  if (!user.empty()) {
    const bool there = take_file(user, Origin::user_file);
    if (!there && around_.variable(kConfigVariable) != nullptr) {
      settings_.problems.push_back({Origin::environment, std::string(kConfigVariable),
                                    "the config file is not used", quoted(user) + " does not exist",
                                    "write the file, or unset LARDER_CONFIG"});
    }
  }
  if (!project.empty()) take_file(project, Origin::project_file);
}

bool Resolver::take_file(const std::string& path, Origin origin) {
  if (path[0] != '/') {
    settings_.problems.push_back({origin, std::string(kConfigVariable), "the config file is not used",
                                  quoted(path) + " is not absolute", "write a path that begins with /"});
    return true;
  }
  const Result<std::optional<std::string>> text = around_.read_config(path);
  if (!text) {
    const bool is_io = text.error().code == Code::io;
    settings_.problems.push_back({origin, path, "the config file is not used", text.error().what,
                                  is_io ? "make it readable for you, or name another"
                                        : "make it a regular file of yours that only you can write"});
    return true;
  }
  if (!*text) return false;
  const auto assignments = read_config_text(**text);
  if (!assignments) {
    const ConfigError& error = assignments.error();
    settings_.problems.push_back({origin, path + ':' + std::to_string(error.line),
                                  "the config file is not used", error.what, error.advice});
    return true;
  }
  settings_.files.insert(settings_.files.begin(), path);
  for (const Assignment& one : *assignments) take_assignment(one, path, origin);
  return true;
}

void Resolver::take_assignment(const Assignment& one, const std::string& path, Origin origin) {
  std::string place = path + ':' + std::to_string(one.line);
  const Row* row = find(one.name);
  if (row == nullptr) {
    const std::string_view meant = nearest_word(one.name, names());
    settings_.problems.push_back(
        {origin, std::move(place), "a setting is not used", "no setting is called " + quoted(one.name),
         meant.empty() ? "see `larder config` for their names" : "did you mean " + quoted(meant) + '?'});
    return;
  }
  if (origin == Origin::project_file && row->trust == Trust::user_only) {
    settings_.problems.push_back({origin, std::move(place), std::string(row->name) + " is not used",
                                  "a project file may come from anybody and cannot decide this",
                                  "write it in your own config file, or set " + variable(*row)});
    return;
  }
  if (!one.section.empty() && one.section != section(row->group)) {
    settings_.problems.push_back(
        {origin, std::move(place), std::string(row->name) + " is not used",
         "it stands below [" + shortened(one.section) + "], where it does not belong",
         "move it below [" + section(row->group) + "], or above the first heading"});
    return;
  }
  if (!one.problem.empty()) {
    std::string advice = one.advice;
    if (!one.bare.empty() && row->kind == Kind::boolean) {
      const Result<bool> meant = to_boolean(one.bare);
      advice = "write " + std::string(!meant ? "true or false" : *meant ? "true" : "false");
    }
    settings_.problems.push_back({origin, std::move(place), std::string(row->name) + " cannot be set so",
                                  one.problem, std::move(advice)});
    return;
  }
  say(*row, one.text, origin, std::move(place));
}

void Resolver::take_environment() {
  if (around_.is_privileged) return;
  std::array<const std::string*, kSettingCount> said{};  // the name of each row's variable, where one is set
  std::vector<std::string_view> others;
  for (const auto& [name, text] : around_.environment) {
    if (!name.starts_with("LARDER_")) continue;
    if (const Row* const row = find_by_variable(name)) {
      said[index_of(*row)] = &name;
    } else if (name != kConfigVariable && name.size() >= 10) {
      // Other parts of larder and its users have variables of their own: only what is nearly a setting's is a
      // slip.
      others.push_back(name);
    }
  }
  for (const Row& row : table()) {
    const std::string* const name = said[index_of(row)];
    // An empty variable says nothing.
    const std::string* const text = name == nullptr ? nullptr : around_.variable(*name);
    if (text == nullptr) continue;
    say(row, *text, Origin::environment, *name);
    if (row.name == "disable") disabled_outside_ = *settings_.values.disable;
  }
  if (!others.empty()) tell_slips(others);
}

void Resolver::tell_slips(const std::vector<std::string_view>& names) {
  constexpr std::size_t kLongestSlip = 64;  // to compare longer ones costs
  std::vector<std::string> words;
  for (const Row& row : table()) words.push_back(variable(row));
  words.emplace_back(kConfigVariable);
  for (const std::string_view name : names) {
    const std::string_view tail = name.substr(7);
    if (tail.size() > kLongestSlip) continue;
    for (const std::string_view word : words) {
      if (distance(tail, word.substr(7)) <= (tail.size() > 6 ? 2u : 1u)) {
        settings_.problems.push_back({Origin::environment, std::string(name), "a variable is not used",
                                      "no setting has the variable " + quoted(name),
                                      "did you mean " + quoted(word) + '?'});
        break;
      }
    }
  }
}

// The first path of a list of them that is not absolute; empty when there is none.
std::string relative_path(const Row& row, const Options& said) {
  if (row.kind != Kind::path_list) return {};
  const auto& paths = row.name == "bundles" ? said.bundles : said.bundle_keys;
  for (const std::string& path : *paths)
    if (!path.starts_with('/')) return path.empty() ? std::string(" ") : path;
  return {};
}

void Resolver::take_options(const Options& said) {
  for (const Row& row : table()) {
    if (!settings::is_said(row, said)) continue;
    std::string place = around_.face == Face::tool ? flag(row) : "the program";
    Options checked;
    if (const std::string relative = relative_path(row, said); !relative.empty()) {
      settings_.problems.push_back(
          {Origin::option, std::move(place), std::string(row.name) + " cannot be set so",
           quoted(relative) + " is not absolute", "write a path that begins with /"});
      continue;
    }
    // Through text, so that what a program says is checked like everything else; a path may hold a colon.
    const Result<void> fits =
        row.kind == Kind::path_list ? Result<void>() : set_value(row, value_text(row, said), checked);
    if (!fits) {
      settings_.problems.push_back(to_problem(Origin::option, std::move(place), row, fits.error().what));
      continue;
    }
    copy_value(row, said, settings_.values);
    settings_.sources[index_of(row)] = {Origin::option, std::move(place)};
  }
  if (disabled_outside_) {
    settings_.values.disable = true;
    set_source("disable", Origin::environment, "LARDER_DISABLE");
  }
}

void Resolver::settle_places() {
  Options& values = settings_.values;
  if (values.dir->empty()) {
    values.dir = around_.is_privileged ? std::string() : default_dir(around_);
    const bool by_xdg = !values.dir->empty() && around_.variable("XDG_CACHE_HOME") != nullptr &&
                        values.dir->starts_with(*around_.variable("XDG_CACHE_HOME"));
    set_source("dir", Origin::fallback, by_xdg ? "XDG_CACHE_HOME" : "");
  }
  if (values.runtime_dir->empty()) values.runtime_dir = default_runtime_dir(around_);
  if (values.program->empty()) values.program = around_.program;
}

void Resolver::settle_persistent() {
  Options& values = settings_.values;
  if (!is_said("persistent")) {
    if (around_.is_privileged) {
      values.persistent = is_said("dir");
    } else if (around_.face == Face::tool) {
      values.persistent = true;
      set_source("persistent", Origin::fallback, "the larder command");
    } else if (is_said("dir")) {
      values.persistent = true;
      set_source("persistent", Origin::fallback, "dir is set");
    }
  }
  if (*values.persistent && values.dir->empty()) {
    values.persistent = false;
    settings_.problems.push_back(
        {Origin::environment, "", "nothing is kept on disk",
         around_.is_privileged
             ? "the process runs with another user's rights, so the environment is not trusted"
             : "neither XDG_CACHE_HOME nor HOME is an absolute path",
         around_.is_privileged ? "name a directory in the program's options" : "set LARDER_DIR"});
  }
}

void Resolver::settle_limits() {
  Options& values = settings_.values;
  if (*values.entry_size_max != 0 && *values.entry_size_min > *values.entry_size_max) {
    settings_.problems.push_back({settings_.source("entry-size-min").origin,
                                  settings_.source("entry-size-min").place, "entry-size-min is not used",
                                  "it is above entry-size-max, so nothing would ever be kept",
                                  "lower entry-size-min or raise entry-size-max"});
    values.entry_size_min = 0;
    set_source("entry-size-min", Origin::fallback, "above entry-size-max");
  }
  if (*values.wait_max < *values.wait_min) {
    // A person who wants no waiting sets wait-max alone.
    values.wait_min = *values.wait_max;
    set_source("wait-min", Origin::fallback, "wait-max is lower");
  }
}

void Resolver::settle() {
  settle_places();
  settle_persistent();
  settle_limits();
}

}  // namespace

std::string_view name(Origin origin) noexcept {
  switch (origin) {
    case Origin::fallback:
      return "default";
    case Origin::system_file:
      return "system file";
    case Origin::user_file:
      return "user file";
    case Origin::project_file:
      return "project file";
    case Origin::environment:
      return "environment";
    case Origin::option:
      return "option";
  }
  return "";
}

std::string Problem::text() const {
  return (where.empty() ? "" : where + ": ") + what + ": " + why + "; " + advice;
}

const Source& Settings::source(std::string_view setting) const noexcept {
  const Row* row = find(setting);
  LARDER_ASSERT(row != nullptr);
  return source(*row);
}

Settings resolve(const Options& said, const Surroundings& surroundings) {
  Resolver resolver(surroundings);
  resolver.take_files();
  resolver.take_environment();
  resolver.take_options(said);
  resolver.settle();
  return std::move(resolver).result();
}

Settings resolve(const Options& said) {
  return resolve(said, Surroundings::of_process(Face::library));
}

}  // namespace larder::settings
