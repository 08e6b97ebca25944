// The shortest edit script of Myers, "An O(ND) Difference Algorithm and Its Variations" (Algorithmica 1986),
// over lines, after what the texts share at both ends is set aside. Its memory grows with the square of the
// number of differing lines, so beyond kEditsMax the middle is taken as replaced as a whole.
#include "recipe/text_diff.hpp"

#include <algorithm>

#include "recipe/readable.hpp"

namespace larder {
namespace {

constexpr std::ptrdiff_t kEditsMax = 200;
constexpr std::size_t kContext = 2;
constexpr std::size_t kWidth = 100;

using Lines = std::vector<std::string_view>;

// Each with its newline, so that a missing one at the end is a difference.
Lines split(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t size = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return lines;
}

struct Edit {
  char mark;
  std::size_t before;  // places of the line, or of the next one where the text lacks it
  std::size_t after;
};

class EditScript {
 public:
  EditScript(const Lines& before, const Lines& after) : before_(before), after_(after) {
    const std::size_t shorter = std::min(before.size(), after.size());
    while (front_ < shorter && before[front_] == after[front_]) ++front_;
    while (front_ + back_ < shorter && before[before.size() - 1 - back_] == after[after.size() - 1 - back_])
      ++back_;
    n_ = static_cast<std::ptrdiff_t>(before.size() - front_ - back_);
    m_ = static_cast<std::ptrdiff_t>(after.size() - front_ - back_);
  }

  // The edits between the common ends, in order.
  std::vector<Edit> edits() {
    std::vector<Edit> all;
    if (!search()) {
      for (std::ptrdiff_t x = 0; x < n_; ++x) all.push_back(edit('-', x, 0));
      for (std::ptrdiff_t y = 0; y < m_; ++y) all.push_back(edit('+', n_, y));
      return all;
    }
    std::ptrdiff_t x = n_;
    std::ptrdiff_t y = m_;
    for (auto d = static_cast<std::ptrdiff_t>(rounds_.size()) - 1; d >= 0; --d) {
      const std::ptrdiff_t k = x - y;
      const bool is_insertion = d > 0 && (k == -d || (k != d && reach(d - 1, k - 1) < reach(d - 1, k + 1)));
      const std::ptrdiff_t from =
          d == 0 ? 0 : reach(d - 1, is_insertion ? k + 1 : k - 1) + (is_insertion ? 0 : 1);
      while (x > from) all.push_back(edit(' ', --x, --y));
      if (d == 0) break;
      all.push_back(is_insertion ? edit('+', x, --y) : edit('-', --x, y));
    }
    std::ranges::reverse(all);
    return all;
  }

  std::size_t front() const noexcept { return front_; }
  std::size_t back() const noexcept { return back_; }

 private:
  Edit edit(char mark, std::ptrdiff_t x, std::ptrdiff_t y) const noexcept {
    return {mark, front_ + static_cast<std::size_t>(x), front_ + static_cast<std::size_t>(y)};
  }
  // How far round `d` came on diagonal `k`; diagonals of one round differ by two.
  std::ptrdiff_t reach(std::ptrdiff_t d, std::ptrdiff_t k) const noexcept {
    return rounds_[static_cast<std::size_t>(d)][static_cast<std::size_t>((k + d) / 2)];
  }
  bool search() {
    for (std::ptrdiff_t d = 0; d <= std::min(kEditsMax, n_ + m_); ++d) {
      std::vector<std::ptrdiff_t> round;
      for (std::ptrdiff_t k = -d; k <= d; k += 2) {
        std::ptrdiff_t x = 0;
        if (d > 0) {
          const bool is_insertion = k == -d || (k != d && reach(d - 1, k - 1) < reach(d - 1, k + 1));
          x = is_insertion ? reach(d - 1, k + 1) : reach(d - 1, k - 1) + 1;
        }
        std::ptrdiff_t y = x - k;
        while (x >= 0 && y >= 0 && x < n_ && y < m_ && line_before(x) == line_after(y)) ++x, ++y;
        round.push_back(x);
        if (x >= n_ && y >= m_ && k == n_ - m_) {
          rounds_.push_back(std::move(round));
          return true;
        }
      }
      rounds_.push_back(std::move(round));
    }
    return false;
  }
  std::string_view line_before(std::ptrdiff_t x) const noexcept {
    return before_[front_ + static_cast<std::size_t>(x)];
  }
  std::string_view line_after(std::ptrdiff_t y) const noexcept {
    return after_[front_ + static_cast<std::size_t>(y)];
  }

