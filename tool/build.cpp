#include "build/build.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "tool/build_report.hpp"
#include "tool/build_session.hpp"

namespace larder::tool {
namespace {

constexpr unsigned kReloadsMax = 100;
constexpr int kLockPauseMs = 20;  // until a lock that another build holds is tried again

constexpr Argument kArguments[] = {
    {"--directory", "DIR", "work in this directory", {}, false, false, 'C'},
    {"--file", "FILE", "read this manifest instead of build.ninja", {}, false, false, 'f'},
    {"--jobs", "N", "run at most so many commands at once; 0: no limit", {}, false, false, 'j'},
    {"--keep-going",
     "N",
     "go on until so many commands failed; 0: as far as possible",
     {},
     false,
     false,
     'k'},
    {"--load", "N", "start nothing more while the load average is above this", {}, false, false, 'l'},
    {"--dry-run", "", "say what would run, run nothing", {}, false, false, 'n'},
    {"--verbose", "", "show whole commands", {}, false, false, 'v'},
    {"--quiet", "", "show only what fails and what commands say"},
    {"--debug", "WHAT", "say why commands run, or keep files that are removed otherwise",
     "explain keepdepfile keeprsp", false, false, 'd'},
    {"--tool", "TOOL", "look at or clean what is there instead of building", kBuildTools, false, false, 't'},
    {"--env", "NAME", "another environment variable that decides what commands make"},
    {"--no-restore", "", "run what is due, restore nothing and keep nothing for others"},
    {"--root", "DIR",
     "what is made below this directory serves other checkouts; default: the repository's top"},
    {"--generated", "", "with -t clean: remove the manifest's own outputs, too", {}, false, false, 'g'},
    {"--rules", "", "with -t clean: the words are rules, not targets", {}, false, false, 'r'},
    {"TARGET", "", "what to build, or the tool's words; the manifest's defaults without", {}, false, true},
};

// How many commands run at once unless somebody says it: some wait for the disk.
unsigned default_jobs() {
  const unsigned cores = std::max(std::thread::hardware_concurrency(), 1u);
  return cores == 1 ? 2 : cores == 2 ? 3 : cores + 2;
}

bool read_count(const Call& call, std::string_view argument, unsigned& count) {
  if (!call.has(argument)) return true;
  const std::string_view text = call.value(argument);
  const auto read = std::from_chars(text.data(), text.data() + text.size(), count);
  return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

// Those of the build itself: make's and ninja's, not larder's.
std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class BuildCommand {
 public:
  explicit BuildCommand(Call& call) : call_(call), console_(call.console()) {}
  int run();

 private:
  // None: go on.
  std::optional<int> read_options();
  std::optional<int> take_lock(bool& has_waited);
  std::optional<int> find_products();
  int build();
  int tell(build::BuildOutcome outcome);

  Call& call_;
  Console& console_;
  build::BuildOptions options_;
  std::optional<build::ProductCache> products_;
  std::unique_ptr<build::Jobserver> jobserver_;
  build::StopSignals* signals_ = nullptr;
  build::BuildLock lock_;
  BuildSession session_;
};

std::optional<int> BuildCommand::read_options() {
  options_.jobs = default_jobs();
  for (const auto& [argument, count] :
       {std::pair("--jobs", &options_.jobs), std::pair("--keep-going", &options_.failures_max)}) {
    if (!read_count(call_, argument, *count))
      return call_.refuse(std::string(argument) + " cannot be " + std::string(call_.value(argument)),
                          "it takes a number, 0 or more", "write " + std::string(argument) + " 4");
  }
  if (options_.jobs == 0) options_.jobs = UINT32_MAX / 2;
  if (call_.has("--load")) {
    const std::string text(call_.value("--load"));
    char* end = nullptr;
    options_.load_max = std::strtod(text.c_str(), &end);
    if (end == text.c_str() || *end != '\0' || !(options_.load_max > 0))
      return call_.refuse("--load cannot be " + text, "it takes a number above 0", "write --load 4.5");
  }
  options_.is_dry = call_.has("--dry-run");
  for (const std::string& word : call_.values("--debug")) {
    if (word == "explain") options_.explains = true;
    if (word == "keepdepfile") options_.keeps_depfiles = true;
    if (word == "keeprsp") options_.keeps_responses = true;
  }
  if (!call_.has("--jobs") && !options_.is_dry) {
    jobserver_ = build::Jobserver::of_flags(variable("MAKEFLAGS"));
    if (jobserver_ != nullptr) options_.jobs = UINT32_MAX / 2;
  }
  return std::nullopt;
}

// Where outputs are restored from and kept; the store itself is opened when the first is asked for.
std::optional<int> BuildCommand::find_products() {
  const Options& settings = call_.options();
  if (call_.has("--no-restore") || *settings.disable || !*settings.persistent) return std::nullopt;
  auto root = build::Root::find(std::string(call_.value("--root")));
  if (!root && call_.has("--root"))
    return call_.refuse("--root cannot be " + std::string(call_.value("--root")), root.error().what,
                        "name the directory that the project lies in");
  if (!root) return std::nullopt;
  products_.emplace(settings, std::move(*root));
  options_.products = &*products_;
  return std::nullopt;
}

std::optional<int> BuildCommand::take_lock(bool& has_waited) {
  const std::string directory = build::log_directory(*session_.manifest);
  Result<bool> taken = lock_.take(directory);
  has_waited = taken && !*taken;
  if (has_waited) {
    console_.err("larder: another build is at work here; this one begins when it has ended\n");
    while (taken && !*taken && signals_->wait(kLockPauseMs) == 0) taken = lock_.take(directory);
    if (signals_->received() != 0) return kInterrupted;
  }
  if (!taken) return refuse_build(console_, "nothing can be kept of this build: " + taken.error().what);
  return std::nullopt;
}

int BuildCommand::tell(build::BuildOutcome outcome) {
  switch (outcome) {
    case build::BuildOutcome::nothing_to_do:
      if (!call_.has("--quiet")) console_.out("larder: no work to do.\n");
      return kDone;
    case build::BuildOutcome::done:
      return kDone;
    case build::BuildOutcome::failed:
      (void)console_.flush();
      console_.err("larder: stopped: a command failed\n");
      return kNo;
    case build::BuildOutcome::interrupted:
      (void)console_.flush();
      console_.err("larder: stopped: interrupted\n");
      return kInterrupted;
  }
  return kError;
}

int BuildCommand::build() {
  std::string format = variable("NINJA_STATUS");
  if (format.empty()) format = "[%f/%t] ";
  bool is_locked = false;
  for (unsigned reloads = 0;; ++reloads) {
    if (auto read = session_.read(); !read) return refuse_build(console_, read.error().what);
    if (!options_.is_dry && !is_locked) {
      bool has_waited = false;
      if (const auto code = take_lock(has_waited)) return *code;
      is_locked = true;
      if (has_waited) continue;  // whoever had it may have made the manifest anew
    }
    session_.open_log(options_.is_dry);
    build::Manifest& manifest = *session_.manifest;
    if (!session_.log->trouble().empty())
      console_.err("larder: warning: what is made will be made again next time: " + session_.log->trouble() +
                   '\n');
    build::Ingredients ingredients(manifest, call_.values("--env"));
    BuildReport report(console_, manifest, format, std::min(options_.jobs, default_jobs()),
                       call_.has("--verbose"), call_.has("--quiet"));
    build::Build work(manifest, *session_.history, *session_.log, ingredients, *signals_, options_,
                      jobserver_.get(), report);
    const build::TargetId self = manifest.find(session_.file);
    if (self != build::kNone && manifest.producer(self) != build::kNone && !options_.is_dry) {
      const auto outcome = work.make(std::span(&self, 1));
      report.end();
      if (!outcome) return refuse_build(console_, outcome.error().what);
      // Steps before it may have run and come out the same.
      const auto was_made = [&](const std::string& path) {
        const build::TargetId target = manifest.find(path);
        return target != build::kNone && manifest.producer(target) != build::kNone &&
               work.has_run(manifest.producer(target));
      };
      if (*outcome == build::BuildOutcome::done &&
          std::any_of(manifest.files().begin(), manifest.files().end(), was_made)) {
        if (reloads == kReloadsMax)
          return refuse_build(console_,
                              session_.file + " is still not as its own step would make it after 100 runs");
        continue;
      }
      if (*outcome == build::BuildOutcome::failed || *outcome == build::BuildOutcome::interrupted)
        return tell(*outcome);
    }
    const auto targets = choose_targets(manifest, call_.values("TARGET"));
    if (!targets) return refuse_build(console_, targets.error().what);
    if (!options_.is_dry) {
      const unsigned removed = work.remove_stale();
      if (removed != 0 && !call_.has("--quiet"))
        console_.out("larder: removed " + std::to_string(removed) + " outputs that no step makes any more\n");
    }
    const auto outcome = work.make(*targets);
    report.end();
    if (!session_.log->trouble().empty())
      console_.err("larder: warning: what is made will be made again next time: " + session_.log->trouble() +
                   '\n');
    if (!outcome) return refuse_build(console_, outcome.error().what);
    return tell(*outcome);
  }
}

int BuildCommand::run() {
  if (const auto code = read_options()) return *code;
  if (call_.has("--directory")) {
    const std::string directory(call_.value("--directory"));
    if (::chdir(directory.c_str()) != 0)
      return call_.refuse("cannot work in " + directory, std::strerror(errno),
                          "name a directory that is there");
    if (!call_.has("--tool") && !call_.has("--quiet"))
      console_.out("larder: Entering directory `" + directory + "'\n");
  }
  session_.file = call_.has("--file") ? std::string(call_.value("--file")) : "build.ninja";
  build::make_canonical(session_.file);
  if (call_.has("--tool")) {
    const std::string tool(call_.value("--tool"));
    if (auto read = session_.read(); !read) return refuse_build(console_, read.error().what);
    build::StopSignals signals;
    signals_ = &signals;
    bool has_waited = false;
    if (tool == "clean" && !options_.is_dry)
      if (const auto code = take_lock(has_waited)) return *code;
    if (has_waited)
      if (auto read = session_.read(); !read) return refuse_build(console_, read.error().what);
    session_.open_log(true);
    return run_build_tool(call_, tool, call_.values("TARGET"), session_);
  }
  if (const auto code = find_products()) return *code;
  build::StopSignals signals;
  signals_ = &signals;
  return build();
}

int run_build(Call& call) {
  return BuildCommand(call).run();
}

}  // namespace

extern const Command kBuildCommand;
const Command kBuildCommand{
    "build",
    "build what a ninja manifest describes, by content",
    "Reads build.ninja as CMake, Meson, GN and others write it and runs the commands whose outputs would "
    "come out "
    "different: a command runs when its text, the environment it depends on, a program it names, or the "
    "content of an "
    "input or output is another than at its last run. Times do not count: touching files rebuilds nothing, "
    "and a step "
    "whose outputs come out the same ends the matter for what is behind it. What was learnt is kept in "
    ".larder below "
    "the manifest's builddir. What compilers make is kept in the store and restored from there where the "
    "same "
    "would be made again, in other checkouts too unless it holds their path. Exit code: 0 built, 1 a command "
    "failed, 2 the manifest or the command line is "
    "wrong, 130 "
    "interrupted. The tools are: clean (removes outputs), targets (lists them; `rule NAME`, `depth N` or "
    "`all`), query "
    "(what a target is made of and for), commands (that make a target), compdb (a compilation database), "
    "deps (what "
    "commands were found to read), graph (for graphviz).",
    kArguments,
    false,
    false,
    run_build,
    "larder build\nlarder build -C out -j 8 tests\nlarder build -d explain\nlarder build -t clean"};

}  // namespace larder::tool
