#include "tool/watch_link.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "format/byte_reader.hpp"

extern char** environ;

namespace larder::tool {
namespace {

using format::append_integer;

constexpr std::string_view kMagic = "larder watch 1\n";
constexpr std::size_t kHead = kMagic.size() + sizeof(std::uint32_t);
constexpr std::size_t kAnswerHead = sizeof(std::uint32_t) + 1;

enum Flag : std::uint32_t {
  kRedraws = 1,
  kColour = 2,
  kVerbose = 4,
  kQuiet = 8,
  kExplains = 16,
};

std::uint64_t hash_of(std::string_view text) noexcept {
  return format::checksum(as_bytes(text)).low;
}

void append_text(std::string& to, std::string_view text) {
  append_integer(to, static_cast<std::uint32_t>(text.size()));
  to += text;
}

template <typename Integer>
void append_optional(std::string& to, const std::optional<Integer>& value) {
  append_integer(to, static_cast<std::uint8_t>(value ? 1 : 0));
  append_integer(to, value.value_or(0));
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) noexcept : rest_(as_bytes(bytes)) {}
  template <typename Integer>
  void take(Integer& value) noexcept {
    is_good_ = is_good_ && rest_.read(value);
  }
  void take(std::string& text) {
    std::uint32_t size = 0;
    std::string_view bytes;
    take(size);
    is_good_ = is_good_ && rest_.read(bytes, size);
    if (is_good_) text = bytes;
  }
  void take(build::Digest& digest) noexcept {
    take(digest.low);
    take(digest.high);
  }
  template <typename Integer>
  void take(std::optional<Integer>& value) noexcept {
    std::uint8_t has = 0;
    Integer one = 0;
    take(has);
    take(one);
    if (has != 0) value = one;
  }
  // How many follow, of which each takes `size` bytes at least.
  std::uint32_t count(std::size_t size) noexcept {
    std::uint32_t count = 0;
    take(count);
    if (count > rest_.left() / size) is_good_ = false;
    return is_good_ ? count : 0;
  }
  bool is_whole() const noexcept { return is_good_ && rest_.at_end(); }

 private:
  format::ByteReader rest_;
  bool is_good_ = true;
};

void append_file(std::string& to, const char* path) {
  struct stat status {};
  if (::stat(path, &status) != 0) status = {};
  append_integer(to, static_cast<std::uint64_t>(status.st_dev));
  append_integer(to, static_cast<std::uint64_t>(status.st_ino));
}

}  // namespace

std::string to_bytes(const WatchRequest& request) {
  std::string body;
  for (const build::Digest& digest : {request.self, request.surroundings}) {
    append_integer(body, digest.low);
    append_integer(body, digest.high);
  }
  append_integer(body, static_cast<std::uint32_t>(request.variables.size()));
  for (const auto& [name, value] : request.variables) {
    append_integer(body, name);
    append_integer(body, value);
  }
  append_integer(body, static_cast<std::uint32_t>(request.targets.size()));
  for (const std::string& target : request.targets) append_text(body, target);
  append_text(body, request.status);
  append_integer(body, request.columns);
  append_integer(body, (request.can_redraw ? kRedraws : 0U) | (request.has_colour ? kColour : 0U) |
                           (request.is_verbose ? kVerbose : 0U) | (request.is_quiet ? kQuiet : 0U) |
                           (request.explains ? kExplains : 0U));
  append_optional(body, request.jobs);
  append_optional(body, request.failures_max);
  append_optional(body, request.memory_min_bytes);
  append_optional(
      body, request.load_max ? std::optional(std::bit_cast<std::uint64_t>(*request.load_max)) : std::nullopt);
  std::string bytes(kMagic);
  append_integer(bytes, static_cast<std::uint32_t>(body.size()));
  return bytes + body;
}

