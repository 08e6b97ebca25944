#include "program/known_builds.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/clock.hpp"
#include "program/adopted.hpp"
#include "program/file_recording.hpp"

namespace larder {
namespace {

// Text, a line each: `B name`, then its `I line-of-the-identity` and `S device inode size mtime ctime path`.
constexpr std::string_view kFirstLine = "larder builds 1";

Recipe recipe() {
  return Recipe("library-builds");
}

format::FileStamp stamp_of_path(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? stamp_of(status) : format::FileStamp{};
}

bool read_number(std::string_view& text, auto& number) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr == text.data() + text.size() || *read.ptr != ' ') return false;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()) + 1);
  return true;
}

}  // namespace

KnownBuilds::KnownBuilds(Cache* cache) : cache_(cache) {
  if (cache_ == nullptr) return;
  const auto kept = Adoption::look(*cache_, recipe());
  if (kept) read(kept->bytes.text());
}

std::string KnownBuilds::identity_of(const std::string& library, const std::string& plugins) {
  const std::string name = library + '\t' + plugins;
  const auto found = builds_.find(name);
  if (found != builds_.end()) {
    const auto& looked = found->second.looked;
    const auto is_as_it_was = [](const Looked& each) { return stamp_of_path(each.path) == each.stamp; };
    if (std::all_of(looked.begin(), looked.end(), is_as_it_was)) return found->second.identity;
    builds_.erase(found);
    has_news_ = true;
  }
  std::vector<std::string> paths;
  Build build{files_.identity(library, plugins, &paths), {}};
  if (build.identity.empty()) return {};
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  const std::int64_t now = Clock::system().unix_ns();
  for (std::string& path : paths) {
    const format::FileStamp stamp = stamp_of_path(path);
    if (path.find('\n') != std::string::npos || (stamp != format::FileStamp{} && is_racy(stamp, now)))
      return build.identity;
    build.looked.push_back({std::move(path), stamp});
  }
  if (name.find('\n') != std::string::npos) return build.identity;
  has_news_ = true;
  return builds_.insert_or_assign(name, std::move(build)).first->second.identity;
}

void KnownBuilds::keep() {
  if (cache_ == nullptr || !has_news_) return;
  has_news_ = false;
  cache_->put(recipe(), Bytes(to_text()), {.cost = {}, .log = {}, .texts = {}, .replace = true});
}

std::string KnownBuilds::to_text() const {
  std::string text(kFirstLine);
  for (const auto& [name, build] : builds_) {
    text.append("\nB ").append(name);
    std::string_view rest = build.identity;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      text.append("\nI ").append(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    for (const auto& [path, stamp] : build.looked) {
      text.append("\nS ");
      for (const std::uint64_t number : {stamp.device, stamp.inode, stamp.size})
        text.append(std::to_string(number)).push_back(' ');
      for (const std::int64_t number : {stamp.mtime_ns, stamp.ctime_ns})
        text.append(std::to_string(number)).push_back(' ');
      text.append(path);
    }
  }
  return text;
}

// Nothing is known where anything of it is not what to_text writes.
void KnownBuilds::read(std::string_view text) {
  Build* build = nullptr;
  for (bool is_first = true; !text.empty(); is_first = false) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (is_first) {
      if (line != kFirstLine) return;
      continue;
    }
    const char kind = line.size() < 2 ? ' ' : line.front();
    line.remove_prefix(std::min<std::size_t>(2, line.size()));
    format::FileStamp stamp;
    if (kind == 'B') {
      build = &builds_[std::string(line)];
    } else if (kind == 'I' && build != nullptr) {
      build->identity.append(line).push_back('\n');
    } else if (kind == 'S' && build != nullptr && read_number(line, stamp.device) &&
               read_number(line, stamp.inode) && read_number(line, stamp.size) &&
               read_number(line, stamp.mtime_ns) && read_number(line, stamp.ctime_ns)) {
      build->looked.push_back({std::string(line), stamp});
    } else {
      builds_.clear();
      return;
    }
  }
}

}  // namespace larder
