#include <algorithm>

#include "settings/suggest.hpp"
#include "settings/units.hpp"
#include "tool/columns.hpp"
#include "tool/command.hpp"
#include "tool/json.hpp"

namespace larder::tool {
namespace {

using settings::Origin;
using settings::Row;

std::string from(const settings::Source& source) {
  if (source.origin == Origin::fallback)
    return source.place.empty() ? "default" : "default (" + source.place + ')';
  return source.place;
}

std::string shown(const std::string& value) {
  return value.empty() ? "-" : printable(value);
}

void show_text(Call& call, const std::vector<const Row*>& rows) {
  Columns columns({{"SETTING"}, {"VALUE"}, {"FROM"}});
  for (const Row* row : rows) {
    columns.add({std::string(row->name), shown(settings::value_text(*row, call.options())),
                 from(call.settings().source(*row))});
  }
  call.console().out(columns.text());
}

void write_problems(Json& json, const Call& call) {
  json.key("problems").begin_array();
  for (const settings::Problem& problem : call.settings().problems) {
    json.begin_object()
        .member("where", problem.where)
        .member("what", problem.what)
        .member("why", problem.why)
        .member("advice", problem.advice)
        .end_object();
  }
  json.end_array();
}

// The problems themselves stand on stderr already.
int check(const Call& call) {
  const bool fits = call.settings().problems.empty();
  if (call.wants_json()) {
    Json json = begin_json();
    json.member("fits", fits);
    write_problems(json, call);
    json.end_object();
    call.console().out(std::move(json).text());
  }
  return fits ? kDone : kNo;
}

void show_json(Call& call, const std::vector<const Row*>& rows) {
  Json json = begin_json();
  json.key("settings").begin_array();
  for (const Row* row : rows) {
    const settings::Source& source = call.settings().source(*row);
    json.begin_object()
        .member("name", row->name)
        .member("value", settings::value_text(*row, call.options()))
        .member("origin", settings::name(source.origin))
        .member("place", source.place)
        .member("variable", settings::variable(*row))
        .member("flag", settings::flag(*row))
        .end_object();
  }
  json.end_array().key("files").begin_array();
  for (const std::string& file : call.settings().files) json.value(file);
  json.end_array();
  write_problems(json, call);
  json.end_object();
  call.console().out(std::move(json).text());
}

int show_files(Call& call) {
  const std::string user = settings::user_config_path(call.surroundings());
  const std::string system = settings::system_config_path(call.surroundings());
  const std::vector<std::string>& read = call.settings().files;
  std::vector<std::string> unread;
  for (const std::string& path : {user, system}) {
    if (!path.empty() && std::find(read.begin(), read.end(), path) == read.end()) unread.push_back(path);
  }
  if (call.wants_json()) {
    Json json = begin_json();
    json.key("files").begin_array();
    for (const std::string& path : read)
      json.begin_object().member("path", path).member("is_read", true).end_object();
    for (const std::string& path : unread)
      json.begin_object().member("path", path).member("is_read", false).end_object();
    json.end_array().end_object();
    call.console().out(std::move(json).text());
    return kDone;
  }
  Columns columns({{"FILE"}, {"STATE"}});
  for (const std::string& path : read) columns.add({path, "read"});
  for (const std::string& path : unread) columns.add({path, "not read"});
  call.console().out(columns.text());
  return kDone;
}

int run_config(Call& call) {
  for (const settings::Problem& problem : call.settings().problems) {
    call.console().warn(
        {(problem.where.empty() ? "" : problem.where + ": ") + problem.what, problem.why, problem.advice});
  }
  const std::string_view action = call.has("ACTION") ? call.value("ACTION") : "show";
  if (action != "show" && call.has("NAME")) {
    return call.refuse(
        "larder config " + std::string(action) + " has no use for " + settings::quoted(call.value("NAME")),
        "it looks at all settings", "leave it out, or see `larder config show`");
  }
  if (action == "check") return check(call);
  if (action == "files") return show_files(call);
  std::vector<const Row*> rows;
  for (const std::string& name : call.values("NAME")) {
    const Row* row = settings::find(name);
    if (row == nullptr) {
      const std::string_view meant = settings::nearest_word(name, settings::names());
      return call.refuse(
          "no setting is called " + settings::quoted(name), "",
          meant.empty() ? "see `larder help settings`" : "did you mean " + settings::quoted(meant) + '?');
    }
    rows.push_back(row);
  }
  if (rows.empty()) {
    for (const Row& row : settings::table()) rows.push_back(&row);
  }
  call.wants_json() ? show_json(call, rows) : show_text(call, rows);
  return kDone;
}

constexpr Argument kConfigArguments[] = {
    {"ACTION", "", "what to do; without it, show", "show check files"},
    {"NAME", "", "settings to show; without any, all", {}, false, true},
};

}  // namespace

extern const Command kConfigCommand;
const Command kConfigCommand{
    "config",
    "show every setting and where its value comes from",
    "Shows the settings with their values and where each value comes from. `check` prints "
    "what does not fit and exits with 1 when there is such a thing; `files` lists the config "
    "files.",
    kConfigArguments,
    true,
    true,
    run_config};

}  // namespace larder::tool
