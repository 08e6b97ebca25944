// The table of settings: the only place where a setting is defined. Parser, environment, config file, help,
// man page, completions, `config show` and docs/settings.md are all made from it. Immutable; any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/fixed_text.hpp"
#include "larder/options.hpp"
#include "larder/result.hpp"

namespace larder::settings {

enum class Kind : std::uint8_t { boolean, size, duration, count, percent, choice, text, path, path_list };

// Where a setting's value stands in Options.
using Field =
    std::variant<std::optional<bool> Options::*, std::optional<std::uint64_t> Options::*,
                 std::optional<std::uint32_t> Options::*, std::optional<std::chrono::nanoseconds> Options::*,
                 std::optional<std::string> Options::*, std::optional<std::vector<std::string>> Options::*>;

enum class Group : std::uint8_t { general, disk, memory, making, writing, preload, bundles, explaining };

// Who may say it. A project file comes with a checkout, so anybody may have written it: it may not move
// files, loosen a limit of trust or switch larder on.
enum class Trust : std::uint8_t { user_only, project_too };

struct Row {
  FixedText<20> name;  // `size-max`: the key in the config file; flag and variable are made from it
  Field field;
  Kind kind;
  Group group;
  Trust trust;
  FixedText<8> fallback;  // the default as text; what stands here must parse
  FixedText<52> choices;  // for Kind::choice; read it with choices()
  FixedText<84> remark;   // what a special value means, or what the default is made of; may be empty
  FixedText<88> help;     // one sentence, lower case, no full stop
};

std::span<const Row> table() noexcept;
inline constexpr std::size_t kSettingCount = 37;

// Null when there is none.
const Row* find(std::string_view name) noexcept;
const Row* find_by_variable(std::string_view variable) noexcept;  // `LARDER_SIZE_MAX`
// The row's place in the table.
std::size_t index_of(const Row& row) noexcept;
// Names in table order.
std::vector<std::string_view> names();

std::string flag(const Row& row);      // `--size-max`
std::string variable(const Row& row);  // `LARDER_SIZE_MAX`
std::string_view name(Kind kind) noexcept;
std::string_view title(Group group) noexcept;
std::string section(Group group);  // its heading in a config file: the title in small letters
// The words a Kind::choice may be; empty for other kinds.
std::vector<std::string_view> choices(const Row& row);
std::string choices_text(const Row& row);  // with blanks between them

// Reads `text` as the row's kind into `options`; as set_option.
Result<void> set_value(const Row& row, std::string_view text, Options& options);
// What set_value makes of every row's fallback.
void set_defaults(Options& options);
// The shortest text that reads back as the same value; empty when `options` says nothing.
std::string value_text(const Row& row, const Options& options);
bool is_said(const Row& row, const Options& options) noexcept;
// Copies the row's value, said or not.
void copy_value(const Row& row, const Options& from, Options& to);

}  // namespace larder::settings
