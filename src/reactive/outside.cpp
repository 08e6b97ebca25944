// Files, folders and environment variables as nodes. Each is a function from its path or name; what makes it
// differ is not in the graph, so somebody must say when to look again: refresh(), by hand or from a watcher.
//
// A file is known by inode, size and times as they were before it was read. That they are the same afterwards
// proves that the content is, but for a file that was changed twice within the clock's tick: one that was
// younger than kYoung when it was read is read again at the next refresh, whatever its times say.
//
// What was evicted is read anew when it is asked for. Should it have changed meanwhile, what was made of the
// old content and what is made of the new one meet in one revision: a tear. All that runs gives up, and the
// new content becomes a revision of its own.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "larder/graph.hpp"
#include "reactive/engine.hpp"

#if defined(__linux__)
#include <dirent.h>
#endif

namespace larder::reactive {

using namespace larder::detail;

namespace {

// Coarser than the clock of any file system that is worth the name.
constexpr std::int64_t kYoung = 2'000'000'000;

Error error_of(int number, const std::string& what) {
  return {number == ENOENT || number == ENOTDIR ? Code::not_found : Code::io,
          what + ": " + std::strerror(number)};
}

// What is seen of a file without reading it.
struct Look {
  int error = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = 0;
  std::int64_t changed_ns = 0;
  std::int64_t modified_ns = 0;
  bool is_young = false;

  bool proves_same(const Look& now) const noexcept {
    return !is_young && error == now.error && device == now.device && inode == now.inode &&
           size == now.size && changed_ns == now.changed_ns && modified_ns == now.modified_ns;
  }
};

Look look_of(const struct stat& status) {
  Look look;
  look.device = status.st_dev;
  look.inode = status.st_ino;
  look.size = status.st_size;
  look.changed_ns = to_ns(status.st_ctim);
  look.modified_ns = to_ns(status.st_mtim);
  look.is_young = std::max(look.changed_ns, look.modified_ns) + kYoung > Clock::system().unix_ns();
  return look;
}

Look look_at(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return look_of(status);
  Look look;
  look.error = errno;
  return look;
}

Result<std::string> read_file(const std::string& path, Look& look) {
  const File file(FileSystem::posix(), ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.fd(), &status) != 0) {
    look = {};
    look.error = errno;
    return tl::unexpected<Error>(error_of(look.error, "open " + path));
  }
  look = look_of(status);
  if (S_ISDIR(status.st_mode)) return fail(Code::io, "read " + path + ": is a folder");
  std::string content;
  std::size_t filled = 0;
  for (;;) {
    const std::size_t wanted = std::max<std::size_t>(
        static_cast<std::size_t>(std::max<off_t>(status.st_size, 0)) + 1, filled + 4096);
    content.resize(wanted);
    const ssize_t got = ::read(file.fd(), content.data() + filled, wanted - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      look.is_young = true;  // not worth remembering
      return tl::unexpected<Error>(error_of(errno, "read " + path));
    }
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  content.resize(filled);
  return content;
}

Result<std::vector<std::string>> read_folder(const std::string& path, Look& look) {
  look = look_at(path);
  DIR* const folder = ::opendir(path.c_str());
  if (folder == nullptr) return tl::unexpected<Error>(error_of(errno, "open " + path));
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* const entry = ::readdir(folder)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  const int error = errno;
  ::closedir(folder);
  if (error != 0) {
    look.is_young = true;
    return tl::unexpected<Error>(error_of(error, "read " + path));
  }
  std::sort(names.begin(), names.end());
  return names;
}

void put(std::string& to, std::uint64_t value) {
  for (unsigned i = 0; i < 8; ++i) to.push_back(static_cast<char>(value >> (8 * i)));
}
std::uint64_t take(std::string_view from, std::size_t place) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < 8; ++i)
    value |= std::uint64_t{static_cast<unsigned char>(from[place * 8 + i])} << (8 * i);
  return value;
}

