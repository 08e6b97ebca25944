#include "program/closure_check.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <span>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "base/hex.hpp"
#include "recipe/canonical.hpp"

namespace larder {
namespace {

using format::FileClosure;
using format::FileClosures;
using format::FileStamp;
using format::FileUse;
using format::KnownFile;

std::string_view name(FileState state) noexcept {
  return state == FileState::file ? "file" : state == FileState::directory ? "directory" : "absent";
}

// What one path brings to a recipe.
struct Brought {
  std::string_view path;
  bool is_read;
  FileState state;
  FileStamp stamp;
  const std::array<unsigned char, 32>* digest;
};

// By path, so that the order in which a compiler looked decides nothing.
Recipe recipe_with(const Recipe& base, std::vector<Brought> all) {
  const auto comes_first = [](const Brought& a, const Brought& b) { return a.path < b.path; };
  // Closures are kept so.
  if (!std::is_sorted(all.begin(), all.end(), comes_first)) std::sort(all.begin(), all.end(), comes_first);
  Recipe recipe = base;
  std::string paths;
  std::size_t paths_size = 0;
  for (const Brought& each : all) paths_size += each.path.size() + 2;
  paths.reserve(paths_size);
  std::vector<std::pair<std::pair<std::uint64_t, std::uint64_t>, std::string_view>> inodes;
  std::string label;
  for (const Brought& each : all) {
    paths.push_back(each.is_read ? 'r' : 'l');
    paths.append(each.path).push_back('\0');
    const bool is_content = each.is_read && each.state == FileState::file;
    if (is_content) {
      inodes.push_back({{each.stamp.device, each.stamp.inode}, each.path});
      label.assign(ingredient::kFile).append(each.path);
      recipe.add(label, to_hex(std::as_bytes(std::span(*each.digest))));
    } else if (each.state != FileState::absent) {
      label.assign(ingredient::kFound).append(each.path);
      recipe.add(label, name(each.state));
    }
  }
  const canonical::Digest digest = canonical::digest_of(as_bytes(paths));
  recipe.add(ingredient::kFiles, to_hex(std::as_bytes(std::span(digest))));
  // A compiler that includes a file once knows it by what it is, not by what it is called.
  std::sort(inodes.begin(), inodes.end());
  std::string same;
  for (std::size_t i = 1; i < inodes.size(); ++i) {
    if (inodes[i].first != inodes[i - 1].first) continue;
    same.append(inodes[i - 1].second).append(" = ").append(inodes[i].second).push_back('\n');
  }
  if (!same.empty()) recipe.add(ingredient::kSameFiles, same);
  return recipe;
}

}  // namespace

ClosureCheck::ClosureCheck(const FileClosures& closures) : closures_(closures), now_(closures.files.size()) {}

const ClosureCheck::Now& ClosureCheck::look(std::size_t file) {
  Now& now = now_[file];
  if (now.is_looked) return now;
  now.is_looked = true;
  struct stat status {};
  if (const int error = walk_.status(closures_.files[file].path, status); error != 0) {
    now.state = FileState::absent;
    now.is_known = means_absent(error);
  } else if (S_ISDIR(status.st_mode)) {
    now.state = FileState::directory;
  } else {
    now.state = FileState::file;
    now.is_known = S_ISREG(status.st_mode);
    now.stamp = stamp_of(status);
  }
  return now;
}

const ClosureCheck::Now& ClosureCheck::hash(std::size_t file) {
  look(file);
  Now& now = now_[file];
  if (now.is_hashed || now.state != FileState::file || !now.is_known) return now;
  now.is_hashed = true;
  const KnownFile& before = closures_.files[file];
  if (now.stamp == before.stamp) return now;
  now.fresh = static_cast<std::uint32_t>(fresh_.size());
  KnownFile& fresh = fresh_.emplace_back(before);
  const int fd = walk_.open(before.path);
  const File open(FileSystem::posix(), fd);
  struct stat status {};
  now.is_known = open.is_open() && ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  if (!now.is_known) return now;
  now.stamp = stamp_of(status);
  now.is_known = read_content(fd, now.stamp.size, content_);
  if (!now.is_known) return now;
  const BytesView content = as_bytes({content_.data(), now.stamp.size});
  const format::Checksum quick = format::checksum(content);
  // A content whose quick checksum is known has the digest that goes with it.
  if (quick != fresh.quick || fresh.digest == std::array<unsigned char, 32>{}) {
    fresh.quick = quick;
    fresh.digest = canonical::digest_of(content);
  }
  fresh.stamp = is_racy(now.stamp, Clock::system().unix_ns()) ? FileStamp{} : now.stamp;
  has_news_ = has_news_ || fresh.stamp != before.stamp;
  return now;
}

std::optional<Recipe> ClosureCheck::recipe(const Recipe& base, std::size_t which) {
  std::vector<Brought> all;
  const FileClosure& closure = closures_.closures[which];
  all.reserve(closure.uses.size());
  for (const FileUse& use : closure.uses) {
    const Now& now = use.is_read ? hash(use.file) : look(use.file);
    if (!now.is_known) return std::nullopt;
    all.push_back(
        {closures_.files[use.file].path, use.is_read, now.state, now.stamp, &known(use.file).digest});
  }
  return recipe_with(base, std::move(all));
}

std::vector<KnownFile> ClosureCheck::files() const {
  std::vector<KnownFile> files;
  files.reserve(now_.size());
  for (std::size_t i = 0; i < now_.size(); ++i) {
    files.push_back(now_[i].is_known ? known(i) : closures_.files[i]);
  }
  return files;
}

FileClosures closures_of(const SeenFiles& seen) {
  FileClosures closures;
  FileClosure closure;
  for (const auto& [path, file] : seen.files) {
    closure.uses.push_back({static_cast<std::uint32_t>(closures.files.size()), file.is_read});
    closures.files.push_back({.path = path, .stamp = file.stamp, .quick = file.quick, .digest = file.digest});
  }
  closures.closures.push_back(std::move(closure));
  return closures;
}

Recipe recipe_of(const Recipe& base, const SeenFiles& seen) {
  std::vector<Brought> all;
  all.reserve(seen.files.size());
  for (const auto& [path, file] : seen.files) {
    all.push_back({path, file.is_read, file.state, file.opened, &file.digest});
  }
  return recipe_with(base, std::move(all));
}

FileClosures with_closure(const FileClosures& closures, const FileClosures& fresh, const Key& key) {
  FileClosures merged;
  std::map<std::string_view, std::uint32_t> places;
  const auto place_of = [&](const KnownFile& file) {
    const auto [found, is_new] = places.emplace(file.path, static_cast<std::uint32_t>(merged.files.size()));
    if (is_new) merged.files.push_back(file);
    // One compilation read it where a later one only looked for it.
    KnownFile& known = merged.files[found->second];
    if (known.digest == std::array<unsigned char, 32>{}) known = file;
    return found->second;
  };
  const auto add = [&](const FileClosures& from, const FileClosure& closure) {
    FileClosure moved{.keys = closure.keys};
    moved.uses.reserve(closure.uses.size());
    for (const FileUse& use : closure.uses)
      moved.uses.push_back({place_of(from.files[use.file]), use.is_read});
    std::sort(moved.uses.begin(), moved.uses.end(), [&](const FileUse& a, const FileUse& b) {
      return merged.files[a.file].path < merged.files[b.file].path;
    });
    merged.closures.push_back(std::move(moved));
  };
  add(fresh, fresh.closures.front());
  merged.closures.front().keys = {key};
  for (const FileClosure& closure : closures.closures) {
    if (merged.closures.size() == format::kClosuresMax) break;
    if (merged.files.size() + closure.uses.size() > format::kFilesMax) break;
    add(closures, closure);
    FileClosure& front = merged.closures.front();
    FileClosure& last = merged.closures.back();
    if (last.uses != front.uses) continue;
    for (const Key& each : last.keys) {
      if (front.keys.size() == format::kClosureKeysMax) break;
      if (each != key) front.keys.push_back(each);
    }
    merged.closures.pop_back();
  }
  return merged;
}

}  // namespace larder
