// What `$` means in a manifest: `$x` and `${x}` are variables, `$$`, `$ ` and `$:` the character itself, `$^`
// a newline, and `$` at the end of a line joins the next one, whose indentation is dropped.
#pragma once

#include <string>
#include <string_view>

namespace larder::build {

constexpr bool is_variable_char(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}
// Names of rules, pools and in `${}` may have dots besides.
constexpr bool is_name_char(char c) noexcept {
  return is_variable_char(c) || c == '.';
}

// The length of the `$` sequence at the front of `text`; 0: it is none.
inline std::size_t escape_size(std::string_view text) noexcept {
  if (text.size() < 2 || text[0] != '$') return 0;
  const char c = text[1];
  if (c == '$' || c == ' ' || c == ':' || c == '^') return 2;
  if (c == '\n' || (c == '\r' && text.size() > 2 && text[2] == '\n')) {
    std::size_t size = c == '\n' ? 2 : 3;
    while (size < text.size() && text[size] == ' ') ++size;
    return size;
  }
  if (c == '{') {
    std::size_t size = 2;
    while (size < text.size() && is_name_char(text[size])) ++size;
    return size > 2 && size < text.size() && text[size] == '}' ? size + 1 : 0;
  }
  std::size_t size = 1;
  while (size < text.size() && is_variable_char(text[size])) ++size;
  return size > 1 ? size : 0;
}

// Appends what `raw` comes out as; `append(name)` appends a variable's value. Whatever is no `$` sequence
// stays as it is.
template <typename Append>
void expand(std::string_view raw, std::string& out, const Append& append) {
  while (!raw.empty()) {
    const std::size_t dollar = raw.find('$');
    out += raw.substr(0, dollar);
    if (dollar == std::string_view::npos) return;
    raw.remove_prefix(dollar);
    const std::size_t size = escape_size(raw);
    if (size == 0) {
      out += '$';
      raw.remove_prefix(1);
      continue;
    }
    const char c = raw[1];
    if (c == '$' || c == ' ' || c == ':') {
      out += c;
    } else if (c == '^') {
      out += '\n';
    } else if (c == '{') {
      append(raw.substr(2, size - 3));
    } else if (is_variable_char(c)) {
      append(raw.substr(1, size - 1));
    }
    raw.remove_prefix(size);
  }
}

}  // namespace larder::build