// 48 bytes: of snapshots. Young ones are not worth it.
std::string written(const Look& look) {
  std::string text;
  put(text, static_cast<std::uint64_t>(look.error));
  put(text, look.device);
  put(text, look.inode);
  put(text, static_cast<std::uint64_t>(look.size));
  put(text, static_cast<std::uint64_t>(look.changed_ns));
  put(text, static_cast<std::uint64_t>(look.modified_ns));
  return text;
}
Look read_look(std::string_view text) {
  Look look;
  look.error = static_cast<int>(take(text, 0));
  look.device = take(text, 1);
  look.inode = take(text, 2);
  look.size = static_cast<std::int64_t>(take(text, 3));
  look.changed_ns = static_cast<std::int64_t>(take(text, 4));
  look.modified_ns = static_cast<std::int64_t>(take(text, 5));
  return look;
}

}  // namespace

struct Outside {
  Mutex mutex;
  std::unordered_map<std::string, Look> files GUARDED_BY(mutex);
  std::unordered_map<std::string, Look> folders GUARDED_BY(mutex);
  FunctionCore* file = nullptr;
  FunctionCore* folder = nullptr;
  FunctionCore* env = nullptr;
};

namespace {

// Read and remembered; for files and folders alike.
template <typename Value>
struct Reader {
  std::shared_ptr<Outside> outside;
  std::unordered_map<std::string, Look> Outside::*looks;
  Result<Value> (*read)(const std::string&, Look&);

  Result<Value> operator()(Context&, const std::string& path) const {
    Look look;
    Result<Value> value = read(path, look);
    const MutexLock lock(outside->mutex);
    ((*outside).*looks)[path] = look;
    return value;
  }
};

struct EnvReader {
  std::optional<std::string> operator()(Context&, const std::string& name) const {
    const char* const value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  }
};

std::string text_of_value(const std::string& text) {
  return text;
}
std::string text_of_value(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all.append(name).push_back('\0');
  return all;
}
std::string text_of_value(const std::optional<std::string>& value) {
  return value ? "=" + *value : "";
}

template <typename Value, typename Call>
FunctionSpec outside_spec(const char* name, Call call) {
  FunctionSpec spec = spec_of<std::string, Value>(name);
  spec.value.digest = [](Word word, Digest& digest) {
    const std::string text = text_of_value(unboxed<Value>(word));
    digest = digest_of(as_bytes(std::string_view(text)));
    return true;
  };
  spec.value.weight = [](Word word) {
    return sizeof(BoxOf<Value>) + text_of_value(unboxed<Value>(word)).size();
  };
  spec.callable = std::make_shared<Call>(std::move(call));
  spec.run = &CallOf<Call>::run;
  spec.is_outside = true;
  return spec;
}

}  // namespace

void Engine::declare_outside() {
  outside_ = std::make_shared<Outside>();
  // The functions know what they remember, and it knows them; it does not own them.
  const std::shared_ptr<Outside> unowned(std::shared_ptr<void>(), outside_.get());
  outside_->file = &declare(
      outside_spec<std::string>("a file", Reader<std::string>{unowned, &Outside::files, &read_file}));
  outside_->folder = &declare(outside_spec<std::vector<std::string>>(
      "a folder", Reader<std::vector<std::string>>{unowned, &Outside::folders, &read_folder}));
  outside_->env = &declare(outside_spec<std::optional<std::string>>("a variable", EnvReader{}));
}

std::string Engine::seen_outside(NodeId id) {
  const Node& node = this->node(id);
  const FunctionCore* const core = functions_[node.function].get();
  if (core != outside_->file && core != outside_->folder) return {};
  const MutexLock lock(outside_->mutex);
  const auto& looks = core == outside_->file ? outside_->files : outside_->folders;
  const auto at = looks.find(unboxed<std::string>(node.key.load(std::memory_order_relaxed)));
  return at == looks.end() || at->second.is_young ? std::string() : written(at->second);
}

// Whether what a snapshot saw of it proves that it is the same; then that is remembered.
bool Engine::is_still(NodeId id, std::string_view seen) {
  const Node& node = this->node(id);
  const FunctionCore* const core = functions_[node.function].get();
  if (seen.empty() || (core != outside_->file && core != outside_->folder)) return false;
  const auto& path = unboxed<std::string>(node.key.load(std::memory_order_relaxed));
  const Look then = read_look(seen);
  if (!then.proves_same(look_at(path))) return false;
  const MutexLock lock(outside_->mutex);
  (core == outside_->file ? outside_->files : outside_->folders)[path] = then;
  return true;
}

