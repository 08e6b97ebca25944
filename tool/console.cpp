#include "tool/console.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace larder::tool {

Console Console::of_process() noexcept {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool plain = (no_colour != nullptr && *no_colour != '\0') || terminal == nullptr ||
                     std::strcmp(terminal, "dumb") == 0;
  return {stdout, stderr, ::isatty(STDOUT_FILENO) == 1, ::isatty(STDERR_FILENO) == 1,
          plain ? Colour::never : Colour::when_terminal};
}

namespace {

unsigned columns_of(std::FILE* file) noexcept {
  winsize size{};
  const int fd = ::fileno(file);
  return fd >= 0 && ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

unsigned Console::width() const noexcept {
  return columns_of(err_);
}

unsigned Console::out_width() const noexcept {
  return out_is_terminal_ ? columns_of(out_) : 0;
}

void Console::out(std::string_view data) noexcept {
  if (std::fwrite(data.data(), 1, data.size(), out_) != data.size()) failed_ = true;
}

void Console::err(std::string_view text) noexcept {
  (void)std::fwrite(text.data(), 1, text.size(), err_);
}

void Console::complain(const Complaint& complaint) noexcept {
  tell("larder: ", complaint);
}
void Console::warn(const Complaint& complaint) noexcept {
  tell("larder: warning: ", complaint);
}

void Console::tell(std::string_view first, const Complaint& complaint) noexcept {
  std::fflush(out_);
  err(first);
  err(printable(complaint.what));
  if (!complaint.why.empty()) {
    err("\n  why: ");
    err(printable(complaint.why));
  }
  if (!complaint.advice.empty()) {
    err("\n  try: ");
    err(printable(complaint.advice));
  }
  err("\n");
}

bool Console::flush() noexcept {
  if (std::fflush(out_) != 0) failed_ = true;
  return !failed_;
}

std::string Console::strong(std::string_view text) const {
  if (!out_has_colour()) return std::string(text);
  return "\033[1m" + std::string(text) + "\033[0m";
}

std::string printable(std::string_view text) {
  std::string clean(text);
  for (char& c : clean) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\t') || byte == 0x7f) c = '?';
  }
  return clean;
}

}  // namespace larder::tool
