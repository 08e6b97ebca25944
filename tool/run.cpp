#include <algorithm>

#include "settings/suggest.hpp"
#include "tool/command.hpp"
#include "tool/help.hpp"
#include "tool/parse.hpp"

namespace larder::tool {
namespace {

constexpr Argument kShared[] = {
    {"--help", "", "say what a command does and takes", {}, false, false, 'h'},
    {"--version", "", "print the version"},
    {"--config", "FILE", "read this config file instead of the user's"},
    {"--color", "WHEN", "use colour", "auto always never"},
};

Complaint to_complaint(const settings::Problem& problem) {
  return {(problem.where.empty() ? "" : problem.where + ": ") + problem.what, problem.why, problem.advice};
}

// False when one of them forbids going on. What a project file says is no reason to stop: it may be
// anybody's.
bool tell_problems(const settings::Settings& settings, Console& console) {
  bool good = true;
  for (const settings::Problem& problem : settings.problems) {
    if (problem.origin == settings::Origin::project_file) {
      console.warn(to_complaint(problem));
    } else {
      console.complain(to_complaint(problem));
      good = false;
    }
  }
  return good;
}

int run_command(const Parsed& parsed, settings::Surroundings surroundings, Console& console) {
  const auto config = parsed.given.find("--config");
  if (config != parsed.given.end()) {
    const std::string& path = config->second.back();
    surroundings.environment["LARDER_CONFIG"] =
        path.starts_with('/') || path.empty() ? path : surroundings.working_dir + '/' + path;
  }
  settings::Settings settings = settings::resolve(parsed.said, surroundings);
  if (config != parsed.given.end()) {
    for (settings::Problem& problem : settings.problems) {
      if (problem.where != "LARDER_CONFIG") continue;
      problem.where = "--config";
      problem.advice = "write the file, or leave --config out";
    }
  }
  if (!parsed.command->bears_bad_settings && !tell_problems(settings, console)) {
    console.err("larder: nothing was done: with other settings than you meant it could be the wrong thing\n");
    return kError;
  }
  Call call(*parsed.command, parsed.given, settings, surroundings, console);
  return parsed.command->run(call);
}

}  // namespace

std::span<const Argument> shared_arguments() noexcept {
  return kShared;
}

const Command* find_command(std::string_view name) noexcept {
  const auto all = commands();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Command* one) { return one->name == name; });
  return found == all.end() ? nullptr : *found;
}

int run(std::span<const std::string> words, const settings::Surroundings& surroundings, Console& console) {
  // What stands behind `run ... --`, or from the compiler's name on in `cc`, is another program's, word for
  // word.
  const auto own = own_words(words);
  Parsed parsed = parse(own, surroundings.working_dir);
  auto others = words.subspan(own.size());
  if (!others.empty() && parsed.command != nullptr &&
      (parsed.command->name == "run" || parsed.command->takes_command)) {
    if (others.front() == "--") others = others.subspan(1);
    auto& command = parsed.given["COMMAND"];
    command.insert(command.end(), others.begin(), others.end());
  } else if (!others.empty()) {
    parsed = parse(words, surroundings.working_dir);
  }
  const auto has = [&](std::string_view name) { return parsed.given.find(name) != parsed.given.end(); };
  if (parsed.complaint) {
    console.complain(*parsed.complaint);
    return kError;
  }
  const auto colour = parsed.given.find("--color");
  if (colour != parsed.given.end()) {
    const std::string& when = colour->second.back();
    if (when != "auto") console.set_colour(when == "always" ? Colour::always : Colour::never);
  }
  int code = kDone;
  if (has("--help")) {
    console.out(parsed.command != nullptr ? command_help(*parsed.command) : overview());
  } else if (has("--version")) {
    console.out(version_line());
  } else if (parsed.command == nullptr) {
    console.err(overview());
    code = kError;
  } else {
    code = run_command(parsed, surroundings, console);
  }
  if (!console.flush()) {
    console.complain({"the output could not be written", "the place it goes to is full or closed",
                      "make room, or send it elsewhere"});
    return kError;
  }
  return code;
}

}  // namespace larder::tool
