#include "build/cursor.hpp"

#include <cstring>

#include "build/expand.hpp"

namespace larder::build {

void Cursor::pass_newline() {
  if (*at_ == '\r' && at_[1] == '\n') ++at_;
  if (*at_ == '\n') {
    ++at_;
  } else if (*at_ == '\r') {
    refuse("a carriage return may stand only at the end of a line");
  } else if (at_ == end_) {
    return;
  } else {
    refuse("expected the end of the line");
  }
}

void Cursor::skip_empty_lines() {
  for (;;) {
    const char* line = at_;
    while (*line == ' ') ++line;
    if (*line == '#') {
      const void* newline = std::memchr(line, '\n', static_cast<std::size_t>(end_ - line));
      at_ = newline == nullptr ? end_ : static_cast<const char*>(newline) + 1;
    } else if (*line == '\n' || (*line == '\r' && line[1] == '\n')) {
      at_ = line + (*line == '\n' ? 1 : 2);
    } else if (line == end_) {
      at_ = end_;
      return;
    } else {
      return;
    }
  }
}

bool Cursor::is_indented() {
  for (;;) {
    const char* line = at_;
    while (*line == ' ') ++line;
    if (*line == '\t') refuse_at(line, "tabs do not indent here: use spaces");
    if (*line == '#') {
      const void* newline = std::memchr(line, '\n', static_cast<std::size_t>(end_ - line));
      at_ = newline == nullptr ? end_ : static_cast<const char*>(newline) + 1;
      continue;
    }
    return line != at_ && *line != '\n' && *line != '\r' && line != end_;
  }
}

void Cursor::skip_blanks() {
  for (;;) {
    if (*at_ == ' ') {
      ++at_;
    } else if (*at_ == '$' && at_[1] == '\n') {
      at_ += 2;
    } else if (*at_ == '$' && at_[1] == '\r' && at_[2] == '\n') {
      at_ += 3;
    } else {
      return;
    }
  }
}

bool Cursor::take(char c) {
  if (*at_ != c || at_ == end_) return false;
  ++at_;
  skip_blanks();
  return true;
}

void Cursor::end_line(std::string_view expected) {
  skip_blanks();
  if (!is_at_line_end()) refuse("expected " + std::string(expected));
  pass_newline();
}

std::string_view Cursor::name() {
  const char* begin = at_;
  while (is_name_char(*at_)) ++at_;
  const std::string_view found(begin, static_cast<std::size_t>(at_ - begin));
  skip_blanks();
  return found;
}

void Cursor::pass_escape() {
  const std::size_t size = escape_size({at_, static_cast<std::size_t>(end_ - at_)});
  if (size == 0) refuse("`$` begins a variable or an escape; a dollar sign itself is written `$$`");
  at_ += size;
}

std::string_view Cursor::value(bool& has_dollar) {
  has_dollar = false;
  const char* begin = at_;
  for (;;) {
    at_ += std::strcspn(at_, "\n\r$");
    if (*at_ == '$') {
      has_dollar = true;
      pass_escape();
    } else if (*at_ == '\0' && at_ != end_) {
      refuse("a zero byte cannot stand in a manifest");
    } else if (*at_ == '\r' && at_[1] != '\n') {
      refuse("a carriage return may stand only at the end of a line");
    } else {
      break;
    }
  }
  const std::string_view found(begin, static_cast<std::size_t>(at_ - begin));
  pass_newline();
  return found;
}

std::string_view Cursor::path(bool& has_dollar) {
  has_dollar = false;
  const char* begin = at_;
  for (;;) {
    const char c = *at_;
    if (c == '$') {
      has_dollar = true;
      pass_escape();
    } else if (c == ' ' || c == ':' || c == '|' || c == '\n' || c == '\r') {
      break;
    } else if (c == '\0') {
      if (at_ == end_) break;
      refuse("a zero byte cannot stand in a path");
    } else {
      ++at_;
    }
  }
  const std::string_view found(begin, static_cast<std::size_t>(at_ - begin));
  skip_blanks();
  return found;
}

}  // namespace larder::build
