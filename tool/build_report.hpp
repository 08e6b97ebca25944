// What people see of a build: `[12/340] CXX foo.o` and the output of commands. One line that is redrawn on a
// terminal, a line for each step elsewhere.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "build/build.hpp"
#include "tool/console.hpp"

namespace larder::tool {

// The terminal that a report is seen on.
struct Screen {
  unsigned columns = 0;     // 0: it is none
  bool can_redraw = false;  // a line of it
};
Screen screen_of(const Console& console);

class BuildReport final : public build::BuildListener {
 public:
  // With a `screen` that is not the console's own: that of a client of the watch.
  BuildReport(Console& console, const build::Manifest& manifest, const std::string& format, unsigned jobs,
              bool verbose, bool quiet, const Screen* screen = nullptr);

  void on_start(build::StepId step, const Counts& counts) override;
  void on_finish(build::StepId step, const Counts& counts, int code, std::string_view output) override;
  void on_restore(build::StepId step, const Counts& counts, std::string_view output) override;
  void on_cancel(build::StepId step) override;
  int on_tick(const Counts& counts) override;
  void on_explain(const std::string& text) override;
  void on_warning(const std::string& what) override;
  // Time counts from here.
  void begin() { began_ = std::chrono::steady_clock::now(); }
  // Leaves the terminal's cursor on an empty line.
  void end();

 private:
  std::string description(build::StepId step) const;
  std::string status(const Counts& counts) const;
  void draw(const std::string& line);
  void draw_now();
  void print(const std::string& text);
  bool is_on_console(build::StepId step) const;
  void print_output(std::string_view output);

  Console& console_;
  const build::Manifest& manifest_;
  const std::string format_;
  const unsigned jobs_;
  const bool verbose_;
  const bool quiet_;
  std::map<build::StepId, std::chrono::steady_clock::time_point> running_;
  std::chrono::steady_clock::time_point began_;
  const std::optional<Screen> screen_;  // none: the console's, whose width may change
  const bool redraws_;                  // on a terminal that can
  std::string line_;                    // to be drawn, soon
  std::chrono::steady_clock::time_point drawn_at_;
  bool is_drawn_ = false;
  bool console_is_taken_ = false;
  std::string held_;  // while a command has the console
};

// `text` without the escape sequences that colour it.
std::string without_colour(std::string_view text);

}  // namespace larder::tool
