#include "tool/build_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "tool/terminal_width.hpp"

namespace larder::tool {
namespace {

constexpr std::chrono::milliseconds kSlow{2000};
constexpr int kRedrawMs = 500;
constexpr std::chrono::milliseconds kDrawPause{50};  // between two, at least
constexpr std::uint64_t kLongMs = 5000;              // what is left is told above this

using Seconds = std::chrono::duration<double>;

std::string time_text(double seconds) {
  const auto whole = static_cast<unsigned long long>(std::llround(seconds));
  if (whole < 90) return std::to_string(whole) + " s";
  if (whole < 90 * 60) return std::to_string((whole + 30) / 60) + " min";
  return std::to_string((whole + 1800) / 3600) + " h";
}

// In the middle, so that both ends can be read.
std::string cut_to(const std::string& line, std::size_t width) {
  constexpr std::string_view kDots = "...";
  if (terminal_columns(line) <= width || width <= kDots.size()) return line;
  const std::size_t back = (width - kDots.size()) / 2;
  const std::size_t front = fitting_front(line, width - kDots.size() - back);
  return line.substr(0, front) + std::string(kDots) + line.substr(line.size() - fitting_back(line, back));
}

}  // namespace

Screen screen_of(const Console& console) {
  const char* const terminal = std::getenv("TERM");
  const bool is_plain = terminal == nullptr || std::string_view(terminal) == "dumb";
  return {console.out_width(), console.out_is_terminal() && !is_plain};
}

std::string without_colour(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\033') {
      plain += text[i];
      continue;
    }
    if (i + 1 >= text.size() || text[i + 1] != '[') continue;
    for (i += 2; i < text.size() && (text[i] < '@' || text[i] > '~'); ++i) continue;
  }
  return plain;
}

BuildReport::BuildReport(Console& console, const build::Manifest& manifest, const std::string& format,
                         unsigned jobs, bool verbose, bool quiet, const Screen* screen)
    : console_(console),
      manifest_(manifest),
      format_(format),
      jobs_(std::max(jobs, 1u)),
      verbose_(verbose),
      quiet_(quiet),
      began_(std::chrono::steady_clock::now()),
      screen_(screen == nullptr ? std::nullopt : std::optional(*screen)),
      redraws_((screen == nullptr ? screen_of(console) : *screen).can_redraw) {}

bool BuildReport::is_on_console(build::StepId step) const {
  return manifest_.step(step).pool == build::kConsolePool;
}

std::string BuildReport::description(build::StepId step) const {
  std::string text = verbose_ ? "" : manifest_.value(step, "description");
  if (text.empty()) text = manifest_.value(step, "command");
  return printable(text);
}

std::string BuildReport::status(const Counts& counts) const {
  std::string text;
  const double spent = Seconds(std::chrono::steady_clock::now() - began_).count();
  const auto fixed = [](double number, const char* format) {
    char digits[64];
    (void)std::snprintf(digits, sizeof digits, format, number);
    return std::string(digits);
  };
  for (std::size_t i = 0; i < format_.size(); ++i) {
    if (format_[i] != '%' || i + 1 == format_.size()) {
      text += format_[i];
      continue;
    }
    switch (format_[++i]) {
      case '%':
        text += '%';
        break;
      case 's':
        text += std::to_string(counts.finished + counts.running);
        break;
      case 't':
        text += std::to_string(counts.total);
        break;
      case 'r':
        text += std::to_string(counts.running);
        break;
      case 'u':
        text += std::to_string(counts.total - std::min(counts.total, counts.finished + counts.running));
        break;
      case 'f':
        text += std::to_string(counts.finished);
        break;
      case 'p':
        text += fixed(counts.total == 0 ? 0 : 100.0 * counts.finished / counts.total, "%3.0f%%");
        break;
      case 'o':
      case 'c':
        text += spent > 0 ? fixed(counts.finished / spent, "%.1f") : "?";
        break;
      case 'e':
        text += fixed(spent, "%.3f");
        break;
      case 'w':
        text += time_text(spent);
        break;
      case 'E':
      case 'W':
        text += counts.left_ms == 0 ? "?" : time_text(static_cast<double>(counts.left_ms) / 1000 / jobs_);
        break;
      default:
        text += format_.substr(i - 1, 2);
    }
  }
  return text;
}

