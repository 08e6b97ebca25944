#include "build/watches.hpp"

#include <dirent.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "build/text_file.hpp"

namespace larder::build {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kQuietWhenUnsure{50};
constexpr milliseconds kQuietOfMany{20};
constexpr milliseconds kPatienceMax{2000};  // however long it goes on
constexpr milliseconds kLookEvery{1000};
constexpr std::size_t kFew = 8;  // that one save may touch
constexpr int kLinksMax = 40;

constexpr std::uint32_t kEvents = IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_CREATE | IN_DELETE |
                                  IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF;
constexpr std::uint32_t kNames = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
// After these a file is whole, as far as one can know.
constexpr std::uint32_t kSure = IN_CLOSE_WRITE | IN_MOVED_TO | IN_ATTRIB;

// Whether there is a directory above that is told by another path: `..` has one that nobody names.
bool has_parent(std::string_view path) noexcept {
  return !path.empty() && path != "/" && path != "." && path != ".." && !path.ends_with("/..");
}

std::string joined(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (!path.empty() && path.back() != '/') path += '/';
  return path += name;
}

const char* name_of(const std::string& directory) noexcept {
  return directory.empty() ? "." : directory.c_str();
}

std::string limit_of(const char* name) {
  const auto text = read_text_file(std::string("/proc/sys/fs/inotify/") + name);
  return std::string("fs.inotify.") + name + (text ? " = " + text->substr(0, text->find('\n')) : "");
}

}  // namespace

Result<std::unique_ptr<Watches>> Watches::open() {
  std::unique_ptr<Watches> watches(new Watches());
  watches->fd_ = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (watches->fd_ < 0) {
    const int error = errno;
    std::string what = std::string("nothing can be watched: inotify_init: ") + std::strerror(error);
    if (error == EMFILE) what += " (" + limit_of("max_user_instances") + ")";
    return fail(Code::out_of_resources, what);
  }
  return watches;
}

Watches::~Watches() {
  if (fd_ >= 0) ::close(fd_);
}

void Watches::give_up(const std::string& why) {
  trouble_ = why;
  ::close(fd_);
  fd_ = -1;
  spellings_.clear();
  for (auto& [path, directory] : directories_) directory.watch = -1;
  looked_ = Clock::now();
}

void Watches::place(const std::string& path, Directory& directory) {
  if (fd_ < 0) return;
  const int watch = ::inotify_add_watch(fd_, name_of(path), kEvents | IN_ONLYDIR | IN_EXCL_UNLINK);
  if (watch < 0) {
    if (errno == ENOSPC || errno == ENOMEM)
      give_up("the kernel grants no more watches (" + limit_of("max_user_watches") +
              "): everything is looked at once a second instead");
    return;
  }
  directory.watch = watch;
  auto& spellings = spellings_[watch];
  if (std::find(spellings.begin(), spellings.end(), path) == spellings.end()) spellings.push_back(path);
  if (manifest_ != nullptr) list(path, false);
}

void Watches::displace(const std::string& path, Directory& directory) {
  const auto found = spellings_.find(directory.watch);
  directory.watch = -1;
  if (found == spellings_.end()) return;
  std::erase(found->second, path);
  if (!found->second.empty()) return;
  ::inotify_rm_watch(fd_, found->first);
  spellings_.erase(found);
}

// Those above it, too: they may be replaced, or come only now.
Watches::Directory& Watches::know(std::string_view path) {
  const auto [place_of, is_new] = directories_.try_emplace(std::string(path));
  Directory& directory = place_of->second;  // nodes of the map stay where they are
  if (!is_new) return directory;
  directory.round = round_;
  const std::string& name = place_of->first;
  if (has_parent(name)) know(parent_of(name));
  place(name, directory);
  return directory;
}

// Links lead elsewhere and directories are lists of names: what is told of their parents is not enough.
void Watches::list(const std::string& path, bool touches) {
  DIR* const directory = ::opendir(name_of(path));
  if (directory == nullptr) return;
  std::vector<std::pair<std::string, TargetId>> found;
  while (const dirent* entry = ::readdir(directory)) {
    if (entry->d_type == DT_REG) continue;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    std::string one = joined(path, name);
    const TargetId target = manifest_->find(one);
    if (target != kNone) found.emplace_back(std::move(one), target);
  }
  ::closedir(directory);
  for (const auto& [name, target] : found) {
    follow(name, target);
    if (touches) touch(target, true);
  }
}

