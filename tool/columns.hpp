// Rows of text laid out in columns for people.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "larder/recipe.hpp"

namespace larder::tool {

struct Column {
  std::string_view title;  // upper case; empty titles in every column leave the head line out
  bool is_number = false;  // to the right
  unsigned width = 0;      // at least
};

class Columns {
 public:
  explicit Columns(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // As many cells as there are columns.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const noexcept { return rows_.empty(); }
  // For many rows that are not to be held in memory: a line of its own, with the widths that columns have by
  // themselves.
  std::string line(std::initializer_list<std::string_view> cells, unsigned width = 0) const;
  // Lines end where their last cell does, or are cut to `width` characters; 0: not cut.
  std::string text(unsigned width = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// The first 12 hex digits, as keys are shown everywhere.
inline std::string short_key(const Key& key) {
  return key.hex().substr(0, 12);
}

// `line` cut to `width` characters, with "..." where something is left out.
std::string cut(std::string_view line, unsigned width);

// `text` broken into lines of at most `width` characters, each behind `indent` blanks.
std::string wrapped(std::string_view text, unsigned indent, unsigned width = 80);

}  // namespace larder::tool
