#include "tool/build_session.hpp"

#include <algorithm>
#include <chrono>

#include "build/text_file.hpp"
#include "settings/suggest.hpp"

namespace larder::tool {
namespace {

constexpr std::size_t kSuggestAmongMax = 20'000;
constexpr int kLockPauseMs = 20;  // until a lock that another build holds is tried again

using SteadyClock = std::chrono::steady_clock;
constexpr std::chrono::seconds kLeftoverPatience{60};
constexpr std::chrono::seconds kServerPatience{5};  // for what left the session: it may still write something
constexpr std::chrono::milliseconds kListPause{500};
constexpr std::size_t kListMax = 8;

std::string names_of(const std::vector<build::Leftover>& leftovers) {
  std::string text;
  for (std::size_t i = 0; i < leftovers.size() && i < kListMax; ++i)
    text +=
        (i == 0 ? "" : ", ") + std::to_string(leftovers[i].pid) + " (" + printable(leftovers[i].name) + ')';
  if (leftovers.size() > kListMax) text += ", ...";
  return text.empty() ? "processes of somebody else" : text;
}

int refuse_leftovers(Console& console, const build::Leftovers& leftovers,
                     const std::vector<build::Leftover>& left) {
  std::string advice = "end them: kill";
  for (const build::Leftover& one : left) advice += ' ' + std::to_string(one.pid);
  if (left.empty()) advice = "find them with fuser -v " + leftovers.path() + ", and end them";
  console.complain({"commands of a build that was killed still run: " + names_of(left),
                    "what they write yet could be taken for what this build made", advice});
  return kError;
}

// Until nothing runs any more that a killed build had started. An exit code when that does not come.
std::optional<int> wait_for_leftovers(Console& console, const std::string& directory,
                                      build::StopSignals& signals, bool& has_waited) {
  build::Leftovers leftovers(directory);
  if (!leftovers.any()) return std::nullopt;
  has_waited = true;
  const auto began = SteadyClock::now();
  auto listed = began;
  std::vector<build::Leftover> left = leftovers.list();
  console.err("larder: commands of a build that was killed still run: " + names_of(left) +
              "; this one begins when they have ended\n");
  do {
    const auto now = SteadyClock::now();
    if (now - listed < kListPause) continue;
    listed = now;
    left = leftovers.list();
    const bool are_servers =
        !left.empty() && std::all_of(left.begin(), left.end(), [](const auto& one) { return one.has_left; });
    if (are_servers && now - began >= kServerPatience) {
      console.err("larder: warning: left alone, as servers that the killed build started: " + names_of(left) +
                  '\n');
      leftovers.forget();
      return std::nullopt;
    }
    if (now - began >= kLeftoverPatience) return refuse_leftovers(console, leftovers, left);
  } while (signals.wait(kLockPauseMs) == 0 && leftovers.any());
  if (build::StopSignals::received() != 0) return kInterrupted;
  return std::nullopt;
}

}  // namespace

Result<void> BuildSession::read() {
  texts.clear();
  auto text = build::read_manifest(file, [&](const std::string& path) {
    auto one = build::read_text_file(path);
    if (one) texts.emplace_back(path, format::checksum(as_bytes(*one)));
    return one;
  });
  if (!text && text.error().code == Code::not_found && texts.empty())
    return fail(Code::not_found,
                "open " + file + " in " + build::working_directory() +
                    ": there is no such file\n  why: a build begins with the manifest that CMake, "
                    "Meson or GN writes for ninja\n  try: configure the project first (cmake -G Ninja "
                    "...), or name the manifest's directory with -C or the file with -f");
  if (!text) return tl::unexpected(text.error());
  log.reset();
  history.reset();
  manifest = std::move(*text);
  return {};
}

bool BuildSession::is_as_read() const {
  for (const auto& [path, digest] : texts) {
    const auto text = build::read_text_file(path);
    if (!text || format::checksum(as_bytes(*text)) != digest) return false;
  }
  return true;
}

void BuildSession::open_log(bool read_only) {
  history = std::make_unique<build::History>();
  log = std::make_unique<build::Log>();
  log->open(file, *manifest, *history, read_only);
}

std::optional<int> take_build_lock(Console& console, const build::Manifest& manifest,
                                   build::StopSignals& signals, build::BuildLock& lock, bool& has_waited) {
  const std::string directory = build::log_directory(manifest);
  Result<bool> taken = lock.take(directory);
  has_waited = taken && !*taken;
  if (has_waited) {
    console.err("larder: another build is at work here; this one begins when it has ended\n");
    while (taken && !*taken && signals.wait(kLockPauseMs) == 0) taken = lock.take(directory);
    if (build::StopSignals::received() != 0) return kInterrupted;
  }
  if (!taken) return refuse_build(console, "nothing can be kept of this build: " + taken.error().what);
  return wait_for_leftovers(console, directory, signals, has_waited);
}

Result<std::vector<build::TargetId>> choose_targets(const build::Manifest& manifest,
                                                    const std::vector<std::string>& names) {
  std::vector<build::TargetId> targets;
  for (const std::string& name : names) {
    const bool wants_maker = name.ends_with('^') && manifest.find(name) == build::kNone;
    const build::TargetId target =
        manifest.find(wants_maker ? std::string_view(name).substr(0, name.size() - 1) : name);
    if (target == build::kNone || (manifest.producer(target) == build::kNone && !manifest.is_used(target))) {
      std::string what = "there is no target " + name;
      if (manifest.target_count() < kSuggestAmongMax) {
        std::vector<std::string_view> known;
        for (build::TargetId one = 0; one < manifest.target_count(); ++one)
          if (manifest.producer(one) != build::kNone) known.push_back(manifest.path(one));
        what += settings::did_you_mean(name, known);
      }
      return fail(Code::not_found, what);
    }
    if (!wants_maker) {
      targets.push_back(target);
      continue;
    }
    build::TargetId made = build::kNone;
    for (build::StepId step = 0; step < manifest.step_count() && made == build::kNone; ++step)
      for (const build::TargetId input : manifest.all_inputs(step))
        if (input == target) made = manifest.outputs(step)[0];
    if (made == build::kNone) return fail(Code::not_found, "no step takes " + name);
    targets.push_back(made);
  }
  if (!names.empty()) return targets;
  targets.assign(manifest.defaults().begin(), manifest.defaults().end());
  if (!targets.empty()) return targets;
  for (build::StepId step = 0; step < manifest.step_count(); ++step)
    for (const build::TargetId output : manifest.outputs(step))
      if (!manifest.is_used(output)) targets.push_back(output);
  if (targets.empty() && manifest.step_count() != 0)
    return fail(Code::invalid_argument, "every target of the manifest is needed by another: name one");
  return targets;
}

int refuse_build(Console& console, std::string_view what) {
  (void)console.flush();
  console.err("larder: ");
  while (!what.empty()) {
    const std::size_t end = what.find('\n');
    console.err(printable(what.substr(0, end)));
    console.err("\n");
    what = end == what.npos ? std::string_view() : what.substr(end + 1);
  }
  return kError;
}

}  // namespace larder::tool
