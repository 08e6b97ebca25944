#include "build/file_proofs.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "build/paths.hpp"
#include "recipe/canonical.hpp"

namespace larder::build {
namespace {

struct Unsure {
  std::string_view word;
  std::string_view why;
  bool counts_in_system;
};
// What counts in the system's files, too, is the clock; the others matter where no trace tells of them.
constexpr Unsure kUnsure[] = {
    {"__DATE__", "uses __DATE__, which is different each time", true},
    {"__TIME__", "uses __TIME__, which is different each time", true},
    {"__TIMESTAMP__", "uses __TIMESTAMP__, which is different each time", true},
    {"__has_include", "uses __has_include, and no depfile tells what that looked for", false},
    {".incbin", "takes in a file by .incbin that no depfile tells", false},
    {".include", "takes in a file by .include that no depfile tells", false},
};

std::string_view why_unsure(std::string_view path, std::string_view text, bool is_traced) noexcept {
  // A program may know these words without using them.
  if (is_traced && text.starts_with("\177ELF")) return {};
  for (const Unsure& each : kUnsure) {
    if (is_traced && !each.counts_in_system) continue;
    if ((each.counts_in_system || !path.starts_with(kPackagesPlace)) && text.find(each.word) != text.npos)
      return each.why;
  }
  return {};
}

}  // namespace

format::FileStamp to_stamp(const Fingerprint& print) noexcept {
  if (print == Fingerprint{}) return {};
  // The fingerprint's inode holds the device, its size the type.
  return {1, print.inode, print.size, print.modified_ns, print.changed_ns};
}

bool read_bytes(const std::string& path, std::string& bytes, unsigned& mode) noexcept {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) return false;
  struct stat status {};
  bool is_read = ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  try {
    if (is_read) bytes.resize(static_cast<std::size_t>(status.st_size));
  } catch (...) {
    is_read = false;
  }
  std::size_t have = 0;
  while (is_read && have < bytes.size()) {
    const ssize_t got = ::read(fd, bytes.data() + have, bytes.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) is_read = false;
    if (got > 0) have += static_cast<std::size_t>(got);
  }
  ::close(fd);
  mode = status.st_mode & 07777;
  return is_read;
}

const FileProof& FileProofs::look(const std::string& path, ContentId content) {
  const auto [place, is_new] = proofs_.try_emplace(content);
  FileProof& proof = place->second;
  if (!is_new && proof.is_known) return proof;
  std::string bytes;
  unsigned mode = 0;
  if (!read_bytes(path, bytes, mode)) return proof;
  if (digest_of_bytes(as_bytes(bytes), (mode & 0111) != 0) != history_[content].digest) return proof;
  proof.digest = canonical::digest_of(as_bytes(bytes));
  proof.why_not = why_unsure(path, bytes, reader_ == Reader::traced);
  proof.is_known = true;
  return proof;
}

void FileProofs::learn(ContentId content, const Fingerprint& print, const format::KnownFile& known) {
  if (known.stamp == format::FileStamp{} || known.stamp != to_stamp(print)) return;
  if (known.quick != history_[content].digest) return;
  FileProof& proof = proofs_[content];
  if (proof.is_known) return;
  // Whoever wrote the closure had found nothing in it that makes it unsure.
  proof = {known.digest, true, {}};
}

}  // namespace larder::build