void Watches::add_directory(std::string_view path) {
  (void)know(path);
}

void Watches::give(const Manifest& manifest) {
  manifest_ = &manifest;
  listed_ = static_cast<TargetId>(manifest.target_count());
  std::vector<std::string> watched;
  for (const auto& [path, directory] : directories_)
    if (directory.watch >= 0) watched.push_back(path);
  for (const std::string& path : watched) list(path, true);
}

void Watches::follow(const std::string& path, TargetId target) {
  std::string at = path;
  for (int i = 0; i < kLinksMax; ++i) {
    struct stat status {};
    if (::lstat(at.c_str(), &status) != 0) return;
    if (S_ISDIR(status.st_mode)) {
      know(at);
      if (i != 0) behind_links_[at].push_back(target);
      return;
    }
    if (!S_ISLNK(status.st_mode)) return;
    std::array<char, 4096> text{};
    const ssize_t size = ::readlink(at.c_str(), text.data(), text.size());
    if (size <= 0) return;
    const std::string_view to(text.data(), static_cast<std::size_t>(size));
    at = to.starts_with('/') ? std::string(to) : joined(parent_of(at), to);
    make_canonical(at);
    know(parent_of(at));
    auto& targets = behind_links_[at];
    if (std::find(targets.begin(), targets.end(), target) == targets.end()) targets.push_back(target);
  }
}

void Watches::add(TargetId first) {
  ++round_;
  std::string_view last;
  const Directory* directory = nullptr;
  const auto count = static_cast<TargetId>(manifest_->target_count());
  marks_.resize(count, Mark::none);
  for (TargetId target = first; target < count; ++target) {
    const std::string_view parent = parent_of(manifest_->path(target));
    if (directory == nullptr || parent != last) {
      directory = &know(parent);
      last = parent;
    }
    if (directory->round == round_) touch(target, true);
    // Its directory was listed before it was a target.
    if (directory->round != round_ && target >= listed_) follow(std::string(manifest_->path(target)), target);
  }
}

void Watches::touch(TargetId target, bool is_sure) {
  if (target >= marks_.size()) marks_.resize(manifest_->target_count(), Mark::none);
  const StepId producer = manifest_->producer(target);
  const bool is_made = producer != kNone && !manifest_->is_phony(producer);
  const auto now = Clock::now();
  if (touched_.empty() && !everything_) first_ = now;
  Mark& mark = marks_[target];
  if (mark == Mark::none) touched_.push_back(target);
  if (is_made) {
    mark = Mark::made;
    return;
  }
  last_ = now;
  unsure_ -= mark == Mark::unsure ? 1 : 0;
  sure_ -= mark == Mark::sure ? 1 : 0;
  mark = is_sure ? Mark::sure : Mark::unsure;
  ++(is_sure ? sure_ : unsure_);
}

void Watches::all_touched() {
  const auto now = Clock::now();
  if (touched_.empty() && !everything_) first_ = now;
  last_ = now;
  everything_ = true;
}

// Something else goes by this name now, or nothing.
void Watches::replace_below(const std::string& path) {
  std::vector<std::pair<const std::string, Directory>*> below;
  for (auto& one : directories_)
    if (one.first == path || (one.first.starts_with(path) && one.first[path.size()] == '/'))
      below.push_back(&one);
  // Listing may come to know more directories; the map's nodes stay.
  for (auto* const one : below) displace(one->first, one->second);
  for (auto* const one : below) place(one->first, one->second);
  all_touched();
}

