#include "program/known_builds.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>

#include "base/clock.hpp"
#include "program/adopted.hpp"
#include "program/file_recording.hpp"

namespace larder {
namespace {

Recipe recipe() {
  return Recipe("library-builds");
}

format::FileStamp stamp_of_path(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? stamp_of(status) : format::FileStamp{};
}

}  // namespace

KnownBuilds::KnownBuilds(Cache* cache) : cache_(cache) {
  if (cache_ == nullptr) return;
  const auto kept = Adoption::look(*cache_, recipe());
  auto builds = kept ? format::decode_library_builds(kept->bytes.text()) : std::nullopt;
  if (builds) builds_ = std::move(*builds);
}

std::string KnownBuilds::identity_of(const std::string& library, const std::string& plugins) {
  const std::string name = library + '\t' + plugins;
  const auto found = builds_.find(name);
  if (found != builds_.end()) {
    const auto& looked = found->second.looked;
    const auto is_as_it_was = [](const format::LookedFile& each) {
      return stamp_of_path(each.path) == each.stamp;
    };
    if (std::all_of(looked.begin(), looked.end(), is_as_it_was)) return found->second.identity;
    builds_.erase(found);
    has_news_ = true;
  }
  std::vector<std::string> paths;
  format::LibraryBuild build{files_.identity(library, plugins, &paths), {}};
  if (build.identity.empty()) return {};
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  const std::int64_t now = Clock::system().unix_ns();
  for (std::string& path : paths) {
    const format::FileStamp stamp = stamp_of_path(path);
    if (path.empty() || path.find('\n') != std::string::npos ||
        (stamp != format::FileStamp{} && is_racy(stamp, now)))
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
  cache_->put(recipe(), Bytes(format::encode_library_builds(builds_)),
              {.cost = {}, .log = {}, .texts = {}, .replace = true});
}

}  // namespace larder
