#include "tool/columns.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace larder::tool {
namespace {

// Code points, which is what a terminal shows of nearly everything.
std::size_t width_of(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

std::string Columns::text() const {
  std::vector<std::size_t> widths;
  bool has_head = false;
  for (const Column& column : columns_) {
    widths.push_back(width_of(column.title));
    has_head = has_head || !column.title.empty();
  }
  for (const auto& row : rows_) {
    LARDER_ASSERT(row.size() == columns_.size());
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string all;
  const auto append = [&](const auto& cell_of) {
    std::size_t owed = 0;  // blanks that are written only when something follows
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string_view cell = cell_of(i);
      const std::size_t gap = widths[i] - width_of(cell);
      if (columns_[i].is_number) owed += gap;
      if (!cell.empty()) {
        all.append(owed, ' ');
        owed = 0;
        all.append(cell);
      }
      if (!columns_[i].is_number) owed += gap;
      owed += 2;
    }
    all.push_back('\n');
  };
  if (has_head) append([&](std::size_t i) { return columns_[i].title; });
  for (const auto& row : rows_) append([&](std::size_t i) { return std::string_view(row[i]); });
  return all;
}

std::string wrapped(std::string_view text, unsigned indent, unsigned width) {
  std::string all;
  std::size_t used = 0;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(" \n");
    const std::string_view word = text.substr(0, end);
    const bool breaks = end != std::string_view::npos && text[end] == '\n';
    if (!word.empty()) {
      if (used != 0 && used + 1 + width_of(word) > width) {
        all.push_back('\n');
        used = 0;
      }
      if (used == 0) {
        all.append(indent, ' ');
        used = indent;
      } else {
        all.push_back(' ');
        ++used;
      }
      all.append(word);
      used += width_of(word);
    }
    if (breaks) {
      all.push_back('\n');
      used = 0;
    }
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  if (used != 0) all.push_back('\n');
  return all;
}

}  // namespace larder::tool
