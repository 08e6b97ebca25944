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

namespace {

template <typename Cells, typename WidthOf>
void append_line(std::string& all, const std::vector<Column>& columns, const WidthOf& width_of_column,
                 const Cells& cells, unsigned width) {
  LARDER_ASSERT(cells.size() == columns.size());
  const std::size_t begin = all.size();
  std::size_t owed = 0;  // blanks that are written only when something follows
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string_view cell = *(cells.begin() + static_cast<std::ptrdiff_t>(i));
    const std::size_t used = width_of(cell);
    const std::size_t gap = width_of_column(i) > used ? width_of_column(i) - used : 0;
    if (columns[i].is_number) owed += gap;
    if (!cell.empty()) {
      all.append(owed, ' ');
      owed = 0;
      all.append(cell);
    }
    if (!columns[i].is_number) owed += gap;
    owed += 2;
  }
  if (width != 0 && all.size() - begin > width) {
    all.replace(begin, std::string::npos, cut(std::string_view(all).substr(begin), width));
  }
  all.push_back('\n');
}

}  // namespace

std::string Columns::line(std::initializer_list<std::string_view> cells, unsigned width) const {
  std::string all;
  const auto width_of_column = [&](std::size_t i) {
    return std::max<std::size_t>(columns_[i].width, columns_[i].title.size());
  };
  append_line(all, columns_, width_of_column, cells, width);
  return all;
}

std::string Columns::text(unsigned width) const {
  std::vector<std::size_t> widths;
  bool has_head = false;
  for (const Column& column : columns_) {
    widths.push_back(std::max<std::size_t>(column.width, column.title.size()));
    has_head = has_head || !column.title.empty();
  }
  for (const auto& row : rows_) {
    LARDER_ASSERT(row.size() == columns_.size());
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string all;
  const auto width_of_column = [&](std::size_t i) { return widths[i]; };
  std::vector<std::string_view> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  if (has_head) append_line(all, columns_, width_of_column, titles, width);
  for (const auto& row : rows_) append_line(all, columns_, width_of_column, row, width);
  return all;
}

std::string cut(std::string_view line, unsigned width) {
  constexpr std::string_view kDots = "...";
  if (width_of(line) <= width) return std::string(line);
  const std::size_t keep = width > kDots.size() ? width - kDots.size() : 0;
  std::size_t end = 0;
  for (std::size_t seen = 0; end < line.size(); ++end) {
    if ((static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) continue;
    if (seen++ == keep) break;
  }
  return std::string(line.substr(0, end)) + std::string(kDots.substr(0, width));
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
