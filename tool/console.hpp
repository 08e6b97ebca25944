// The Console is where the command writes: data to `out`, all else to `err`. What is a terminal is decided
// once. Used by one thread at a time.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace larder::tool {

// A failure as people need it told.
struct Complaint {
  std::string what;  // `no entry begins with 12ab`
  std::string why;
  std::string advice;  // what to do
};

enum class Colour : unsigned char { never, when_terminal, always };

class Console {
 public:
  Console(std::FILE* out, std::FILE* err, bool out_is_terminal, bool err_is_terminal, Colour colour) noexcept
      : out_(out),
        err_(err),
        out_is_terminal_(out_is_terminal),
        err_is_terminal_(err_is_terminal),
        colour_(colour) {}
  // stdout and stderr; NO_COLOR and TERM=dumb switch colour off.
  static Console of_process() noexcept;

  void set_colour(Colour colour) noexcept { colour_ = colour; }
  bool out_is_terminal() const noexcept { return out_is_terminal_; }
  bool err_is_terminal() const noexcept { return err_is_terminal_; }
  bool out_has_colour() const noexcept { return has_colour(out_is_terminal_); }
  // Of stderr, 80 when it has none.
  unsigned width() const noexcept;
  // What fits a line of stdout; 0 when it is no terminal: no limit.
  unsigned out_width() const noexcept;

  void out(std::string_view data) noexcept;
  void err(std::string_view text) noexcept;
  // Three short lines on stderr.
  void complain(const Complaint& complaint) noexcept;
  void warn(const Complaint& complaint) noexcept;
  // False when something that was written to `out` did not arrive.
  bool flush() noexcept;

  // `text` as a headline on `out`: bold where there is colour, else as it is.
  std::string strong(std::string_view text) const;

 private:
  bool has_colour(bool is_terminal) const noexcept {
    return colour_ == Colour::always || (colour_ == Colour::when_terminal && is_terminal);
  }
  void tell(std::string_view first, const Complaint& complaint) noexcept;

  std::FILE* out_;
  std::FILE* err_;
  bool out_is_terminal_;
  bool err_is_terminal_;
  Colour colour_;
  bool failed_ = false;
};

// Text from outside made fit for a terminal: control characters become `?`.
std::string printable(std::string_view text);

}  // namespace larder::tool
