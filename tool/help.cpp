#include "tool/help.hpp"

#include "tool/columns.hpp"

namespace larder::tool {
namespace {

using settings::Row;

constexpr std::string_view kWhat = "larder keeps what was expensive to make.";

template <typename OnLine>
void each_line(std::string_view text, const OnLine& on_line) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    on_line(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
}

std::string argument_text(const Argument& argument) {
  std::string text;
  if (argument.letter != 0) text = std::string("-") + argument.letter + ", ";
  text += argument.name;
  if (!argument.value.empty()) text += ' ' + std::string(argument.value);
  return text;
}

std::string help_text(const Argument& argument) {
  std::string text(argument.help);
  if (!argument.choices.empty()) text += " (" + std::string(argument.choices) + ')';
  return text;
}

std::string default_text(const Row& row) {
  std::string text(row.fallback);
  if (!row.remark.empty()) text += (text.empty() ? "" : "; ") + std::string(row.remark);
  return text;
}

std::string arguments_text(std::span<const Argument> arguments) {
  Columns columns({{""}, {""}, {""}});
  for (const Argument& argument : arguments) columns.add({"", argument_text(argument), help_text(argument)});
  return columns.text();
}

// The group headings in table order, each with its rows.
template <typename OnGroup, typename OnRow>
void each_group(const OnGroup& on_group, const OnRow& on_row) {
  const Row* before = nullptr;
  for (const Row& row : settings::table()) {
    if (before == nullptr || before->group != row.group) on_group(row.group);
    on_row(row);
    before = &row;
  }
}

std::string roff(std::string_view text) {
  std::string escaped;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else if (c == '.' && (i == 0 || text[i - 1] == '\n')) {
      escaped += "\\&.";
    } else {
      escaped.push_back(c);
    }
  }
  return escaped;
}

std::string man_arguments(std::span<const Argument> arguments) {
  std::string page;
  for (const Argument& argument : arguments) {
    page += ".TP\n.B " + roff(argument_text(argument)) + '\n' + roff(help_text(argument)) + '\n';
  }
  return page;
}

std::string man_settings() {
  std::string page;
  each_group([&](settings::Group group) { page += ".SS " + std::string(settings::title(group)) + '\n'; },
             [&](const Row& row) {
               page += ".TP\n.BR " + roff(row.name) + " \" (" + roff(settings::variable(row)) + ", " +
                       roff(settings::name(row.kind)) + ")\"\n" + roff(row.help);
               if (!default_text(row).empty()) page += ".\nDefault: " + roff(default_text(row));
               if (!row.choices.empty()) page += ".\nOne of: " + roff(settings::choices_text(row));
               page += ".\n";
             });
  return page;
}

}  // namespace

std::string usage(const Command& command) {
  std::string text = "larder " + std::string(command.name);
  for (const Argument& argument : command.arguments) {
    if (!argument.is_flag()) continue;
    const std::string flag =
        argument.letter != 0 ? std::string("-") + argument.letter : std::string(argument.name);
    text += " [" + flag + (argument.value.empty() ? "" : ' ' + std::string(argument.value)) + ']';
  }
  if (command.has_json) text += " [--json]";
  for (const Argument& argument : command.arguments) {
    if (argument.is_flag()) continue;
    const std::string name = std::string(argument.name) + (argument.is_repeated ? "..." : "");
    text += argument.is_required ? ' ' + name : " [" + name + ']';
  }
  return text;
}

std::string overview() {
  std::string text(kWhat);
  text += "\n\nUsage: larder [SETTINGS] COMMAND [ARGUMENTS]\n\nCommands\n";
  Columns columns({{""}, {""}, {""}});
  for (const Command* command : commands()) {
    columns.add({"", std::string(command->name), std::string(command->summary)});
  }
  text += columns.text();
  text += "\nFlags of every command\n" + arguments_text(shared_arguments());
  text +=
      "\nEvery setting is a flag, too: --size-max 10G. `larder help settings` lists them,\n"
      "`larder config` shows their values, `larder help COMMAND` says more of a command.\n"
      "Exit code: 0 yes or done, 1 no, 2 wrong usage or failure, 130 interrupted.\n";
  return text;
}

