#include "settings/config_text.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/ascii.hpp"
#include "base/utf8.hpp"
#include "settings/units.hpp"

namespace larder::settings {
namespace {

bool is_name_character(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

bool is_control(char c) noexcept {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
}

// The digits of an integer as they would stand on a command line; empty: it is none.
std::string integer_text(std::string_view word) {
  const bool is_negative = word.starts_with('-');
  if (is_negative || word.starts_with('+')) word.remove_prefix(1);
  std::string digits;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const bool joins = word[i] == '_' && i > 0 && is_digit(word[i - 1]) && i + 1 < word.size();
    if (joins) continue;
    if (!is_digit(word[i])) return {};
    digits.push_back(word[i]);
  }
  if (digits.size() > 1 && digits.front() == '0') return {};
  return is_negative && !digits.empty() ? '-' + digits : digits;
}

void append_utf8(std::string& text, char32_t character) {
  const auto push = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (character < 0x80) {
    push(character);
  } else if (character < 0x800) {
    push(0xc0 | character >> 6);
    push(0x80 | (character & 0x3f));
  } else if (character < 0x10000) {
    push(0xe0 | character >> 12);
    push(0x80 | (character >> 6 & 0x3f));
    push(0x80 | (character & 0x3f));
  } else {
    push(0xf0 | character >> 18);
    push(0x80 | (character >> 12 & 0x3f));
    push(0x80 | (character >> 6 & 0x3f));
    push(0x80 | (character & 0x3f));
  }
}

// Walks the text once, front to back. Each function that reads returns false when it has failed; error_ then
// says why.
class Reader {
 public:
  explicit Reader(std::string_view text) noexcept : rest_(text) {}

  bool read_file();
  std::vector<Assignment> assignments;
  ConfigError error;

 private:
  bool read_line();
  bool read_heading();
  bool read_setting();
  bool read_value(Assignment& one);
  bool read_text(std::string& text);
  bool read_escape(std::string& text);
  bool read_character(std::string& text);
  bool read_list(Assignment& one);
  bool skip_gap();
  bool skip_comment();
  bool end_line();

  char front() const noexcept { return rest_.empty() ? '\0' : rest_.front(); }
  bool at_newline() const noexcept {
    return rest_.empty() || rest_.front() == '\n' || rest_.starts_with("\r\n");
  }
  void take_newline() noexcept {
    if (rest_.empty()) return;
    rest_.remove_prefix(rest_.front() == '\r' ? 2 : 1);
    ++line_;
  }
  bool take(char c) noexcept {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void skip_blanks() noexcept { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size())); }
  std::string_view take_name() noexcept {
    std::size_t size = 0;
    while (size < rest_.size() && is_name_character(rest_[size])) ++size;
    const std::string_view name = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return name;
  }
  // What stands here up to the next blank, for messages.
  std::string word() const {
    return quoted(rest_.substr(0, std::min(rest_.find_first_of(" \t\r\n,]#"), rest_.size())));
  }
  bool fails(std::string what, std::string advice) {
    error = {std::move(what), std::move(advice), line_};
    return false;
  }

