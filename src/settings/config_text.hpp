// Reads the text of a config file: names with one value or a list of texts, under optional headings. Pure;
// any thread. It is that part of TOML which settings need, and means what TOML says.
//
//   file     := line (newline line)*                  newline := LF | CR LF; a byte order mark may come first
//   line     := blank* (heading | setting)? blank* comment?
//   heading  := "[" blank* name blank* "]"            the group of settings that follow
//   setting  := name blank* "=" blank* value
//   name     := (letter | digit | "_" | "-")+         ASCII
//   value    := text | integer | "true" | "false" | list
//   text     := '"' (character | escape)* '"'  |  "'" character* "'"       within one line
//   escape   := "\" one of b t n f r " \  |  "\u" 4 hex digits  |  "\U" 8 hex digits
//   integer  := ("+" | "-")? digits                   no leading zero; "_" may stand between digits
//   list     := "[" gap (text gap ("," gap text gap)* ("," gap)?)? "]"     over any number of lines
//   gap      := (blank | newline | comment)*
//   comment  := "#" character*
//   blank    := space | tab
//   character := UTF-8, no control character but tab
//
// A name stands at most once, and so does a heading. Sizes and durations are texts ("10G", "7d") or integers.
// A bare word in a value's place (10G, 1.5, 2026-01-01) costs that one setting; whatever else does not fit
// costs the file, so that half of it is never taken for the whole.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "larder/result.hpp"

namespace larder::settings {

// `name = value` as it stands in line `line` below the heading `section`, which is empty at the top. `text`
// is the value as it would stand on a command line: a list has colons between its texts. For a value that no
// setting can be `text` is empty, `problem` says why, and `advice` what to write.
struct Assignment {
  std::string name;
  std::string section;
  std::string text;
  std::string bare;  // the word that stands where a text in quotes should: then there is a problem
  std::string problem;
  std::string advice;
  unsigned line = 0;
};

// Why a text is no config file: what stands there, and what to write instead.
struct ConfigError {
  std::string what;
  std::string advice;
  unsigned line = 0;
};

// In the order of the file. Any bytes may be given; O(size).
tl::expected<std::vector<Assignment>, ConfigError> read_config_text(std::string_view text);

}  // namespace larder::settings