std::string command_help(const Command& command) {
  std::string text = "Usage: " + usage(command) + "\n\n" + wrapped(command.description, 0);
  std::vector<Argument> arguments(command.arguments.begin(), command.arguments.end());
  if (command.has_json) arguments.push_back(kJsonArgument);
  if (!arguments.empty()) text += "\nArguments\n" + arguments_text(arguments);
  if (!command.examples.empty()) {
    text += "\nExamples\n";
    each_line(command.examples, [&](std::string_view line) { text += "  " + std::string(line) + '\n'; });
  }
  return text;
}

std::string settings_help() {
  std::string text =
      "Each setting is said by a flag, by an environment variable or in a config file; the\n"
      "first of these that says it counts. `larder config` shows values and where they come from.\n"
      "--size-max 10G   LARDER_SIZE_MAX=10G   size-max = \"10G\"\n";
  each_group([&](settings::Group group) { text += '\n' + std::string(settings::title(group)) + '\n'; },
             [&](const Row& row) {
               text += "  " + settings::flag(row) + ' ' + std::string(settings::name(row.kind)) + '\n';
               std::string help(row.help);
               if (!row.choices.empty()) help += " (" + settings::choices_text(row) + ')';
               if (!default_text(row).empty()) help += " [" + default_text(row) + ']';
               text += wrapped(help, 6);
             });
  return text;
}

std::string man_page() {
  std::string page =
      ".\\\" Made by `larder help --man`; change the tables in the sources instead.\n.TH LARDER 1 \"\" "
      "\"larder " LARDER_VERSION "\" \"larder\"\n";
  page += ".SH NAME\nlarder \\- keep what was expensive to make\n";
  page += ".SH SYNOPSIS\n.B larder\n[\\fISETTINGS\\fR] \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]\n";
  page += ".SH DESCRIPTION\n" + roff(kWhat) +
          "\nProducts of GPU compilers, of pure functions and of builds are kept under their whole identity "
          "in a\n"
          "directory of the user's, shared by every process, and never served stale.\n"
          "Data goes to standard output, everything else to standard error.\n";
  page += ".SH COMMANDS\n";
  for (const Command* command : commands()) {
    page += ".SS " + roff(usage(*command)) + '\n' + roff(command->description) + '\n';
    page += man_arguments(command->arguments);
    if (command->has_json) page += man_arguments(std::span(&kJsonArgument, 1));
  }
  page += ".SH OPTIONS\nEvery command takes these, and every setting as a flag.\n";
  page += man_arguments(shared_arguments());
  page +=
      ".SH SETTINGS\nA setting named \\fBsize\\-max\\fR is the flag \\fB\\-\\-size\\-max\\fR, the variable "
      "\\fBLARDER_SIZE_MAX\\fR and the line \\fBsize\\-max = \"10G\"\\fR of a config file.\n"
      "A flag wins over the environment, that over the project's, the user's and the system's config file, "
      "and "
      "these over the default.\nSwitches are also written \\fB\\-\\-no\\-preload\\fR.\n"
      "A project file may say only what is marked so in docs/settings.md.\n";
  page += man_settings();
  page +=
      ".SH FILES\n.TP\n.I ~/.config/larder/config.toml\nthe user's config file (LARDER_CONFIG names "
      "another)\n"
      ".TP\n.I /etc/xdg/larder/config.toml\nthe system's\n"
      ".TP\n.I .larder.toml\nthe project's, in the working directory or above it\n"
      ".TP\n.I ~/.cache/larder\nthe disk tier\n";
  page += ".SH EXIT STATUS\n0 yes or done, 1 an honest no, 2 wrong usage or failure, 130 interrupted.\n";
  page += ".SH EXAMPLES\n.nf\nlarder " + roff("--size-max 20G config show size-max") + '\n';
  for (const Command* command : commands()) {
    each_line(command->examples, [&](std::string_view line) { page += roff(line) + '\n'; });
  }
  page += ".fi\n";
  return page;
}