  std::string_view rest_;
  unsigned line_ = 1;
  std::string section_;
  std::set<std::string, std::less<>> sections_;
  std::set<std::string, std::less<>> names_;
};

constexpr std::string_view kLineAdvice = "write lines such as size-max = \"10G\"";

bool Reader::read_file() {
  if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
  while (!rest_.empty()) {
    if (!read_line()) return false;
  }
  return true;
}

bool Reader::read_line() {
  skip_blanks();
  if (front() == '[') {
    if (!read_heading()) return false;
  } else if (!at_newline() && front() != '#') {
    if (!read_setting()) return false;
  }
  return end_line();
}

bool Reader::end_line() {
  skip_blanks();
  if (!skip_comment()) return false;
  if (!at_newline()) return fails(word() + " stands behind what the line says", "begin a new line before it");
  take_newline();
  return true;
}

bool Reader::read_heading() {
  take('[');
  skip_blanks();
  const std::string_view name = take_name();
  skip_blanks();
  if (name.empty() || !take(']')) {
    return fails("a line that begins with [ is no heading",
                 "write a heading such as [disk], or leave it out");
  }
  section_ = name;
  if (!sections_.insert(section_).second) {
    return fails("the heading [" + shortened(section_) + "] stands twice", "write its settings together");
  }
  return true;
}

bool Reader::read_setting() {
  Assignment one;
  one.line = line_;
  one.section = section_;
  one.name = take_name();
  if (one.name.empty()) {
    return fails("a line begins with " + word() + ", which is no setting's name", std::string(kLineAdvice));
  }
  skip_blanks();
  if (!take('=')) {
    return fails(quoted(one.name) + " is not followed by =", "write " + shortened(one.name) + " = \"...\"");
  }
  if (!names_.insert(one.name).second) {
    return fails(quoted(one.name) + " is set twice", "remove one of the two lines");
  }
  skip_blanks();
  if (!read_value(one)) return false;
  assignments.push_back(std::move(one));
  return true;
}

bool Reader::read_value(Assignment& one) {
  if (at_newline() || front() == '#') {
    return fails(quoted(one.name) + " is set to nothing",
                 "write " + shortened(one.name) + " = \"\" to set it so");
  }
  if (front() == '"' || front() == '\'') return read_text(one.text);
  if (front() == '[') return read_list(one);
  const std::size_t size = std::min(rest_.find_first_of(" \t\r\n#"), rest_.size());
  const std::string_view bare = rest_.substr(0, size);
  if (bare == "true" || bare == "false") {
    one.text = bare == "true" ? "on" : "off";
  } else if (one.text = integer_text(bare); one.text.empty()) {
    const auto is_word = [](char c) { return is_name_character(c) || c == '.' || c == ':' || c == '+'; };
    if (!std::all_of(bare.begin(), bare.end(), is_word)) {
      return fails(quoted(bare) + " is no value", std::string(kLineAdvice));
    }
    one.problem = quoted(bare) + " stands without quotes";
    one.bare = bare;
    one.advice = "write " + shortened(one.name) + " = \"" + shortened(bare) + '"';
  }
  rest_.remove_prefix(size);
  return true;
}

bool Reader::read_text(std::string& text) {
  const char quote = front();
  rest_.remove_prefix(1);
  while (!take(quote)) {
    if (at_newline()) return fails("a text has no closing quote", "end it in the line where it begins");
    if (quote == '"' && take('\\')) {
      if (!read_escape(text)) return false;
    } else if (!read_character(text)) {
      return false;
    }
  }
  return true;
}

bool Reader::read_character(std::string& text) {
  if (is_control(front())) return fails("a control character stands in a text", "remove it");
  const std::size_t size = utf8_sequence_size(rest_);
  if (size == 0) return fails("the text is no UTF-8", "save the file as UTF-8");
  text += rest_.substr(0, size);
  rest_.remove_prefix(size);
  return true;
}

bool Reader::read_escape(std::string& text) {
  constexpr std::string_view kLetters = "btnfr\"\\";
  constexpr std::string_view kMeanings = "\b\t\n\f\r\"\\";
  const char letter = front();
  if (const std::size_t at = kLetters.find(letter); letter != '\0' && at != std::string_view::npos) {
    text.push_back(kMeanings[at]);
    rest_.remove_prefix(1);
    return true;
  }
  const std::size_t digits = letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
  std::uint32_t character = 0;
  if (digits != 0 && rest_.size() > digits) {
    const char* const begin = rest_.data() + 1;
    const auto [end, failed] = std::from_chars(begin, begin + digits, character, 16);
    const bool is_surrogate = character >= 0xd800 && character <= 0xdfff;
    if (end == begin + digits && failed == std::errc{} && character <= 0x10ffff && !is_surrogate) {
      append_utf8(text, character);
      rest_.remove_prefix(1 + digits);
      return true;
    }
  }
  return fails("a backslash begins nothing that is known",
               "write \\\\ for a backslash, or single quotes around the text");
}

bool Reader::read_list(Assignment& one) {
  take('[');
  for (bool is_first = true;; is_first = false) {
    if (!skip_gap()) return false;
    if (take(']')) return true;
    if (!is_first && !take(',')) return fails("a list has no comma or ] before " + word(), "write it");
    if (!is_first && !skip_gap()) return false;
    if (!is_first && take(']')) return true;
    if (rest_.empty()) return fails("a list has no closing ]", "write it behind the last text");
    if (front() != '"' && front() != '\'') {
      return fails("a list holds " + word() + ", which is no text", "write texts in quotes");
    }
    std::string text;
    if (!read_text(text)) return false;
    if (text.find(':') != std::string::npos && one.problem.empty()) {
      one.problem = "a path in a list cannot hold a colon";
      one.advice = "rename it or use a link without one";
    }
    if (!one.text.empty()) one.text.push_back(':');
    one.text += text;
  }
}

bool Reader::skip_gap() {
  for (;;) {
    skip_blanks();
    if (!skip_comment()) return false;
    if (rest_.empty() || !at_newline()) return true;
    take_newline();
  }
}

bool Reader::skip_comment() {
  if (!take('#')) return true;
  std::string ignored;
  while (!at_newline()) {
    ignored.clear();
    if (!read_character(ignored)) return false;
  }
  return true;
}

}  // namespace

tl::expected<std::vector<Assignment>, ConfigError> read_config_text(std::string_view text) {
  Reader reader(text);
  if (!reader.read_file()) return tl::unexpected<ConfigError>(std::move(reader.error));
  for (Assignment& one : reader.assignments) {
    if (!one.problem.empty()) one.text.clear();
  }
  return std::move(reader.assignments);
}

}  // namespace larder::settings
