#include "build/syntax_error.hpp"

#include <algorithm>

namespace larder::build {
namespace {

constexpr std::size_t kShownMax = 100;

}  // namespace

Error syntax_error(std::string_view file, std::string_view text, std::size_t offset, std::string_view what) {
  offset = std::min(offset, text.size());
  // What is missing at the very end of a file is missing in its last line.
  if (offset == text.size() && offset > 0 && text[offset - 1] == '\n') --offset;
  const std::size_t before = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const auto lines = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin), '\n');
  std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::size_t column = std::min(offset - begin, line.size());
  std::string message(file);
  message += ':' + std::to_string(lines + 1) + ':' + std::to_string(column + 1) + ": ";
  message += what;
  std::string shown;
  if (column > kShownMax * 3 / 4) {
    const std::size_t cut = column - kShownMax / 2;
    line.remove_prefix(cut);
    column -= cut;
    shown = "...";
    column += shown.size();
  }
  shown += line.substr(0, kShownMax);
  if (line.size() > kShownMax) shown += "...";
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  message += '\n' + shown + '\n' + std::string(column, ' ') + '^';
  return Error{Code::invalid_argument, std::move(message)};
}

}  // namespace larder::build