std::string settings_page() {
  std::string page =
      "# Settings\n\n"
      "Made by `larder help --settings-page` from the one table in `src/settings/table.cpp`.\n\n"
      "A setting called `size-max` is the flag `--size-max 10G`, the variable `LARDER_SIZE_MAX=10G`, the "
      "line\n"
      "`size-max = \"10G\"` of a config file, and `size_max` in `larder::Options`. What the program or the "
      "command\n"
      "line says wins over the environment, that over the project file (`.larder.toml` in the working "
      "directory or\n"
      "above it; read by the command only), the user's (`~/.config/larder/config.toml`, or what "
      "`LARDER_CONFIG`\n"
      "names) and the system's config file (`/etc/xdg/larder/config.toml`), and these over the default.\n"
      "`LARDER_DISABLE=1` is the exception: it wins over everything. A value that does not fit is an error "
      "of the\n"
      "command and a warning event of the library, which then goes on with the next source.\n"
      "All this is for the command and for what opens a `Cache`. A `MemoryTier` of a program's own reads no "
      "setting: it\n"
      "is what the program says, keeps on under `LARDER_DISABLE=1`, and knows of no config file. "
      "`LARDER_LOG` "
      "works with\n"
      "it, too, but a `log` in a config file, and `log-size-max` instead of 64 MiB, do so only once a "
      "`Cache` "
      "is open.\n\n"
      "Sizes are written `512M`, `10G` or `10GiB` (powers of 1024) or `10GB` (powers of 1000), durations "
      "`7d`, `12h`\n"
      "or `1h30min`, switches `on` and `off`. *Project* says whether a project file may say it: such a file "
      "comes\n"
      "with a checkout, so it can neither move files nor touch what others rely on.\n\n"
      "## The config file\n"
      "The part of TOML that settings need (grammar: `src/settings/config_text.hpp`):\n"
      "```toml\n"
      "# a remark\n"
      "size-max = \"10G\"             # a size, a duration or another text stands in quotes, \"\" or ''\n"
      "memory-entries-max = 10_000  # an integer or a switch (true, false) in none\n"
      "[bundles]                    # a heading is optional and holds settings of its group only\n"
      "bundles = [                  # a list of texts, over as many lines as it needs\n"
      "  \"/usr/share/app/kernels.bundle\",\n"
      "]\n"
      "```\n"
      "Headings are the titles below in small letters. In double quotes a backslash begins one of "
      "`\\b \\t \\n \\f \\r \\\" \\\\ \\uXXXX\n"
      "\\UXXXXXXXX`; in single quotes it is itself. A value that does not fit, or a bare word such as `10G`, "
      "costs its\n"
      "setting; any other error costs the file, so that half of it is never taken for the whole. Each is "
      "told "
      "with file,\n"
      "line, what is wrong and what to do.\n";
  each_group(
      [&](settings::Group group) {
        page += "\n## " + std::string(settings::title(group)) +
                "\n| setting | takes | default | project | what it does |\n|---|---|---|---|---|\n";
      },
      [&](const Row& row) {
        std::string help(row.help);
        if (!row.choices.empty()) help += ": " + settings::choices_text(row);
        std::string kind(settings::name(row.kind));
        if (const std::size_t bar = kind.find('|'); bar != std::string::npos) kind.replace(bar, 1, ", ");
        page += "| `" + std::string(row.name) + "` | " + kind + " | " + default_text(row) + " | " +
                (row.trust == settings::Trust::project_too ? "yes" : "no") + " | " + help + " |\n";
      });
  return page;
}

std::string version_line() {
  return "larder " LARDER_VERSION "\n";
}

namespace {

constexpr Argument kHelpArguments[] = {
    {"TOPIC", "", "a command, or `settings`"},
    {"--man", "", "print the man page"},
    {"--settings-page", "", "print docs/settings.md"},
};

int run_help(Call& call) {
  Console& console = call.console();
  if (call.has("--man")) {
    console.out(man_page());
  } else if (call.has("--settings-page")) {
    console.out(settings_page());
  } else if (!call.has("TOPIC")) {
    console.out(overview());
  } else if (call.value("TOPIC") == "settings") {
    console.out(settings_help());
  } else if (const Command* command = find_command(call.value("TOPIC"))) {
    console.out(command_help(*command));
  } else {
    return call.refuse("there is no help for `" + std::string(call.value("TOPIC")) + '`', "it is no command",
                       "see `larder help`");
  }
  return kDone;
}

}  // namespace

extern const Command kHelpCommand;
const Command kHelpCommand{"help",
                           "say what a command does and takes",
                           "Prints the list of commands, or what one command or the settings are about.",
                           kHelpArguments,
                           false,
                           true,
                           run_help};

}  // namespace larder::tool