void Watches::hear_path(const std::string& path, std::uint32_t mask) {
  if (manifest_ == nullptr) return all_touched();
  bool is_known = false;
  const TargetId target = manifest_->find(path);
  if (target != kNone) {
    is_known = true;
    touch(target, (mask & kSure) != 0);
    if ((mask & (IN_CREATE | IN_MOVED_TO)) != 0) follow(path, target);
  }
  if (const auto links = behind_links_.find(path); links != behind_links_.end()) {
    is_known = true;
    const std::vector<TargetId> targets = links->second;
    for (const TargetId one : targets) touch(one, (mask & kSure) != 0);
    if ((mask & (IN_CREATE | IN_MOVED_TO)) != 0)
      for (const TargetId one : targets) follow(std::string(manifest_->path(one)), one);
  }
  if ((mask & kNames) != 0 && directories_.contains(path)) {
    is_known = true;
    replace_below(path);
  }
  // Who only writes to what was there before, a log say, is no news.
  if (!is_known && !strangers_ && (mask & (IN_CREATE | IN_MOVED_TO)) != 0) {
    if (touched_.empty() && !everything_) first_ = Clock::now();
    strangers_ = true;
  }
}

void Watches::hear(int watch, std::uint32_t mask, std::string_view name) {
  if ((mask & IN_Q_OVERFLOW) != 0) return all_touched();
  const auto found = spellings_.find(watch);
  if (found == spellings_.end()) return;
  const std::vector<std::string> spellings = found->second;
  if ((mask & IN_IGNORED) != 0) {  // it is gone; should it come again, those above it tell
    spellings_.erase(found);
    for (const std::string& spelling : spellings) directories_[spelling].watch = -1;
    return all_touched();
  }
  if (name.empty()) return;
  for (const std::string& spelling : spellings) {
    hear_path(joined(spelling, name), mask);
    if ((mask & kNames) == 0) continue;
    // A directory that is a target, or that one leads to, has other names in it.
    const std::string own = spelling.empty() ? "." : spelling;
    const TargetId listed = manifest_ == nullptr ? kNone : manifest_->find(own);
    if (listed != kNone) touch(listed, false);
    if (const auto links = behind_links_.find(own); links != behind_links_.end())
      for (const TargetId one : links->second) touch(one, false);
  }
}

void Watches::collect() {
  alignas(inotify_event) std::array<char, 64 * 1024> buffer;
  int left = 0;  // what comes meanwhile can wait, or who writes without end would have us read without end
  if (fd_ >= 0 && ::ioctl(fd_, FIONREAD, &left) != 0) left = 0;
  while (fd_ >= 0 && left > 0) {
    const ssize_t got = ::read(fd_, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    left -= static_cast<int>(got);
    for (std::size_t at = 0; at + sizeof(inotify_event) <= static_cast<std::size_t>(got);) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const char* const name = buffer.data() + at + sizeof event;
      hear(event.wd, event.mask, {name, event.len == 0 ? 0 : ::strnlen(name, event.len)});
      at += sizeof event + event.len;
    }
  }
}

int Watches::patience_ms(bool while_building) const {
  const auto now = Clock::now();
  const auto until = [&](Clock::time_point due) {
    if (due <= now) return 0;
    return static_cast<int>(std::chrono::ceil<milliseconds>(due - now).count());
  };
  if (fd_ < 0) return while_building ? -1 : until(looked_ + kLookEvery);
  if (touched_.empty() && !everything_ && !strangers_) return -1;
  if (unsure_ != 0 || everything_) return until(std::min(last_ + kQuietWhenUnsure, first_ + kPatienceMax));
  if (sure_ == 0) return while_building ? -1 : until(first_ + kQuietWhenUnsure);
  const bool is_many = sure_ > kFew || first_ - taken_ < kQuietOfMany;
  if (is_many) return until(std::min(last_ + kQuietOfMany, first_ + kPatienceMax));
  return 0;
}

Touched Watches::take() {
  Touched touched;
  for (const TargetId target : touched_) marks_[target] = Mark::none;
  std::swap(touched.targets, touched_);
  touched.everything = std::exchange(everything_, false) || fd_ < 0;
  touched.strangers = std::exchange(strangers_, false) || fd_ < 0;
  if (sure_ != 0 || unsure_ != 0 || everything_) taken_ = Clock::now();
  unsure_ = sure_ = 0;
  looked_ = Clock::now();
  return touched;
}

}  // namespace larder::build
