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
    {"__has_embed", "uses __has_embed, and no depfile tells what that looked for", false},
    {".incbin", "takes in a file by .incbin that no depfile tells", false},
    {".include", "takes in a file by .include that no depfile tells", false},
};

constexpr std::string_view kPlaceWords[] = {"__FILE__", "__BASE_FILE__", "__builtin_FILE", "source_location"};

bool is_word_char(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

// `text` as compilers read it where a line goes on with the next in the midst of a word; empty: none does so.
std::string joined(std::string_view text) {
  const bool has_trigraphs = text.find("?\?/") != text.npos;  // each stands for a backslash
  bool is_split = false;
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t slash = text.find_first_of(has_trigraphs ? "\\?" : "\\", at);
    if (slash == text.npos && !is_split) return {};
    result.append(text.substr(at, slash - at));
    if (slash == text.npos) break;
    const std::size_t size = text[slash] == '\\' ? 1 : text.substr(slash).starts_with("?\?/") ? 3 : 0;
    const std::size_t end = size == 0 ? text.npos : text.find_first_not_of(" \t\r\v\f", slash + size);
    if (end == text.npos || text[end] != '\n') {
      result += text[slash];
      at = slash + 1;
      continue;
    }
    at = end + 1;
    is_split |= !result.empty() && is_word_char(result.back()) && at < text.size() &&
                (is_word_char(text[at]) || text[at] == '\\' || text[at] == '?');
  }
  return is_split ? result : std::string();
}

bool is_binary(std::string_view bytes) {
  return bytes.starts_with("\177ELF") || bytes.starts_with("!<arch>\n");
}

std::string_view word_of(std::string_view path, std::string_view text) {
  return path.starts_with(kPackagesPlace) || is_binary(text) ? std::string_view() : place_word_in(text);
}

std::string_view why_unsure(std::string_view path, std::string_view text, bool is_traced) noexcept {
  // A program may know these words without using them.
  if (is_traced && text.starts_with("\177ELF")) return {};
  const std::string whole = joined(text);
  if (!whole.empty()) text = whole;
  for (const Unsure& each : kUnsure) {
    if (is_traced && !each.counts_in_system) continue;
    if ((each.counts_in_system || !path.starts_with(kPackagesPlace)) && text.find(each.word) != text.npos)
      return each.why;
  }
  return {};
}

}  // namespace

std::string_view place_word_in(std::string_view text) {
  const std::string whole = joined(text);
  if (!whole.empty()) text = whole;
  for (const std::string_view word : kPlaceWords)
    if (text.find(word) != text.npos) return word;
  return {};
}

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
  place_words_.try_emplace(content, word_of(path, bytes));
  proof.is_known = true;
  return proof;
}

std::optional<std::string_view> FileProofs::place_word(const std::string& path, ContentId content) {
  const auto [place, is_new] = place_words_.try_emplace(content);
  if (!is_new || path.starts_with(kPackagesPlace)) return place->second;
  // It was learnt from a closure, which does not say.
  std::string bytes;
  unsigned mode = 0;
  if (read_bytes(path, bytes, mode) &&
      digest_of_bytes(as_bytes(bytes), (mode & 0111) != 0) == history_[content].digest)
    return place->second = word_of(path, bytes);
  place_words_.erase(place);
  return std::nullopt;
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
