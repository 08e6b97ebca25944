#include "settings/table.hpp"

#include <algorithm>
#include <array>

#include "base/assert.hpp"
#include "policy/kind.hpp"
#include "settings/suggest.hpp"
#include "settings/units.hpp"

namespace larder::settings {
namespace {

using enum Group;
constexpr Trust kUser = Trust::user_only;
constexpr Trust kProject = Trust::project_too;
// Stands for the names in the table of policies.
constexpr std::string_view kPolicies = "policies";
constexpr std::string_view kNoLimit = "0: no limit";

// clang-format off
constexpr std::array<Row, kSettingCount> kTable{{
    {"disable", &Options::disable, Kind::boolean, general, kProject, "off", "",
     "LARDER_DISABLE=1 wins over everything else",
     "stand aside: every maker runs, nothing is read or kept"},
    {"mode", &Options::mode, Kind::choice, general, kUser, "default",
     "default bypass refresh read-only require-hit verify", "",
     "how requests are answered when they do not say so themselves"},
    {"program", &Options::program, Kind::text, general, kProject, "", "",
     "empty: the executable's name",
     "the program whose order of first use is remembered for preloading"},

    {"dir", &Options::dir, Kind::path, disk, kUser, "", "",
     "empty: $XDG_CACHE_HOME/larder, else ~/.cache/larder",
     "the root directory of the disk tier"},
    {"persistent", &Options::persistent, Kind::boolean, disk, kUser, "off", "",
     "on in the larder command, and where a directory is named",
     "keep entries on disk"},
    {"size-max", &Options::size_max, Kind::size, disk, kUser, "8GiB", "", kNoLimit,
     "the disk tier is emptied to its low-water mark when its entries take more"},
    {"age-max", &Options::age_max, Kind::duration, disk, kUser, "7d", "", kNoLimit,
     "entries unused for longer leave the disk"},
    {"entry-size-min", &Options::entry_size_min, Kind::size, disk, kProject, "0", "",
     "0: everything is kept",
     "smaller products are not kept on disk"},
    {"entry-size-max", &Options::entry_size_max, Kind::size, disk, kProject, "1GiB", "", kNoLimit,
     "larger products are not kept on disk"},
    {"free-min", &Options::free_min, Kind::size, disk, kUser, "256MiB", "", kNoLimit,
     "nothing is written when the disk has less free space than this"},
    {"eviction", &Options::eviction, Kind::boolean, disk, kUser, "on", "",
     "off: neither size-max nor age-max removes an entry",
     "let entries leave the disk"},
    {"policy", &Options::policy, Kind::choice, disk, kUser, "sampled", kPolicies, "",
     "who leaves a full disk tier"},
    {"low-water", &Options::low_water, Kind::percent, disk, kUser, "95%", "",
     "50%: to half",
     "how far below size-max a full disk tier is emptied"},
    {"durable", &Options::durable, Kind::boolean, disk, kProject, "off", "", "",
     "write every entry through to the medium before it is published"},
    {"runtime-dir", &Options::runtime_dir, Kind::path, disk, kUser, "", "",
     "empty: $XDG_RUNTIME_DIR/larder, else /run/user/UID/larder, else /tmp/larder-UID",
     "where processes find each other's locks"},

    {"memory", &Options::memory, Kind::boolean, Group::memory, kProject, "on", "", "",
     "keep products in memory"},
    {"memory-size-max", &Options::memory_size_max, Kind::size, Group::memory, kProject, "256MiB", "", kNoLimit,
     "entries leave the memory tier when they weigh more"},
    {"memory-entries-max", &Options::memory_entries_max, Kind::count, Group::memory, kProject, "0", "", kNoLimit,
     "entries leave the memory tier when there are more"},
    {"memory-policy", &Options::memory_policy, Kind::choice, Group::memory, kProject, "adaptive", kPolicies, "",
     "who leaves a full memory tier"},

    {"negative-time", &Options::negative_time, Kind::duration, making, kProject, "0", "",
     "0: not remembered",
     "how long a deterministic failure is remembered with its log"},
    {"wait-min", &Options::wait_min, Kind::duration, making, kProject, "500ms", "", "",
     "how long to wait at least for another process that makes the same"},
    {"wait-max", &Options::wait_max, Kind::duration, making, kProject, "1min", "",
     "0: never wait",
     "how long to wait at most for another process that makes the same"},
    {"verify-share", &Options::verify_share, Kind::percent, making, kProject, "100%", "", "",
     "the share of hits that mode verify makes again and compares"},

    {"write-behind-size", &Options::write_behind_size, Kind::size, writing, kProject, "64MiB", "",
     "0: entries are written at once",
     "entries that may wait in memory to be written"},
    {"write-behind-delay", &Options::write_behind_delay, Kind::duration, writing, kProject, "100ms", "", "",
     "how long a program must be idle before waiting entries are written"},
    {"close-time", &Options::close_time, Kind::duration, writing, kProject, "2s", "",
     "0: what waits is lost",
     "how long closing may go on writing entries that wait"},

    {"preload", &Options::preload, Kind::boolean, Group::preload, kProject, "on", "", "",
     "at the start, load what the program's previous run used first"},
    {"preload-size-max", &Options::preload_size_max, Kind::size, Group::preload, kProject, "64MiB", "", kNoLimit,
     "how much is loaded at the start"},
    {"preload-time-max", &Options::preload_time_max, Kind::duration, Group::preload, kProject, "10s", "", kNoLimit,
     "how long loading at the start may take"},

    {"bundles", &Options::bundles, Kind::path_list, Group::bundles, kUser, "", "",
     "separated by colons",
     "bundle files that are asked after the disk tier, in this order"},
    {"bundle-keys", &Options::bundle_keys, Kind::path_list, Group::bundles, kUser, "", "",
     "separated by colons",
     "files with the public keys whose signatures on bundles are trusted"},
    {"require-signature", &Options::require_signature, Kind::boolean, Group::bundles, kUser, "off", "", "",
     "use only bundles that a trusted key has signed"},

    {"log", &Options::log, Kind::path, explaining, kUser, "", "",
     "empty: no log",
     "a file to which events are appended, one line of JSON each"},
    {"log-size-max", &Options::log_size_max, Kind::size, explaining, kUser, "64MiB", "", kNoLimit,
     "nothing more is appended to a log of this size"},
    {"misses-kept", &Options::misses_kept, Kind::count, explaining, kProject, "64", "",
     "0: none",
     "recipes of recent misses that are remembered for `larder why`"},
    {"attachment-max", &Options::attachment_max, Kind::size, explaining, kProject, "1MiB", "",
     "0: none",
     "how much of a large ingredient's text is kept for `larder show`"},
    {"maker-log-max", &Options::maker_log_max, Kind::size, explaining, kProject, "64KiB", "",
     "0: nothing",
     "how much of a maker's log is kept with its product"},
}};
// clang-format on

// A row too few would leave an empty one at the end.
static_assert(!kTable.back().name.empty());

// The defaults that are numbers, read by the compiler: every process begins with all of them.
constexpr std::uint64_t number_of(const Row& row) {
  const std::string_view text = row.fallback;
  if (row.kind == Kind::boolean) {
    LARDER_ASSERT(text == "on" || text == "off");
    return text == "on" ? 1 : 0;
  }
  if (row.kind == Kind::choice || row.kind == Kind::text || row.kind == Kind::path ||
      row.kind == Kind::path_list)
    return 0;
  std::uint64_t number = 0;
  std::size_t at = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    number = 10 * number + static_cast<std::uint64_t>(text[at] - '0');
  }
  LARDER_ASSERT(at > 0);
  struct Unit {
    Kind kind;
    std::string_view name;
    std::uint64_t size;
  };
  constexpr Unit kUnits[] = {{Kind::size, "KiB", 1u << 10},
                             {Kind::size, "MiB", 1u << 20},
                             {Kind::size, "GiB", 1u << 30},
                             {Kind::duration, "ms", 1'000'000},
                             {Kind::duration, "s", 1'000'000'000},
                             {Kind::duration, "min", 60'000'000'000},
                             {Kind::duration, "d", 86'400'000'000'000},
                             {Kind::percent, "%", 1}};
  for (const Unit& unit : kUnits) {
    if (unit.kind == row.kind && unit.name == text.substr(at)) return number * unit.size;
  }
  LARDER_ASSERT(at == text.size());
  return number;
}
constexpr std::array<std::uint64_t, kSettingCount> kDefaults = [] {
  std::array<std::uint64_t, kSettingCount> all{};
  for (std::size_t i = 0; i < kSettingCount; ++i) all[i] = number_of(kTable[i]);
  return all;
}();

// A setting's character as its variable has it.
constexpr char in_variable(char c) noexcept {
  return c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

template <typename T>
Result<void> store(Result<T> read, std::optional<T> Options::*field, Options& options) {
  if (!read) return fail(read.error().code, std::move(read.error().what));
  options.*field = std::move(*read);
  return {};
}

Result<std::string> to_choice(const Row& row, std::string_view text) {
  const std::vector<std::string_view> words = choices(row);
  for (const std::string_view word : words) {
    if (word == text) return std::string(word);
  }
  const std::string_view meant = nearest_word(text, words);
  return fail(Code::invalid_argument, quoted(text) + " is none of the words there are; " +
                                          (meant.empty() ? "write one of " + choices_text(row)
                                                         : "did you mean " + quoted(meant) + "?"));
}

Result<std::string> to_path(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) {
    return fail(Code::invalid_argument, "a path cannot hold a zero byte");
  }
  if (!text.empty() && text[0] != '/') {
    return fail(Code::invalid_argument, quoted(text) + " is not absolute; write a path that begins with /");
  }
  return std::string(text);
}

Result<std::vector<std::string>> to_path_list(std::string_view text) {
  std::vector<std::string> paths;
  while (!text.empty()) {
    const std::size_t colon = text.find(':');
    const std::string_view one = text.substr(0, colon);
    text = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
    if (one.empty()) continue;
    Result<std::string> path = to_path(one);
    if (!path) return fail(path.error().code, std::move(path.error().what));
    paths.push_back(std::move(*path));
  }
  return paths;
}

Result<std::string> to_text(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return fail(Code::invalid_argument, "holds a zero byte");
  return std::string(text);
}

}  // namespace

std::span<const Row> table() noexcept {
  return kTable;
}

const Row* find(std::string_view name) noexcept {
  for (const Row& row : kTable) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

const Row* find_by_variable(std::string_view variable) noexcept {
  constexpr std::string_view kPrefix = "LARDER_";
  if (!variable.starts_with(kPrefix)) return nullptr;
  variable.remove_prefix(kPrefix.size());
  const auto is_it = [&](std::string_view name) {
    return std::equal(name.begin(), name.end(), variable.begin(), variable.end(),
                      [](char a, char b) { return in_variable(a) == b; });
  };
  for (const Row& row : kTable) {
    if (is_it(row.name)) return &row;
  }
  return nullptr;
}

std::size_t index_of(const Row& row) noexcept {
  LARDER_ASSERT(&row >= kTable.data() && &row < kTable.data() + kTable.size());
  return static_cast<std::size_t>(&row - kTable.data());
}

std::vector<std::string_view> names() {
  std::vector<std::string_view> all;
  all.reserve(kTable.size());
  for (const Row& row : kTable) all.push_back(row.name);
  return all;
}

std::string flag(const Row& row) {
  return "--" + std::string(row.name);
}

std::string variable(const Row& row) {
  std::string variable = "LARDER_";
  for (const char c : row.name.view()) {
    variable.push_back(in_variable(c));
  }
  return variable;
}

std::string_view name(Kind kind) noexcept {
  switch (kind) {
    case Kind::boolean:
      return "on|off";
    case Kind::size:
      return "SIZE";
    case Kind::duration:
      return "DURATION";
    case Kind::count:
      return "COUNT";
    case Kind::percent:
      return "PERCENT";
    case Kind::choice:
      return "WORD";
    case Kind::text:
      return "TEXT";
    case Kind::path:
      return "PATH";
    case Kind::path_list:
      return "PATHS";
  }
  return "";
}

std::string_view title(Group group) noexcept {
  switch (group) {
    case general:
      return "General";
    case disk:
      return "Disk";
    case Group::memory:
      return "Memory";
    case making:
      return "Making";
    case writing:
      return "Writing";
    case Group::preload:
      return "Preloading";
    case Group::bundles:
      return "Bundles";
    case explaining:
      return "Explaining";
  }
  return "";
}

std::string section(Group group) {
  std::string name(title(group));
  name[0] = static_cast<char>(name[0] - 'A' + 'a');
  return name;
}

std::vector<std::string_view> choices(const Row& row) {
  std::vector<std::string_view> words;
  if (row.choices == kPolicies) {
    for (const policy::Named& one : policy::kinds()) words.push_back(one.name);
    return words;
  }
  std::string_view rest = row.choices;
  while (!rest.empty()) {
    const std::size_t blank = rest.find(' ');
    words.push_back(rest.substr(0, blank));
    rest = blank == std::string_view::npos ? std::string_view() : rest.substr(blank + 1);
  }
  return words;
}

Result<void> set_value(const Row& row, std::string_view text, Options& options) {
  struct Setter {
    const Row& row;
    std::string_view text;
    Options& options;

    Result<void> operator()(std::optional<bool> Options::*field) const {
      return store(to_boolean(text), field, options);
    }
    Result<void> operator()(std::optional<std::uint64_t> Options::*field) const {
      return store(row.kind == Kind::size ? to_size(text) : to_count(text), field, options);
    }
    Result<void> operator()(std::optional<std::uint32_t> Options::*field) const {
      return store(to_percent(text), field, options);
    }
    Result<void> operator()(std::optional<std::chrono::nanoseconds> Options::*field) const {
      return store(to_duration(text), field, options);
    }
    Result<void> operator()(std::optional<std::string> Options::*field) const {
      if (row.kind == Kind::choice) return store(to_choice(row, text), field, options);
      return store(row.kind == Kind::path ? to_path(text) : to_text(text), field, options);
    }
    Result<void> operator()(std::optional<std::vector<std::string>> Options::*field) const {
      return store(to_path_list(text), field, options);
    }
  };
  Result<void> set = std::visit(Setter{row, text, options}, row.field);
  if (!set) return fail(set.error().code, std::string(row.name) + ": " + set.error().what);
  return set;
}

void set_defaults(Options& options) {
  struct Setter {
    const Row& row;
    std::uint64_t number;
    Options& options;

    void operator()(std::optional<bool> Options::*field) const { options.*field = number != 0; }
    void operator()(std::optional<std::uint64_t> Options::*field) const { options.*field = number; }
    void operator()(std::optional<std::uint32_t> Options::*field) const {
      options.*field = static_cast<std::uint32_t>(number);
    }
    void operator()(std::optional<std::chrono::nanoseconds> Options::*field) const {
      options.*field = std::chrono::nanoseconds(number);
    }
    void operator()(std::optional<std::string> Options::*field) const {
      options.*field = std::string(row.fallback);
    }
    void operator()(std::optional<std::vector<std::string>> Options::*field) const {
      (options.*field).emplace();
    }
  };
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    std::visit(Setter{kTable[i], kDefaults[i], options}, kTable[i].field);
  }
}

std::string value_text(const Row& row, const Options& options) {
  struct Writer {
    const Row& row;
    const Options& options;

    std::string operator()(std::optional<bool> Options::*field) const {
      return !(options.*field) ? "" : *(options.*field) ? "on" : "off";
    }
    std::string operator()(std::optional<std::uint64_t> Options::*field) const {
      if (!(options.*field)) return "";
      return row.kind == Kind::size ? exact_size(*(options.*field)) : std::to_string(*(options.*field));
    }
    std::string operator()(std::optional<std::uint32_t> Options::*field) const {
      return !(options.*field) ? "" : std::to_string(*(options.*field)) + "%";
    }
    std::string operator()(std::optional<std::chrono::nanoseconds> Options::*field) const {
      return !(options.*field) ? "" : exact_duration(*(options.*field));
    }
    std::string operator()(std::optional<std::string> Options::*field) const {
      return (options.*field).value_or("");
    }
    std::string operator()(std::optional<std::vector<std::string>> Options::*field) const {
      std::string joined;
      if (!(options.*field)) return joined;
      for (const std::string& path : *(options.*field)) {
        if (!joined.empty()) joined.push_back(':');
        joined += path;
      }
      return joined;
    }
  };
  return std::visit(Writer{row, options}, row.field);
}

bool is_said(const Row& row, const Options& options) noexcept {
  return std::visit([&](auto field) { return (options.*field).has_value(); }, row.field);
}

std::string choices_text(const Row& row) {
  std::string text;
  for (const std::string_view word : choices(row)) {
    if (!text.empty()) text.push_back(' ');
    text += word;
  }
  return text;
}

void copy_value(const Row& row, const Options& from, Options& to) {
  std::visit([&](auto field) { to.*field = from.*field; }, row.field);
}

}  // namespace larder::settings

namespace larder {

Result<void> set_option(Options& options, std::string_view name, std::string_view text) {
  if (const settings::Row* row = settings::find(name)) return settings::set_value(*row, text, options);
  return fail(Code::invalid_argument, "no setting is called " + settings::quoted(name) +
                                          settings::did_you_mean(name, settings::names()));
}

}  // namespace larder
