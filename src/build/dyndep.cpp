#include "build/dyndep.hpp"

#include "build/cursor.hpp"
#include "build/expand.hpp"
#include "build/paths.hpp"
#include "build/syntax_error.hpp"

namespace larder::build {
namespace {

std::string expanded(std::string_view raw) {
  std::string text;
  expand(raw, text, [](std::string_view) {});
  return text;
}

std::vector<std::string> parse_paths(Cursor& cursor) {
  std::vector<std::string> paths;
  for (;;) {
    const char* const at = cursor.at();
    bool has_dollar = false;
    const std::string_view raw = cursor.path(has_dollar);
    if (raw.empty()) return paths;
    std::string path = expanded(raw);
    if (path.empty()) Cursor::refuse_at(at, "this path is empty");
    make_canonical(path);
    paths.push_back(std::move(path));
  }
}

DyndepEntry parse_build(Cursor& cursor) {
  DyndepEntry entry;
  const char* const at = cursor.at();
  std::vector<std::string> outputs = parse_paths(cursor);
  if (outputs.size() != 1) Cursor::refuse_at(at, "expected the path of one output");
  entry.output = std::move(outputs.front());
  if (cursor.take('|')) entry.implicit_outputs = parse_paths(cursor);
  if (!cursor.take(':')) cursor.refuse("expected `:` after the outputs");
  const char* const rule_at = cursor.at();
  if (cursor.name() != "dyndep") Cursor::refuse_at(rule_at, "expected the word dyndep");
  if (cursor.take('|')) {
    if (cursor.peek() == '|') cursor.refuse("a dyndep file has no order-only inputs");
    entry.implicit_inputs = parse_paths(cursor);
  }
  cursor.end_line("`|` and implicit inputs, or the end of the line");
  while (cursor.is_indented()) {
    cursor.skip_blanks();
    const char* const name_at = cursor.at();
    if (cursor.name() != "restat") Cursor::refuse_at(name_at, "a dyndep file knows the variable restat only");
    if (!cursor.take('=')) cursor.refuse("expected `=` after restat");
    bool has_dollar = false;
    (void)cursor.value(has_dollar);
  }
  return entry;
}

std::vector<DyndepEntry> parse(std::string_view text) {
  Cursor cursor(text);
  std::vector<DyndepEntry> entries;
  bool has_version = false;
  for (;;) {
    cursor.skip_empty_lines();
    const char* const at = cursor.at();
    if (cursor.is_at_end()) {
      if (!has_version) cursor.refuse("expected a line `ninja_dyndep_version = 1`");
      return entries;
    }
    const std::string_view word = cursor.name();
    if (!has_version) {
      if (word != "ninja_dyndep_version") Cursor::refuse_at(at, "expected `ninja_dyndep_version = 1` first");
      if (!cursor.take('=')) cursor.refuse("expected `=`");
      const char* const value_at = cursor.at();
      bool has_dollar = false;
      const std::string version = expanded(cursor.value(has_dollar));
      if (version != "1" && !version.starts_with("1."))
        Cursor::refuse_at(value_at, "larder understands version 1 of dyndep files");
      has_version = true;
    } else if (word == "build") {
      entries.push_back(parse_build(cursor));
    } else {
      Cursor::refuse_at(at, "expected a line that begins with build");
    }
  }
}

}  // namespace

Result<std::vector<DyndepEntry>> read_dyndep(std::string_view file, std::string_view text) {
  try {
    return parse(text);
  } catch (const Wrong& wrong) {
    return tl::unexpected(
        syntax_error(file, text, static_cast<std::size_t>(wrong.at - text.data()), wrong.what));
  }
}

}  // namespace larder::build
