#include "build/seal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <system_error>

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
constexpr std::size_t kWriteAtOnce = 64 * 1024;

Digest digest_of(std::string_view bytes) noexcept {
  return format::checksum(as_bytes(bytes));
}

Digest digest_of_prints(std::span<const Imprint> prints) noexcept {
  return format::checksum(std::as_bytes(prints));
}

Digest digest_of_log(const Fingerprint& print) noexcept {
  return format::checksum(std::as_bytes(std::span(&print, 1)));
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
  bool is_at_end() const noexcept { return rest_.at_end(); }

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

// Tells of the directories of its files, those above each other not. Most are in that of the one before.
void tell_directories(const SealedFiles& group, const BeforeLooking& tell) {
  std::string_view last;
  bool is_first = true;
  group.each([&](std::string_view path) {
    const std::string_view parent = parent_of(path);
    if (!is_first && parent == last) return;
    is_first = false;
    last = parent;
    tell(parent);
  });
}

// The numbers of groups, those with files of several directories first: a directory of very many files takes
// long to be watched, and there is work to do meanwhile.
std::vector<std::uint32_t> mixed_first(std::span<const SealedFiles> groups) {
  const auto is_mixed = [&](std::uint32_t i) {
    const std::string_view paths = groups[i].paths.substr(0, groups[i].paths.size() - 1);
    const std::size_t last = paths.rfind('\0');
    return parent_of(paths.data()) != parent_of(last == paths.npos ? paths : paths.substr(last + 1));
  };
  std::vector<std::uint32_t> order(groups.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_partition(order.begin(), order.end(), is_mixed);
  return order;
}

// False: they are not as they should be.
bool take_groups(SealReader& reader, std::vector<SealedFiles>& groups) {
  for (std::uint32_t count = reader.number(); count != 0; count = reader.number()) {
    const std::uint32_t size = reader.number();
    const std::uint32_t kind = reader.number();
    const Digest digest = reader.digest();
    const std::string_view paths = reader.bytes(size);
    if (!reader.is_good() || count > kGroup || kind > static_cast<std::uint32_t>(SealedKind::manifest) ||
        paths.empty() || paths.back() != '\0' || std::count(paths.begin(), paths.end(), '\0') != count)
      return false;
    groups.push_back({static_cast<SealedKind>(kind), false, count, digest, paths});
  }
  return reader.is_good() && reader.is_at_end();
}

// What it says, where it is of what is asked; nothing was looked at.
std::optional<SealFound> read_seal(std::string_view seal, const Asked& asked) {
  if (seal.size() < kSealMagic.size() + kDigestSize || !seal.starts_with(kSealMagic)) return std::nullopt;
  const std::string_view bytes = seal.substr(0, seal.size() - kDigestSize);
  if (SealReader check(seal.substr(bytes.size())); check.digest() != digest_of(bytes)) return std::nullopt;
  SealReader reader(bytes.substr(kSealMagic.size()));
  if (reader.number() != kSealVersion || reader.digest() != asked.surroundings) return std::nullopt;
  if (reader.number() != asked.words.size()) return std::nullopt;
  for (const std::string& word : asked.words)
    if (reader.text() != word) return std::nullopt;
  if (reader.digest() != digest_of_log(asked.log)) return std::nullopt;
  SealFound found;
  for (std::uint32_t count = reader.number(); count != 0 && reader.is_good(); --count) {
    const std::string name(reader.text());
    if (reader.digest() != digest_of_variable(name)) return std::nullopt;
    found.variables.insert(name);
  }
  for (std::uint32_t count = reader.number(); count != 0 && reader.is_good(); --count) {
    const std::string_view word = reader.text();
    const std::string_view place = reader.text();
    if (place != find_program(word)) return std::nullopt;
    found.programs.emplace(word, place);
  }
  if (!reader.is_good() || !take_groups(reader, found.files)) return std::nullopt;
  return found;
}

}  // namespace

SealMaker::SealMaker(Write write, const Asked& asked, const std::set<std::string, std::less<>>& variables,
                     const std::map<std::string, std::string, std::less<>>& programs)
    : write_(std::move(write)), pending_(kSealMagic) {
  append_integer(pending_, kSealVersion);
  append_digest(pending_, asked.surroundings);
  append_integer(pending_, static_cast<std::uint32_t>(asked.words.size()));
  for (const std::string& word : asked.words) append_text(pending_, word);
  append_digest(pending_, digest_of_log(asked.log));
  append_integer(pending_, static_cast<std::uint32_t>(variables.size()));
  for (const std::string& name : variables) {
    append_text(pending_, name);
    append_digest(pending_, digest_of_variable(name));
  }
  append_integer(pending_, static_cast<std::uint32_t>(programs.size()));
  for (const auto& [word, found] : programs) {
    append_text(pending_, word);
    append_text(pending_, found);
  }
}

void SealMaker::add(std::string_view path, SealedKind kind, const Imprint& print) {
  Group& group = groups_[static_cast<std::size_t>(kind)];
  group.paths += path;
  group.paths += '\0';
  group.prints.push_back(print);
  if (group.prints.size() == kGroup) end_group(kind);
}

void SealMaker::end_group(SealedKind kind) {
  Group& group = groups_[static_cast<std::size_t>(kind)];
  append_integer(pending_, static_cast<std::uint32_t>(group.prints.size()));
  append_integer(pending_, static_cast<std::uint32_t>(group.paths.size()));
  append_integer(pending_, static_cast<std::uint32_t>(kind));
  append_digest(pending_, digest_of_prints(group.prints));
  pending_ += group.paths;
  group.prints.clear();
  group.paths.clear();
  if (pending_.size() >= kWriteAtOnce) give();
}

void SealMaker::give() {
  sum_.add(as_bytes(pending_));
  write_(pending_);
  pending_.clear();
}

void SealMaker::finish() {
  for (std::uint32_t kind = 0; kind < groups_.size(); ++kind)
    if (!groups_[kind].prints.empty()) end_group(static_cast<SealedKind>(kind));
  append_integer(pending_, std::uint32_t{0});
  give();
  append_digest(pending_, sum_.result());
  write_(pending_);
}

bool is_same_still(const SealedFiles& group) {
  if (group.kind == SealedKind::fresh) return false;
  std::array<Imprint, kGroup> prints;
  const char* path = group.paths.data();
  Looker looker;
  for (std::uint32_t i = 0; i < group.count; ++i, path += std::strlen(path) + 1)
    prints[i] = imprint(looker.look(path).print);
  return digest_of_prints(std::span(prints).first(group.count)) == group.digest;
}

bool SealFound::holds() const noexcept {
  return std::all_of(files.begin(), files.end(), [](const SealedFiles& group) { return group.is_same; });
}

SealLook::SealLook(SealFound found, std::size_t groups_max)
    : found_(std::move(found)), groups_max_(groups_max) {
  const std::size_t groups = found_.files.size();
  const std::size_t threads = groups < kManyGroups ? 1 : threads_for_all();
  try {
    for (std::size_t i = 1; i < threads; ++i)
      threads_.emplace_back([this] {
        while (look_at_next()) continue;
      });
  } catch (const std::system_error&) {  // then this one looks at more of them
  }
}

SealLook::~SealLook() {
  is_ended_.store(true, std::memory_order_relaxed);
  join();
}

void SealLook::join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

// False: there is nothing more to be looked at, or no use in it.
bool SealLook::look_at_next() {
  if (is_ended_.load(std::memory_order_relaxed) || others_.load(std::memory_order_relaxed) > groups_max_)
    return false;
  const std::size_t i = next_.fetch_add(1, std::memory_order_relaxed);
  if (i >= found_.files.size()) return false;
  found_.files[i].is_same = is_same_still(found_.files[i]);
  if (!found_.files[i].is_same) others_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool SealLook::find_other() {
  while (others_.load(std::memory_order_relaxed) == 0 && look_at_next()) continue;
  if (others_.load(std::memory_order_relaxed) == 0) join();
  return others_.load(std::memory_order_relaxed) != 0;
}

std::optional<SealFound> SealLook::finish() {
  while (look_at_next()) continue;
  join();
  if (others_ > groups_max_) return std::nullopt;
  return std::move(found_);
}

std::unique_ptr<SealLook> SealLook::begin(std::string_view seal, const Asked& asked, std::size_t groups_max) {
  auto found = read_seal(seal, asked);
  if (!found) return nullptr;
  return std::unique_ptr<SealLook>(new SealLook(std::move(*found), groups_max));
}

std::optional<SealFound> look_at_seal(std::string_view seal, const Asked& asked, std::size_t groups_max,
                                      const BeforeLooking& before) {
  if (!before) {
    const auto look = SealLook::begin(seal, asked, groups_max);
    return look == nullptr ? std::nullopt : look->finish();
  }
  auto found = read_seal(seal, asked);
  if (!found) return std::nullopt;
  std::vector<SealedFiles>& files = found->files;
  const std::vector<std::uint32_t> order = mixed_first(files);
  std::atomic<std::size_t> broken{0};
  for_all_prepared(
      files.size(), kManyGroups, [&](std::size_t i) { tell_directories(files[order[i]], before); },
      [&](std::size_t i) {
        if (broken.load(std::memory_order_relaxed) > groups_max) return;
        SealedFiles& group = files[order[i]];
        group.is_same = is_same_still(group);
        if (!group.is_same) broken.fetch_add(1, std::memory_order_relaxed);
      });
  return broken > groups_max ? std::nullopt : std::move(found);
}

bool is_unbroken(std::string_view seal, const Asked& asked) {
  return look_at_seal(seal, asked, 0).has_value();
}

std::string seal_path(const std::string& manifest_file) {
  return std::string(kLogDirectory) + '/' + kept_name(manifest_file) + ".seal";
}

}  // namespace larder::build