void BuildReport::print(const std::string& text) {
  if (console_is_taken_) {
    held_ += text;
    return;
  }
  if (is_drawn_) console_.out("\r\033[K");
  is_drawn_ = false;
  line_.clear();
  console_.out(text);
}

void BuildReport::draw(const std::string& line) {
  if (console_is_taken_) return;
  line_ = line;
  if (!is_drawn_ || std::chrono::steady_clock::now() - drawn_at_ >= kDrawPause) draw_now();
}

void BuildReport::draw_now() {
  // A cursor behind the last column would wrap.
  const unsigned columns = screen_ ? screen_->columns : console_.out_width();
  console_.out("\r" + cut_to(line_, std::max(columns, 1u) - 1) + "\033[K");
  line_.clear();
  drawn_at_ = std::chrono::steady_clock::now();
  is_drawn_ = true;
  (void)console_.flush();
}

void BuildReport::on_start(build::StepId step, const Counts& counts) {
  running_[step] = std::chrono::steady_clock::now();
  if (quiet_) return;
  const std::string line = status(counts) + description(step);
  if (is_on_console(step)) {
    print(line + '\n');
    (void)console_.flush();
    console_is_taken_ = true;
  } else if (redraws_ && !verbose_) {
    draw(line);
  }
}

void BuildReport::on_finish(build::StepId step, const Counts& counts, int code, std::string_view output) {
  running_.erase(step);
  if (is_on_console(step)) {
    console_is_taken_ = false;
    if (!held_.empty()) print(std::exchange(held_, {}));
  }
  const std::string line = status(counts) + description(step);
  const bool stays = !redraws_ || verbose_ || !output.empty() || code != 0;
  if (!quiet_ && !is_on_console(step)) {
    if (stays) {
      print(line + '\n');
    } else {
      draw(line);
    }
  }
  if (code != 0) {
    std::string text = "FAILED: [code=" + std::to_string(code) + "]";
    for (const build::TargetId target : manifest_.outputs(step))
      text += ' ' + printable(manifest_.path(target));
    print(text + '\n' + manifest_.value(step, "command") + '\n');
  }
  print_output(output);
  if (!console_is_taken_) (void)console_.flush();
}

void BuildReport::print_output(std::string_view output) {
  if (output.empty()) return;
  std::string text =
      console_.out_is_terminal() || console_.out_has_colour() ? std::string(output) : without_colour(output);
  if (!text.ends_with('\n')) text += '\n';
  print(text);
}

void BuildReport::on_restore(build::StepId step, const Counts& counts, std::string_view output) {
  const std::string line = status(counts) + description(step) + " (restored)";
  if (!quiet_) {
    if (!redraws_ || verbose_ || !output.empty()) {
      print(line + '\n');
    } else {
      draw(line);
    }
  }
  print_output(output);
  if (!console_is_taken_) (void)console_.flush();
}

void BuildReport::on_cancel(build::StepId step) {
  running_.erase(step);
  if (is_on_console(step)) console_is_taken_ = false;
}

int BuildReport::on_tick(const Counts& counts) {
  if (quiet_ || !redraws_ || verbose_ || running_.empty()) return -1;
  const auto oldest = std::min_element(running_.begin(), running_.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto took = std::chrono::steady_clock::now() - oldest->second;
  if (took < kSlow) {
    if (line_.empty() || console_is_taken_) return kRedrawMs;
    const auto since = std::chrono::steady_clock::now() - drawn_at_;
    if (since < kDrawPause) return static_cast<int>(kDrawPause.count());
    draw_now();
    return kRedrawMs;
  }
  std::string line = status(counts) + description(oldest->first) + " (" + time_text(Seconds(took).count());
  const std::uint64_t left_ms = counts.left_ms / jobs_;
  if (left_ms > kLongMs) line += ", " + time_text(static_cast<double>(left_ms) / 1000) + " left";
  draw(line + ')');
  return kRedrawMs;
}

void BuildReport::on_explain(const std::string& text) {
  end();
  (void)console_.flush();
  console_.err("larder explain: " + printable(text) + '\n');
}

void BuildReport::on_warning(const std::string& what) {
  end();
  (void)console_.flush();
  console_.err("larder: warning: " + printable(what) + '\n');
}

void BuildReport::end() {
  if (!held_.empty()) {
    console_is_taken_ = false;
    print(std::exchange(held_, {}));
  }
  if (!line_.empty()) draw_now();
  if (is_drawn_) console_.out("\n");
  is_drawn_ = false;
}

}  // namespace larder::tool
