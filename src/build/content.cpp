#include "build/content.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "build/archive.hpp"
#include "build/text_file.hpp"
#include "build/thin_archive.hpp"
#include "larder/recipe.hpp"

namespace larder::build {
namespace {

constexpr std::size_t kReadAtOnce = 64 * 1024;

// So that an empty file, an empty directory and a device differ.
Digest marked(Digest digest, unsigned mark) noexcept {
  digest.high ^= 0x9e3779b97f4a7c15u * mark;
  return digest;
}

Digest digest_of_number(std::uint64_t number, unsigned mark) noexcept {
  return marked(format::checksum(as_bytes({reinterpret_cast<const char*>(&number), sizeof number})), mark);
}

// `is_thin`: it begins as a thin archive does.
std::optional<Digest> digest_of_file(int fd, std::size_t size, bool& is_thin) noexcept {
  alignas(64) static thread_local std::array<std::byte, kReadAtOnce> buffer;
  std::size_t have = 0;
  const auto look = [&] { is_thin = as_text({buffer.data(), have}).starts_with(kThinArchive); };
  // A small file is there after one read, and a second one that finds its end.
  while (have < buffer.size()) {
    const ssize_t got = ::read(fd, buffer.data() + have, buffer.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) {
      look();
      return format::checksum({buffer.data(), have});
    }
    have += static_cast<std::size_t>(got);
    if (have == size && size < buffer.size()) {
      look();
      // The length is as it was told: a writer who goes on will move the change time.
      return format::checksum({buffer.data(), have});
    }
  }
  look();
  format::RunningChecksum running;
  running.add({buffer.data(), have});
  for (;;) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return running.result();
    running.add({buffer.data(), static_cast<std::size_t>(got)});
  }
}

// With what its members hold; of an archive that cannot be read as one, its own.
Digest digest_with_members(const char* path, const Digest& own) {
  const Result<std::string> bytes = read_text_file(path);
  const auto members = bytes ? thin_members(path, *bytes) : std::nullopt;
  if (!members) return own;
  std::string all(reinterpret_cast<const char*>(&own), sizeof own);
  for (const std::string& member : *members) {
    const int fd = ::open(member.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat status {};
    bool is_thin = false;  // no archive is a member of another
    Digest held;           // nothing, of one that is missing
    if (fd >= 0 && ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
      held = digest_of_file(fd, static_cast<std::size_t>(status.st_size), is_thin).value_or(Digest{});
    if (fd >= 0) ::close(fd);
    all.append(reinterpret_cast<const char*>(&held), sizeof held);
  }
  return marked(format::checksum(as_bytes(all)), 7);
}

Digest digest_of_directory(const char* path) {
  std::vector<std::string> names;
  DIR* const directory = ::opendir(path);
  if (directory == nullptr) return digest_of_number(static_cast<std::uint64_t>(errno), 5);
  while (const dirent* entry = ::readdir(directory)) {
    std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    name += '\0';
    name += entry->d_type == DT_DIR ? 'd' : 'f';
    names.push_back(std::move(name));
  }
  ::closedir(directory);
  std::sort(names.begin(), names.end());
  std::string all;
  for (const std::string& name : names) all.append(name) += '\0';
  return marked(format::checksum(as_bytes(all)), 2);
}

}  // namespace

Fingerprint fingerprint(const struct stat& status) noexcept {
  Fingerprint print;
  print.changed_ns = to_ns(status.st_ctim);
  print.modified_ns = to_ns(status.st_mtim);
  print.inode = status.st_ino ^ (static_cast<std::uint64_t>(status.st_dev) << 40);
  const std::uint64_t mode = (status.st_mode & S_IFMT) | (status.st_mode & 0111);
  print.size = static_cast<std::uint64_t>(status.st_size) ^ (mode << 48);
  return print;
}

Imprint imprint(const Fingerprint& print) noexcept {
  if (print == Fingerprint{}) return {};
  const std::uint64_t all = format::checksum(std::as_bytes(std::span(&print, 1))).low;
  const std::uint64_t modified = format::checksum(std::as_bytes(std::span(&print.modified_ns, 1))).low;
  return {static_cast<std::uint32_t>(modified), static_cast<std::uint32_t>(all),
          static_cast<std::uint32_t>(all >> 32)};
}

std::int64_t file_clock_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return to_ns(now);
}

bool is_settled(const Fingerprint& print, std::int64_t now_ns) noexcept {
  const std::int64_t latest = std::max(print.changed_ns, print.modified_ns);
  const bool is_coarse = print.changed_ns % kSecondNs == 0;
  return latest + (is_coarse ? 3 * kSecondNs : 0) < now_ns;
}

Seen look_at(const char* path, int directory) noexcept {
  struct stat status {};
  if (::fstatat(directory, path, &status, 0) != 0) {
    if (::fstatat(directory, path, &status, AT_SYMLINK_NOFOLLOW) != 0) return {};
    return {Kind::other, fingerprint(status)};
  }
  const Kind kind = S_ISREG(status.st_mode)   ? Kind::file
                    : S_ISDIR(status.st_mode) ? Kind::directory
                                              : Kind::other;
  return {kind, fingerprint(status)};
}

Digested digest(const char* path, bool as_output) noexcept {
  Digested result;
  const std::int64_t now = file_clock_ns();
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) {
    const int error = errno;
    result.seen = look_at(path);
    if (result.seen.kind == Kind::missing) return result;
    struct stat status {};
    std::array<char, 4096> text{};
    const ssize_t size = ::readlink(path, text.data(), text.size());
    if (size >= 0 && ::stat(path, &status) != 0) {
      result.digest = marked(format::checksum(as_bytes({text.data(), static_cast<std::size_t>(size)})), 3);
      return result;
    }
    result.digest = digest_of_number(static_cast<std::uint64_t>(error), 5);
    return result;
  }
  struct stat status {};
  if (::fstat(fd, &status) != 0) {
    ::close(fd);
    return result;
  }
  result.seen.print = fingerprint(status);
  result.is_settled = is_settled(result.seen.print, now);
  if (S_ISREG(status.st_mode)) {
    result.seen.kind = Kind::file;
    bool is_thin = false;
    const auto bytes = digest_of_file(fd, static_cast<std::size_t>(status.st_size), is_thin);
    if (bytes) {
      result.digest = marked(is_thin ? digest_with_members(path, *bytes) : *bytes,
                             (status.st_mode & 0111) != 0 ? 1 : 0);  // as digest_of_bytes
    } else {
      result.digest = digest_of_number(static_cast<std::uint64_t>(errno), 5);
      result.is_settled = false;
    }
  } else if (S_ISDIR(status.st_mode)) {
    result.seen.kind = Kind::directory;
    result.digest = as_output ? digest_of_number(0, 6) : digest_of_directory(path);
  } else {
    result.seen.kind = Kind::other;
    result.digest = digest_of_number(status.st_rdev, 4);
  }
  ::close(fd);
  return result;
}

Digest digest_of_bytes(BytesView bytes, bool may_execute) noexcept {
  return marked(format::checksum(bytes), may_execute ? 1 : 0);
}

std::string hex(const Digest& digest) {
  return Key{.high = digest.high, .low = digest.low}.hex();
}

}  // namespace larder::build
