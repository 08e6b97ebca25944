#include "build/jobserver.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace larder::build {

std::unique_ptr<Jobserver> Jobserver::of_flags(std::string_view flags) {
  std::string_view place;
  for (const std::string_view flag : {"--jobserver-auth=", "--jobserver-fds="}) {
    const std::size_t at = flags.rfind(flag);
    if (at == flags.npos) continue;
    place = flags.substr(at + flag.size());
    place = place.substr(0, place.find(' '));
    break;
  }
  if (place.empty()) return nullptr;
  std::string to_read;
  std::string to_write;
  if (place.starts_with("fifo:")) {
    to_read = to_write = place.substr(5);
  } else {
    const std::size_t comma = place.find(',');
    if (comma == place.npos) return nullptr;
    const auto is_number = [](std::string_view text) {
      return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
    };
    if (!is_number(place.substr(0, comma)) || !is_number(place.substr(comma + 1))) return nullptr;
    // Opened anew, so that reading without waiting is ours alone.
    to_read = "/proc/self/fd/" + std::string(place.substr(0, comma));
    to_write = "/proc/self/fd/" + std::string(place.substr(comma + 1));
  }
  const int read_fd = ::open(to_read.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (read_fd < 0) return nullptr;
  const int write_fd = ::open(to_write.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
  if (write_fd < 0) {
    ::close(read_fd);
    return nullptr;
  }
  return std::unique_ptr<Jobserver>(new Jobserver(read_fd, write_fd));
}

Jobserver::~Jobserver() {
  while (own_is_taken_ || !tokens_.empty()) give_back();
  ::close(read_fd_);
  ::close(write_fd_);
}

bool Jobserver::take() {
  if (!own_is_taken_) return own_is_taken_ = true;
  char token = 0;
  if (::read(read_fd_, &token, 1) != 1) return false;
  tokens_ += token;
  return true;
}

void Jobserver::give_back() {
  if (tokens_.empty()) {
    own_is_taken_ = false;
    return;
  }
  const char token = tokens_.back();
  tokens_.pop_back();
  (void)!::write(write_fd_, &token, 1);
}

}  // namespace larder::build
