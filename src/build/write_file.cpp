#include "build/write_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace larder::build {

bool write_file(const std::string& path, std::string_view text) noexcept {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return false;
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const int error = errno;
      ::close(fd);
      errno = error;
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return ::close(fd) == 0;
}

}  // namespace larder::build
