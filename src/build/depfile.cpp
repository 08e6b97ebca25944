#include "build/depfile.hpp"

#include "build/syntax_error.hpp"

namespace larder::build {
namespace {

// One name, or the colon behind targets.
class DepfileCursor {
 public:
  explicit DepfileCursor(std::string_view text) noexcept : text_(text) {}

  std::size_t at() const noexcept { return at_; }
  bool is_at_end() const noexcept { return at_ >= text_.size(); }
  // Passes over blanks and joined lines; true at the end of a line, which is taken.
  bool pass_blanks() {
    for (; !is_at_end(); ++at_) {
      const char c = text_[at_];
      if (c == '\\' && newline_size(at_ + 1) != 0) {
        at_ += newline_size(at_ + 1);
      } else if (newline_size(at_) != 0) {
        at_ += newline_size(at_);
        return true;
      } else if (c != ' ' && c != '\t') {
        return false;
      }
    }
    return true;
  }
  // Up to a blank, the end of a line, or a colon that ends a target. `ends_target`: there was such a colon.
  std::string name(bool& ends_target);

 private:
  char peek(std::size_t at) const noexcept { return at < text_.size() ? text_[at] : '\n'; }
  std::size_t newline_size(std::size_t at) const noexcept {
    if (at >= text_.size()) return 0;
    if (text_[at] == '\n') return 1;
    return text_[at] == '\r' && at + 1 < text_.size() && text_[at + 1] == '\n' ? 2 : 0;
  }
  // A carriage return alone is none: it belongs to a name.
  bool is_blank(std::size_t at) const noexcept {
    return at >= text_.size() || text_[at] == ' ' || text_[at] == '\t' || newline_size(at) != 0;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::string DepfileCursor::name(bool& ends_target) {
  ends_target = false;
  std::string found;
  while (!is_at_end()) {
    const char c = text_[at_];
    if (is_blank(at_)) break;
    if (c == '\\') {
      std::size_t count = 1;
      while (peek(at_ + count) == '\\') ++count;
      const char next = peek(at_ + count);
      if (next == ' ' || next == '\t') {
        found.append(count % 2 == 0 ? count : count / 2, '\\');
        at_ += count;
        if (count % 2 == 0) break;
        found += next;
        ++at_;
      } else if (newline_size(at_ + count) != 0) {
        found.append(count - 1, '\\');
        at_ += count - 1;  // the last one joins the lines
        break;
      } else if (next == '#' || (next == ':' && !is_blank(at_ + count + 1))) {
        found.append(count - 1, '\\');
        found += next;
        at_ += count + 1;
      } else {
        found.append(count, '\\');
        at_ += count;
      }
    } else if (c == '$' && peek(at_ + 1) == '$') {
      found += '$';
      at_ += 2;
    } else if (c == ':' && is_blank(at_ + 1)) {
      ends_target = true;
      ++at_;
      break;
    } else {
      found += c;
      ++at_;
    }
  }
  return found;
}

}  // namespace

Result<std::vector<std::string>> read_depfile(std::string_view file, std::string_view text) {
  std::vector<std::string> found;
  DepfileCursor cursor(text);
  bool has_targets = false;
  bool has_colon = false;
  for (;;) {
    const bool line_ended = cursor.pass_blanks();
    if (line_ended) {
      if (has_targets && !has_colon)
        return tl::unexpected(syntax_error(file, text, cursor.is_at_end() ? text.size() : cursor.at() - 1,
                                           "expected `:` after the target"));
      has_targets = has_colon = false;
      if (cursor.is_at_end()) return found;
      continue;
    }
    const std::size_t begin = cursor.at();
    bool ends_target = false;
    std::string name = cursor.name(ends_target);
    if (ends_target && has_colon)
      return tl::unexpected(syntax_error(file, text, begin, "expected a prerequisite, not another target"));
    if (ends_target && name.empty() && !has_targets)
      return tl::unexpected(syntax_error(file, text, begin, "expected a target before `:`"));
    if (!has_colon) {
      has_targets = true;
      has_colon = ends_target;
    } else {
      if (name.find('\0') != std::string::npos)
        return tl::unexpected(syntax_error(file, text, begin, "a zero byte cannot stand in a path"));
      found.push_back(std::move(name));
    }
  }
}

}  // namespace larder::build
