#include "build/text_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace larder::build {

Result<std::string> read_text_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return fail(errno == ENOENT ? Code::not_found : Code::io, "open " + path + ": " + std::strerror(errno));
  std::string text;
  struct stat status {};
  if (::fstat(fd, &status) == 0 && status.st_size > 0)
    text.reserve(static_cast<std::size_t>(status.st_size) + 4097);
  for (;;) {
    const std::size_t have = text.size();
    text.resize(std::max<std::size_t>(have + 4096, text.capacity()));
    const ssize_t got = ::read(fd, text.data() + have, text.size() - have);
    const int error = errno;
    text.resize(have + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got > 0 || (got < 0 && error == EINTR)) continue;
    ::close(fd);
    if (got < 0) return fail(Code::io, "read " + path + ": " + std::strerror(error));
    return text;
  }
}

}  // namespace larder::build