WatchRequestRead read_watch_request(std::string_view bytes) {
  const std::string_view front = bytes.substr(0, kMagic.size());
  if (front != kMagic.substr(0, front.size())) return {true, {}};
  if (bytes.size() < kHead) return {};
  const auto size = format::load<std::uint32_t>(as_bytes(bytes).data() + kMagic.size());
  if (size > kWatchRequestMax) return {true, {}};
  if (bytes.size() < kHead + size) return {};
  Reader reader(bytes.substr(kHead));
  WatchRequest request;
  reader.take(request.self);
  reader.take(request.surroundings);
  request.variables.resize(reader.count(2 * sizeof(std::uint64_t)));
  for (auto& [name, value] : request.variables) {
    reader.take(name);
    reader.take(value);
  }
  request.targets.resize(reader.count(sizeof(std::uint32_t)));
  for (std::string& target : request.targets) reader.take(target);
  reader.take(request.status);
  reader.take(request.columns);
  std::uint32_t flags = 0;
  reader.take(flags);
  request.can_redraw = (flags & kRedraws) != 0;
  request.has_colour = (flags & kColour) != 0;
  request.is_verbose = (flags & kVerbose) != 0;
  request.is_quiet = (flags & kQuiet) != 0;
  request.explains = (flags & kExplains) != 0;
  reader.take(request.jobs);
  reader.take(request.failures_max);
  reader.take(request.memory_min_bytes);
  std::optional<std::uint64_t> load;
  reader.take(load);
  if (load) request.load_max = std::bit_cast<double>(*load);
  if (!reader.is_whole()) return {true, {}};
  return {true, std::move(request)};
}

std::string to_bytes(WatchWord word, std::string_view text) {
  std::string bytes;
  append_integer(bytes, static_cast<std::uint32_t>(text.size()));
  append_integer(bytes, static_cast<std::uint8_t>(word));
  return bytes += text;
}

WatchAnswer read_watch_answer(std::string_view bytes) {
  if (bytes.size() < kAnswerHead) return {};
  const auto size = format::load<std::uint32_t>(as_bytes(bytes).data());
  const auto word = static_cast<std::uint8_t>(bytes[sizeof size]);
  if (bytes.size() - kAnswerHead < size) return {};
  WatchAnswer answer{kAnswerHead + size, {}, bytes.substr(kAnswerHead, size)};
  if (word <= static_cast<std::uint8_t>(WatchWord::declined)) answer.word = static_cast<WatchWord>(word);
  return answer;
}

std::string watch_address(const std::string& manifest_file) {
  struct stat status {};
  if (::stat(".", &status) != 0) return {};
  return std::string(1, '\0') + "larder-watch-" + std::to_string(::geteuid()) + '-' +
         std::to_string(status.st_dev) + '-' + std::to_string(status.st_ino) + '-' +
         build::hex(format::checksum(as_bytes(manifest_file)));
}

build::Digest describe_self() {
  std::string text;
  struct stat status {};
  if (::stat("/proc/self/exe", &status) != 0) status = {};
  append_integer(text, static_cast<std::uint64_t>(status.st_dev));
  append_integer(text, static_cast<std::uint64_t>(status.st_ino));
  append_integer(text, static_cast<std::uint64_t>(status.st_size));
  append_integer(text, static_cast<std::int64_t>(status.st_mtim.tv_sec));
  append_integer(text, static_cast<std::int64_t>(status.st_mtim.tv_nsec));
  append_file(text, "/proc/self/ns/mnt");
  append_file(text, "/proc/self/ns/user");
  append_file(text, "/");
  append_integer(text, static_cast<std::uint32_t>(::geteuid()));
  append_integer(text, static_cast<std::uint32_t>(::getegid()));
  const mode_t mask = ::umask(0);
  ::umask(mask);
  append_integer(text, static_cast<std::uint32_t>(mask));
  return format::checksum(as_bytes(text));
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> hashed_variables() {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
  for (char** one = environ; one != nullptr && *one != nullptr; ++one) {
    const std::string_view text(*one);
    const std::size_t equals = text.find('=');
    if (equals == text.npos) continue;
    all.emplace_back(hash_of(text.substr(0, equals)), hash_of(text.substr(equals + 1)));
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::string other_variable(const WatchRequest& request, const std::set<std::string, std::less<>>& names) {
  for (const std::string& name : names) {
    const std::uint64_t hash = hash_of(name);
    const auto theirs = std::lower_bound(request.variables.begin(), request.variables.end(),
                                         std::pair(hash, std::uint64_t{0}));
    const bool have_they = theirs != request.variables.end() && theirs->first == hash;
    const char* const ours = std::getenv(name.c_str());
    if (have_they != (ours != nullptr)) return name;
    if (ours != nullptr && theirs->second != hash_of(ours)) return name;
  }
  return {};
}

}  // namespace larder::tool
