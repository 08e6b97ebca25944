#include "build/undeclared.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "build/content.hpp"
#include "build/paths.hpp"

namespace larder::build {
namespace {

using trace::Touch;

constexpr std::array<std::string_view, 3> kKernelPlaces = {"/proc/", "/sys/", "/dev/"};

bool is_below(std::string_view path, std::string_view directory) {
  return path.size() > directory.size() && path.starts_with(directory) &&
         (directory.ends_with('/') || path[directory.size()] == '/');
}

// Whether it is another than before the command. PRECONDITION: it named it to write or remove it.
bool is_changed(const Touch& touched) {
  struct stat status {};
  if (::lstat(touched.path.c_str(), &status) != 0) return touched.before != trace::Was::missing;
  if ((touched.uses & trace::kMoved) != 0) return true;
  if (S_ISDIR(status.st_mode)) return touched.before == trace::Was::file;
  if (S_ISCHR(status.st_mode)) return false;
  return touched.before == trace::Was::missing || fingerprint(status).changed_ns != touched.changed_ns ||
         status.st_ino != touched.inode;
}

}  // namespace

bool is_in_kernel_place(std::string_view path) {
  return !path.starts_with("/dev/shm/") &&
         std::any_of(kKernelPlaces.begin(), kKernelPlaces.end(),
                     [&](std::string_view system) { return path.starts_with(system); });
}

Undeclared::Undeclared(const Manifest& manifest, std::string tree)
    : manifest_(manifest), tree_(std::move(tree)), working_(real_path(".")) {}

bool Undeclared::is_in_tree(std::string_view place) const {
  return (!tree_.empty() && is_below(place, tree_)) || is_below(place, working_);
}

std::string Undeclared::place(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::string directory(slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash));
  const auto [known, is_new] = directories_.try_emplace(directory);
  if (is_new) known->second = real_path(directory.c_str());
  const std::string_view last = slash == path.npos ? path : path.substr(slash + 1);
  if (last == "." || last == ".." || known->second.empty()) return real_path(std::string(path).c_str());
  return known->second == "/" ? '/' + std::string(last) : known->second + '/' + std::string(last);
}

// And what it leads to, if it is a link.
void Undeclared::declare(std::unordered_set<std::string>& places, std::string_view path) {
  if (path.empty()) return;
  std::string named = place(path);
  struct stat status {};
  if (::lstat(named.c_str(), &status) == 0 && S_ISLNK(status.st_mode))
    places.insert(real_path(named.c_str()));
  places.insert(std::move(named));
}

void Undeclared::declare_input(std::unordered_set<std::string>& places, TargetId target, unsigned depth) {
  declare(places, manifest_.path(target));
  const StepId producer = manifest_.producer(target);
  if (producer == kNone || !manifest_.is_phony(producer) || depth == kAliasDepthMax) return;
  for (const TargetId input : manifest_.inputs(producer)) declare_input(places, input, depth + 1);
}

std::string Undeclared::name(const std::string& place) const {
  if (place == working_) return ".";
  if (is_below(place, working_)) return place.substr(working_.size() + (working_ == "/" ? 0 : 1));
  if (manifest_.find(place) != kNone) return place;
  // From the working directory up to what they have in common, and down.
  std::string up;
  std::string_view common = working_;
  while (common != "/" && !is_below(place, common)) {
    up += "../";
    common = parent_of(common);
  }
  return up + place.substr(common == "/" ? 1 : common.size() + 1);
}

bool Declared::is_output(std::string_view place) const {
  for (; !place.empty() && place != "/"; place = parent_of(place))
    if (outputs.contains(std::string(place))) return true;
  return false;
}

std::unordered_set<std::string_view> busy_directories(const trace::Report& report) {
  std::unordered_set<std::string_view> busy;
  for (const Touch& touched : report.touches)
    if ((touched.uses & (trace::kWritten | trace::kRemoved)) != 0) busy.insert(parent_of(touched.path));
  return busy;
}

Undeclared::Found Undeclared::look(const Step& step, const trace::Report& report) {
  Found found;
  auto& [outputs, inputs] = found.declared;
  directories_.clear();  // links may be others by now
  for (const TargetId output : manifest_.outputs(step.step)) declare(outputs, manifest_.path(output));
  declare(outputs, step.depfile);
  declare(outputs, step.response);
  const std::string response = step.response.empty() ? std::string() : place(step.response);
  for (const auto* const targets : {&step.known, &step.discovered})
    for (const TargetId input : *targets) declare_input(inputs, input, 0);

  const auto busy = busy_directories(report);
  for (const Touch& touched : report.touches) {
    const std::string& path = touched.path;
    if (is_in_kernel_place(path)) continue;
    const bool is_ours = is_in_tree(path);
    const bool changes = (touched.uses & (trace::kWritten | trace::kRemoved)) != 0;
    if (!is_ours && !changes) continue;
    if (found.declared.is_output(path)) {
      if ((touched.uses & (trace::kRead | trace::kExtended)) != 0 && found.read_back.empty() &&
          path != response)  // which is there to be read
        found.read_back = name(path);
      continue;
    }
    if (changes) {
      if (!is_changed(touched)) {
        if (touched.before == trace::Was::missing) continue;
      } else {
        if (is_ours)
          found.written.push_back(name(path));
        else if (found.outside.empty())
          found.outside = path;
        continue;
      }
    }
    if (!is_ours || inputs.contains(path)) continue;
    const Seen seen = look_at(path.c_str());
    if (touched.uses == trace::kLooked && touched.before == trace::Was::missing) {
      (seen.kind == Kind::missing ? found.missing : found.came).push_back(name(path));
    } else if (touched.uses == trace::kLooked && touched.before == trace::Was::file) {
      if (seen.kind == Kind::file) found.looked.push_back(name(path));
    } else if ((touched.uses & trace::kListed) != 0) {
      if (!busy.contains(path)) found.read.push_back(name(path));
    } else if ((touched.uses & trace::kRead) != 0 && seen.kind == Kind::file) {
      (touched.uses == (trace::kRead | trace::kPassed) ? found.links : found.read).push_back(name(path));
    }
  }
  return found;
}

}  // namespace larder::build