  const Lines& before_;
  const Lines& after_;
  std::size_t front_ = 0;
  std::size_t back_ = 0;
  std::ptrdiff_t n_ = 0;
  std::ptrdiff_t m_ = 0;
  std::vector<std::vector<std::ptrdiff_t>> rounds_;
};

constexpr std::size_t kFewBytes = 16;  // of characters that may be one letter

std::string_view without_newline(std::string_view line) noexcept {
  return line.ends_with('\n') ? line.substr(0, line.size() - 1) : line;
}

// `other` is the line that took its place, if any: a long line is shown from shortly before they differ.
std::string shown(std::string_view line, std::string_view other) {
  line = without_newline(line);
  if (other.empty()) return to_readable(line, 0, kWidth);
  other = without_newline(other);
  const std::size_t front = common_ends(line, other).front;
  const std::size_t from = line.size() > kWidth && front > kWidth / 2 ? front - kWidth / 4 : 0;
  if (line == other || !look_alike(line, other, from, kWidth)) return to_readable(line, from, kWidth);
  return to_exact(line, front, kWidth);
}

// A run of edits from `begin`: how many are '-' and then '+'.
struct Replacement {
  std::size_t removed = 0;
  std::size_t added = 0;
};

Replacement replacement_at(const std::vector<Edit>& edits, std::size_t begin) noexcept {
  Replacement run;
  std::size_t i = begin;
  for (; i < edits.size() && edits[i].mark == '-'; ++i) ++run.removed;
  for (; i < edits.size() && edits[i].mark == '+'; ++i) ++run.added;
  return run;
}

}  // namespace

Span common_ends(std::string_view before, std::string_view after) noexcept {
  const std::size_t shorter = std::min(before.size(), after.size());
  Span span{0, 0};
  while (span.front < shorter && before[span.front] == after[span.front]) ++span.front;
  while (span.front + span.back < shorter &&
         before[before.size() - 1 - span.back] == after[after.size() - 1 - span.back]) {
    ++span.back;
  }
  return span;
}

bool look_alike(std::string_view before, std::string_view after, std::size_t from, std::size_t width) {
  const auto is_beyond = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
  const Span ends = common_ends(before, after);
  const std::string_view was = before.substr(ends.front, before.size() - ends.front - ends.back);
  const std::string_view is = after.substr(ends.front, after.size() - ends.front - ends.back);
  if (was.size() <= kFewBytes && is.size() <= kFewBytes &&
      (std::ranges::any_of(was, is_beyond) || std::ranges::any_of(is, is_beyond)))
    return true;
  return to_readable(before, from, width) == to_readable(after, from, width);
}

std::vector<DiffLine> diff_lines(std::string_view before, std::string_view after, std::size_t lines_max) {
  const Lines a = split(before);
  const Lines b = split(after);
  EditScript script(a, b);
  std::vector<Edit> edits;
  // Lines around the first and the last edit count like any line in both.
  const std::size_t above = std::min(script.front(), kContext);
  const std::size_t below = std::min(script.back(), kContext);
  for (std::size_t i = script.front() - above; i < script.front(); ++i) edits.push_back({' ', i, i});
  for (const Edit& edit : script.edits()) edits.push_back(edit);
  for (std::size_t i = 0; i < below; ++i) {
    edits.push_back({' ', a.size() - script.back() + i, b.size() - script.back() + i});
  }

  // An edit is shown when it changes something or stands close to one that does.
  std::vector<bool> is_shown(edits.size(), false);
  for (std::size_t i = 0; i < edits.size(); ++i) {
    if (edits[i].mark == ' ') continue;
    const std::size_t last = std::min(i + kContext, edits.size() - 1);
    for (std::size_t near = i - std::min(i, kContext); near <= last; ++near) is_shown[near] = true;
  }

  std::vector<DiffLine> lines;
  const auto other_of = [&](std::size_t i) -> std::string_view {
    std::size_t begin = i;
    while (begin > 0 && edits[begin - 1].mark != ' ') --begin;
    const Replacement run = replacement_at(edits, begin);
    if (edits[i].mark == '-') {
      const std::size_t j = i - begin;
      return j < run.added && j < run.removed ? b[edits[begin + run.removed + j].after] : std::string_view{};
    }
    const std::size_t j = i - begin - run.removed;
    return i >= begin + run.removed && j < run.removed ? a[edits[begin + j].before] : std::string_view{};
  };
  for (std::size_t i = 0; i < edits.size(); ++i) {
    if (!is_shown[i]) continue;
    if (lines.size() >= lines_max) {
      lines.push_back({'@', "more lines differ"});
      break;
    }
    if (i == 0 || !is_shown[i - 1]) lines.push_back({'@', "line " + std::to_string(edits[i].after + 1)});
    const std::string_view line = edits[i].mark == '+' ? b[edits[i].after] : a[edits[i].before];
    lines.push_back({edits[i].mark, shown(line, edits[i].mark == ' ' ? std::string_view{} : other_of(i))});
    if (!line.ends_with('\n')) lines.push_back({'\\', "no newline at the end"});
  }
  return lines;
}

}  // namespace larder