void Engine::tear(NodeId id) {
  if (!is_torn_.exchange(true)) summons.fetch_add(kCommitWaits);
  torn_.push_back(id);
}

// When all have left.
void Engine::mend_tears() {
  next_revision();
  for (const NodeId id : torn_) changed(id);
  torn_.clear();
  is_torn_ = false;
  summons.fetch_sub(kCommitWaits);
}

// Of a variable.
bool Engine::is_as_it_was(NodeId id) {
  Node& node = this->node(id);
  if (node.condition() != kClean || node.has(kEvicted | kFailed)) return false;
  const char* const now = std::getenv(unboxed<std::string>(node.key.load(std::memory_order_relaxed)).c_str());
  const auto& then = unboxed<std::optional<std::string>>(node.value.load(std::memory_order_relaxed));
  return now == nullptr ? !then : then && *then == now;
}

Result<Revision> Engine::refresh(const std::vector<std::string>* paths) {
  struct Known {
    NodeId id;
    const FunctionCore* core;
    std::string path;
  };
  std::vector<Known> known;
  {
    const MutexLock lock(mutex_);
    for (FunctionCore* const core : {outside_->file, outside_->folder, outside_->env}) {
      if (paths != nullptr && core != outside_->env) {
        for (const std::string& path : *paths) {
          const NodeId id =
              find_node(*this, *core->table.load(std::memory_order_relaxed), KeyOf<std::string>::hash(path),
                        [&](Word word) { return KeyOf<std::string>::same(word, path); });
          if (id != kNoNode) known.push_back({id, core, path});
        }
        continue;
      }
      if (paths != nullptr) continue;
      const GraphTable& table = *core->table.load(std::memory_order_relaxed);
      for (std::size_t i = 0; i < table.lines * 8; ++i) {
        const std::uint64_t slot = table.slots[i].load(std::memory_order_relaxed);
        if (slot <= kVacated) continue;
        const auto id = static_cast<NodeId>((slot >> 32) - 1);
        if (core == outside_->env && is_as_it_was(id)) continue;
        known.push_back({id, core, unboxed<std::string>(node(id).key.load(std::memory_order_relaxed))});
      }
    }
  }
  std::vector<NodeId> again;
  for (const Known& each : known) {
    if (each.core != outside_->env) {
      const Look now = look_at(each.path);
      const MutexLock lock(outside_->mutex);
      const auto& looks = each.core == outside_->file ? outside_->files : outside_->folders;
      const auto at = looks.find(each.path);
      if (at != looks.end() && at->second.proves_same(now)) continue;
    }
    again.push_back(each.id);
  }
  if (paths == nullptr) {
    // What no node stands for any more need not be remembered.
    std::unordered_set<std::string_view> paths_known;
    for (const Known& each : known) paths_known.insert(each.path);
    const MutexLock lock(outside_->mutex);
    std::erase_if(outside_->files, [&](const auto& each) { return !paths_known.contains(each.first); });
    std::erase_if(outside_->folders, [&](const auto& each) { return !paths_known.contains(each.first); });
  }
  return apply(nullptr, 0, false, &again);
}

}  // namespace larder::reactive

namespace larder {

using namespace detail;

namespace {

const reactive::Outside& outside(const Run& run) {
  return *reactive::Engine::of(*run.graph).outside_;
}

}  // namespace

const std::string& Context::file(const std::string& path) {
  return get(Function<std::string, std::string>(outside(run_).file), path);
}

const std::vector<std::string>& Context::folder(const std::string& path) {
  return get(Function<std::string, std::vector<std::string>>(outside(run_).folder), path);
}

const std::optional<std::string>& Context::env(const std::string& name) {
  return get(Function<std::string, std::optional<std::string>>(outside(run_).env), name);
}

}  // namespace larder
