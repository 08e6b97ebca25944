#include "build/paths.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace larder::build {
namespace {

// What a call of the C library gave to be freed.
std::string taken(char* text) {
  std::string own = text == nullptr ? "" : text;
  std::free(text);
  return own;
}

}  // namespace

std::string_view parent_of(std::string_view path) noexcept {
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos) return {};
  return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

std::string working_directory() {
  return taken(::getcwd(nullptr, 0));
}

std::string real_path(const char* path) {
  return taken(::realpath(path, nullptr));
}

namespace {

// What no look at single components is needed for: none begins with a dot, none is empty.
bool is_plain(std::string_view path) noexcept {
  if (path.empty() || path.front() == '.' || path.back() == '/') return false;
  const char* const end = path.data() + path.size();
  for (const char* at = path.data(); at + 1 < end; ++at)
    if (*at == '/' && (at[1] == '/' || at[1] == '.')) return false;
  return true;
}

}  // namespace

bool is_canonical(std::string_view path) noexcept {
  if (path.empty() || is_plain(path)) return true;
  if (path == ".") return true;
  bool at_start = true;      // of a component
  bool only_parents = true;  // so far nothing but `..` components of a relative path
  for (std::size_t i = 0; i < path.size(); ++i) {
    const char c = path[i];
    if (at_start && c == '/' && i != 0) return false;
    if (at_start && c == '.') {
      const std::string_view rest = path.substr(i);
      if (rest == "." || rest.starts_with("./")) return false;
      if (rest == ".." || rest.starts_with("../")) {
        if (!only_parents) return false;
        i += 1;
        at_start = false;
        continue;
      }
    }
    if (at_start && c != '/') only_parents = false;
    if (c == '/' && i == 0) only_parents = false;
    at_start = c == '/';
  }
  return !at_start || path == "/";
}

void make_canonical(std::string& path) {
  if (is_canonical(path)) return;
  const bool is_absolute = path[0] == '/';
  std::string result;
  std::vector<std::size_t> ends;  // of `result` before each component that `..` can take back
  std::string_view rest = path;
  while (!rest.empty()) {
    const std::size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
    if (part.empty() || part == ".") continue;
    if (part == ".." && !ends.empty()) {
      result.resize(ends.back());
      ends.pop_back();
      continue;
    }
    if (part == ".." && is_absolute) continue;
    if (part != "..") ends.push_back(result.size());
    if (!result.empty()) result += '/';
    result += part;
  }
  path = is_absolute ? '/' + result : result.empty() ? "." : result;
}

std::string_view Arena::keep(std::string_view text) {
  constexpr std::size_t kBlock = 64 * 1024;
  if (blocks_.empty() || blocks_.back().capacity() - blocks_.back().size() < text.size()) {
    blocks_.emplace_back();
    blocks_.back().reserve(text.size() > kBlock ? text.size() : kBlock);
  }
  std::string& block = blocks_.back();
  const std::size_t at = block.size();
  block += text;
  return std::string_view(block).substr(at);
}

PathTable::PathTable() : tags_(1024), ids_(1024) {}

PathTable::Hash PathTable::hash_of(std::string_view path) noexcept {
  const std::uint64_t hash = XXH3_64bits(path.data(), path.size());
  return {static_cast<std::size_t>(hash), static_cast<std::uint8_t>((hash >> 56) | 1)};
}

std::size_t PathTable::place_of(std::string_view path, Hash hash) const noexcept {
  const std::size_t mask = tags_.size() - 1;
  for (std::size_t place = hash.place & mask;; place = (place + 1) & mask)
    if (tags_[place] == 0 || (tags_[place] == hash.tag && (*this)[ids_[place]] == path)) return place;
}

std::uint32_t PathTable::find(std::string_view path) const noexcept {
  const std::size_t place = place_of(path, hash_of(path));
  return tags_[place] == 0 ? kNone : ids_[place];
}

std::uint32_t PathTable::number(std::string_view path) {
  const Hash hash = hash_of(path);
  std::size_t place = place_of(path, hash);
  if (tags_[place] != 0) return ids_[place];
  if ((places_.size() + 1) * 5 > tags_.size() * 4) {
    grow();
    place = place_of(path, hash);
  }
  const auto id = static_cast<std::uint32_t>(places_.size());
  places_.push_back(keep(path));
  tags_[place] = hash.tag;
  ids_[place] = id;
  return id;
}

std::uint32_t PathTable::keep(std::string_view path) {
  const std::size_t size = 1 + (path.size() < kIsLong ? 0 : sizeof size) + path.size() + 1;
  if (used_ + size > kBlock) {
    if (blocks_.size() == std::size_t{1} << (32 - kBlockBits)) throw std::bad_alloc();
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(std::max(size, kBlock)));
    used_ = 0;
  }
  const auto place = static_cast<std::uint32_t>(((blocks_.size() - 1) << kBlockBits) + used_);
  char* at = blocks_.back().get() + used_;
  used_ += size;
  if (path.size() < kIsLong) {
    *at++ = static_cast<char>(path.size());
  } else {
    const std::size_t length = path.size();
    *at++ = static_cast<char>(kIsLong);
    std::memcpy(at, &length, sizeof length);
    at += sizeof length;
  }
  std::memcpy(at, path.data(), path.size());
  at[path.size()] = '\0';
  return place;
}

void PathTable::grow() {
  const std::size_t size = tags_.size() * 2;
  tags_.assign(size, 0);
  ids_ = {};
  ids_.resize(size);
  for (std::uint32_t id = 0; id < places_.size(); ++id) {
    const Hash hash = hash_of((*this)[id]);
    std::size_t place = hash.place & (size - 1);
    while (tags_[place] != 0) place = (place + 1) & (size - 1);
    tags_[place] = hash.tag;
    ids_[place] = id;
  }
}

}  // namespace larder::build
