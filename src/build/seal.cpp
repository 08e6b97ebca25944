#include "build/seal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "build/for_all.hpp"
#include "build/ingredients.hpp"
#include "build/log.hpp"
#include "format/byte_reader.hpp"

namespace larder::build {
namespace {

using format::append_integer;

constexpr std::string_view kSealMagic = "larder build seal";
constexpr std::uint32_t kGroup = 256;
constexpr std::size_t kManyGroups = 3;
constexpr std::size_t kDigestSize = 16;

Digest digest_of(std::string_view bytes) noexcept {
  return format::checksum(as_bytes(bytes));
}

Digest digest_of_prints(std::span<const Fingerprint> prints) noexcept {
  return format::checksum(std::as_bytes(prints));
}

Digest digest_of_variable(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? Digest{} : digest_of('=' + std::string(value));
}

void append_text(std::string& to, std::string_view text) {
  append_integer(to, static_cast<std::uint32_t>(text.size()));
  to += text;
}

void append_digest(std::string& to, const Digest& digest) {
  append_integer(to, digest.low);
  append_integer(to, digest.high);
}

class SealReader {
 public:
  explicit SealReader(std::string_view bytes) noexcept : rest_(as_bytes(bytes)) {}
  std::uint32_t number() noexcept {
    std::uint32_t value = 0;
    good_ = good_ && rest_.read(value);
    return good_ ? value : 0;
  }
  std::string_view bytes(std::size_t size) noexcept {
    std::string_view bytes;
    good_ = good_ && rest_.read(bytes, size);
    return good_ ? bytes : std::string_view();
  }
  std::string_view text() noexcept { return bytes(number()); }
  Digest digest() noexcept {
    Digest digest;
    good_ = good_ && rest_.read(digest.low) && rest_.read(digest.high);
    return digest;
  }
  bool is_good() const noexcept { return good_; }
  bool is_whole() const noexcept { return good_ && rest_.at_end(); }

 private:
  format::ByteReader rest_;
  bool good_ = true;
};

// Looks at files one after the other; fastest where those of one directory follow each other.
class Looker {
 public:
  ~Looker() { leave(); }
  Seen look(const char* path) {
    const char* const slash = std::strrchr(path, '/');
    if (slash == nullptr || slash == path) return look_at(path);
    const std::string_view directory(path, static_cast<std::size_t>(slash - path));
    if (directory != directory_) {
      leave();
      directory_ = directory;
      fd_ = ::open(directory_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    return fd_ < 0 ? look_at(path) : look_at(slash + 1, fd_);
  }

 private:
  void leave() noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  std::string directory_;
  int fd_ = -1;
};

bool are_files_unbroken(SealReader& reader) {
  const std::uint32_t files = reader.number();
  const std::uint32_t size = reader.number();
  const std::uint32_t groups = reader.number();
  const std::string_view digests = reader.bytes(groups * kDigestSize);
  const std::string_view paths = reader.bytes(size);
  if (!reader.is_whole() || groups != (files + kGroup - 1) / kGroup) return false;
  if (files != 0 && (paths.empty() || paths.back() != '\0')) return false;
  std::vector<const char*> starts;  // of each group's paths
  const char* at = paths.data();
  const char* const end = at + paths.size();
  for (std::uint32_t i = 0; i < files; ++i) {
    if (at == end) return false;
    if (i % kGroup == 0) starts.push_back(at);
    at += std::strlen(at) + 1;
  }
  if (at != end) return false;
  std::atomic<bool> is_broken{false};
  for_all(groups, 1, kManyGroups, [&](std::size_t group) {
    if (is_broken.load(std::memory_order_relaxed)) return;
    std::array<Fingerprint, kGroup> prints;
    const std::size_t count = std::min<std::size_t>(kGroup, files - group * kGroup);
    const char* path = starts[group];
    Looker looker;
    for (std::size_t i = 0; i < count; ++i, path += std::strlen(path) + 1)
      prints[i] = looker.look(path).print;
    if (digest_of_prints(std::span(prints).first(count)) !=
        SealReader(digests.substr(group * kDigestSize)).digest())
      is_broken.store(true, std::memory_order_relaxed);
  });
  return !is_broken;
}

}  // namespace

SealMaker::SealMaker(const Asked& asked, const std::set<std::string, std::less<>>& variables,
                     const std::map<std::string, std::string, std::less<>>& programs)
    : head_(kSealMagic) {
  append_integer(head_, kSealVersion);
  append_digest(head_, asked.surroundings);
  append_integer(head_, static_cast<std::uint32_t>(asked.words.size()));
  for (const std::string& word : asked.words) append_text(head_, word);
  append_digest(head_, digest_of_prints(std::span(&asked.log, 1)));
  append_integer(head_, static_cast<std::uint32_t>(variables.size()));
  for (const std::string& name : variables) {
    append_text(head_, name);
    append_digest(head_, digest_of_variable(name));
  }
  append_integer(head_, static_cast<std::uint32_t>(programs.size()));
  for (const auto& [word, found] : programs) {
    append_text(head_, word);
    append_text(head_, found);
  }
}

void SealMaker::add(std::string_view path, const Fingerprint& print) {
  paths_ += path;
  paths_ += '\0';
  group_.push_back(print);
  ++files_;
  if (group_.size() == kGroup) end_group();
}

void SealMaker::end_group() {
  append_digest(digests_, digest_of_prints(group_));
  group_.clear();
}

std::string SealMaker::finish() && {
  if (!group_.empty()) end_group();
  std::string seal = std::move(head_);
  append_integer(seal, files_);
  append_integer(seal, static_cast<std::uint32_t>(paths_.size()));
  append_integer(seal, static_cast<std::uint32_t>(digests_.size() / kDigestSize));
  seal += digests_;
  seal += paths_;
  append_digest(seal, digest_of(seal));
  return seal;
}

bool is_unbroken(std::string_view seal, const Asked& asked) {
  if (seal.size() < kSealMagic.size() + kDigestSize || !seal.starts_with(kSealMagic)) return false;
  const std::string_view bytes = seal.substr(0, seal.size() - kDigestSize);
  if (SealReader check(seal.substr(bytes.size())); check.digest() != digest_of(bytes)) return false;
  SealReader reader(bytes.substr(kSealMagic.size()));
  if (reader.number() != kSealVersion || reader.digest() != asked.surroundings) return false;
  if (reader.number() != asked.words.size()) return false;
  for (const std::string& word : asked.words)
    if (reader.text() != word) return false;
  if (reader.digest() != digest_of_prints(std::span(&asked.log, 1))) return false;
  for (std::uint32_t count = reader.number(); count != 0 && reader.is_good(); --count) {
    const std::string name(reader.text());
    if (reader.digest() != digest_of_variable(name)) return false;
  }
  for (std::uint32_t count = reader.number(); count != 0 && reader.is_good(); --count) {
    const std::string_view word = reader.text();
    if (reader.text() != find_program(word)) return false;
  }
  return reader.is_good() && are_files_unbroken(reader);
}

std::string seal_path(const std::string& manifest_file) {
  return std::string(kLogDirectory) + '/' + kept_name(manifest_file) + ".seal";
}

}  // namespace larder::build
