// A Cursor goes over the text of a manifest or of a dyndep file, which share their spelling. What is wrong it
// throws as a Wrong, which the reader of the file turns into a syntax error: a border of this floor, nothing
// is thrown through it.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace larder::build {

// Where the text is wrong, and what was expected.
struct Wrong {
  const char* at;
  std::string what;
};

class Cursor {
 public:
  // `text` must be followed by a zero byte, as a std::string's is.
  explicit Cursor(std::string_view text) noexcept : at_(text.data()), end_(text.data() + text.size()) {}

  const char* at() const noexcept { return at_; }
  bool is_at_end() const noexcept { return at_ == end_; }
  char peek() const noexcept { return *at_; }
  [[noreturn]] void refuse(std::string what) const { refuse_at(at_, std::move(what)); }
  [[noreturn]] static void refuse_at(const char* at, std::string what) { throw Wrong{at, std::move(what)}; }

  // Passes over empty lines and comments, to the beginning of a line that says something, or to the end.
  void skip_empty_lines();
  // At the beginning of a line: whether it is indented and says something. Passes over comments before it.
  bool is_indented();
  // Passes over blanks and joined lines.
  void skip_blanks();
  bool take(char c);  // and the blanks behind it
  // Takes the end of the line.
  void end_line(std::string_view expected);
  bool is_at_line_end() const noexcept { return *at_ == '\n' || *at_ == '\r' || at_ == end_; }
  // A name, and the blanks behind it; empty when there is none.
  std::string_view name();
  // The rest of the line as written, without the blanks before it, and takes its end. `has_dollar`: it needs
  // expansion.
  std::string_view value(bool& has_dollar);
  // A path as written, and the blanks behind it; empty when there is none.
  std::string_view path(bool& has_dollar);

 private:
  void pass_escape();
  void pass_newline();
  const char* at_;
  const char* end_;
};

}  // namespace larder::build
