#include "build/build.hpp"

#include <malloc.h>

#include <algorithm>

#include "build/seal.hpp"
#include "build/text_file.hpp"

#include "tool/ask_watch.hpp"
#include "tool/build_options.hpp"
#include "tool/build_report.hpp"
#include "tool/build_seal.hpp"
#include "tool/build_session.hpp"

namespace larder::tool {
namespace {

constexpr int kLargeTable = 128 * 1024;
constexpr int kHeapLeft = 1024 * 1024;  // bytes that are worth asking the kernel for only once

constexpr Argument kBuildArguments[] = {
    kBuildDirectory,
    kBuildFile,
    kBuildJobs,
    kBuildKeepGoing,
    kBuildLoad,
    kBuildMemory,
    {"--dry-run", "", "say what would run, run nothing", {}, false, false, 'n'},
    kBuildVerbose,
    kBuildQuiet,
    kBuildDebug,
    {"--tool", "TOOL", "look at or clean what is there instead of building", kBuildTools, false, false, 't'},
    kBuildEnv,
    {"--check", "", "then run every step once more and say what does not come out the same"},
    {"--no-restore", "", "run what is due, restore nothing and keep nothing for others"},
    {"--root", "DIR",
     "what is made below this directory serves other checkouts; default: the repository's top"},
    {"--trace", "", "watch which files all commands name, not only those whose products could be kept"},
    {"--no-trace", "", "watch no command; only compilations are restored and kept"},
    {"--no-watch", "", "build here, though a running watch could"},
    {"--strict", "", "as --trace; a write that no step declares fails its step, undeclared reads are told"},
    {"--generated", "", "with -t clean: remove the manifest's own outputs, too", {}, false, false, 'g'},
    {"--rules", "", "with -t clean: the words are rules, not targets", {}, false, false, 'r'},
    {"TARGET", "", "what to build, or the tool's words; the manifest's defaults without", {}, false, true},
};

class BuildCommand {
 public:
  explicit BuildCommand(Call& call) : call_(call), console_(call.console()) {}
  int run();

 private:
  std::optional<int> find_products();
  std::optional<int> trace();
  std::string why_alone() const;
  std::optional<int> ask(const build::StopSignals& signals);
  int build();
  int tell(build::BuildOutcome outcome);
  int check(build::Build& work, BuildReport& report);
  bool is_sealed();
  void load_sealed();
  void seal(const build::Build& work, const build::Ingredients& ingredients,
            const std::optional<build::SealFound>& since) const;
  std::optional<int> build_since(build::Build& work, const build::Ingredients& ingredients,
                                 BuildReport& report);
  void warn_of_log();

  Call& call_;
  Console& console_;
  build::BuildOptions options_;
  std::optional<build::ProductCache> products_;
  std::optional<build::Tracing> tracing_;
  std::unique_ptr<build::Jobserver> jobserver_;
  build::StopSignals* signals_ = nullptr;
  std::optional<build::BuildLock> lock_;
  BuildSession session_;
  std::string sealed_text_;  // look_ is a view of it
  build::Asked sealed_as_;
  std::unique_ptr<build::SealLook> look_;  // at a seal that does not hold for some files
  bool is_loaded_ = false;  // the session is, under the lock, and its log is as the seal has it
};

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

// --strict promises what cannot be had without a tracer; --trace does what it can, and says when that is
// nothing. By itself a build asks for a tracer when the first command is to be traced.
std::optional<int> BuildCommand::trace() {
  const bool is_strict = call_.has("--strict");
  const bool is_asked = is_strict || call_.has("--trace");
  if (call_.has("--no-trace")) {
    if (is_asked)
      return call_.refuse("--no-trace cannot be said here", "the command line asks for a trace, too",
                          "leave one of them out");
    return std::nullopt;
  }
  if (!is_asked && options_.products == nullptr) return std::nullopt;
  auto root = build::Root::find(std::string(call_.value("--root")));
  if (!root && !is_asked) return std::nullopt;
  if (!root)
    return call_.refuse("commands cannot be traced", root.error().what,
                        "name the directory that the project lies in with --root");
  tracing_.emplace(is_asked ? build::Tracing::Extent::all : build::Tracing::Extent::cacheable, is_strict,
                   root->directory());
  options_.tracing = &*tracing_;
  if (!is_asked) return std::nullopt;
  if (const std::string& why = tracing_->why_not(); !why.empty()) {
    if (is_strict)
      return call_.refuse("--strict cannot be kept here", why,
                          "build without it, or outside of what keeps larder from tracing");
    console_.err("larder: warning: commands are not traced: " + why + '\n');
    options_.tracing = nullptr;
  }
  return std::nullopt;
}

// What only this process can do; empty: a watch may be asked.
std::string BuildCommand::why_alone() const {
  for (const std::string_view flag :
       {"--no-watch", "--dry-run", "--check", "--trace", "--no-trace", "--strict", "--root"})
    if (call_.has(flag)) return std::string(flag) + " was said";
  if (options_.keeps_depfiles || options_.keeps_responses) return "files are to be kept";
  if (jobserver_ != nullptr) return "a jobserver says how much may run";
  return {};
}

// Has a running watch build. An exit code, unless this process is to build.
std::optional<int> BuildCommand::ask(const build::StopSignals& signals) {
  std::string why = why_alone();
  if (why.empty()) {
    WatchRequest request;
    request.self = describe_self();
    request.surroundings = build::Ingredients::surroundings(call_.values("--env"));
    request.variables = hashed_variables();
    request.targets = call_.values("TARGET");
    request.status = build_status_format();
    const Screen screen = screen_of(console_);
    request.columns = screen.columns;
    request.can_redraw = screen.can_redraw;
    request.has_colour = console_.out_has_colour();
    request.is_verbose = call_.has("--verbose");
    request.is_quiet = call_.has("--quiet");
    request.explains = options_.explains;
    if (call_.has("--jobs")) request.jobs = options_.jobs;
    if (call_.has("--keep-going")) request.failures_max = options_.failures_max;
    if (call_.has("--load")) request.load_max = options_.load_max;
    if (call_.has("--memory")) request.memory_min_bytes = options_.memory_min_bytes;
    WatchAsked asked = ask_watch(session_.file, request, console_, signals);
    if (asked.outcome) {
      if (options_.explains)
        console_.err("larder explain: the running watch, process " + std::to_string(asked.pid) +
                     ", was asked\n");
      return tell(*asked.outcome);
    }
    why = std::move(asked.why);
  } else if (options_.explains && !is_watched(session_.file)) {
    why.clear();
  }
  if (options_.explains && !why.empty()) {
    (void)console_.flush();
    console_.err("larder explain: a running watch does not build this: " + printable(why) + '\n');
  }
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

int BuildCommand::check(build::Build& work, BuildReport& report) {
  std::vector<build::Build::Unstable> unstable;
  const auto outcome = work.check(unstable);
  report.end();
  if (!outcome) return refuse_build(console_, outcome.error().what);
  if (*outcome == build::BuildOutcome::interrupted || *outcome == build::BuildOutcome::failed)
    return tell(*outcome);
  (void)console_.flush();
  const build::History& history = *session_.history;
  const auto name = [&](build::ContentId content) {
    return build::hex(history[content].digest).substr(0, 12);
  };
  for (const build::Build::Unstable& one : unstable) {
    console_.err("larder: not the same twice: " + printable(session_.manifest->path(one.output)) + " (" +
                 name(one.before) + " -> " + name(one.after) + ")\n");
  }
  if (!unstable.empty()) {
    console_.err(
        "  why: its command came to another result of the same inputs: it uses the time, a random number "
        "or an address, or reads what it does not declare\n");
    return kNo;
  }
  if (!call_.has("--quiet")) console_.out("larder: every step comes out the same.\n");
  return kDone;
}

// Whether the last build of the same ended well and nothing is another since: then this one has nothing to
// do. Where something is, look_ goes on looking at the rest.
bool BuildCommand::is_sealed() {
  auto seal = build::read_text_file(build::seal_path(session_.file));
  if (!seal) return false;
  lock_.emplace();  // kept, so that nobody comes between
  const auto taken = lock_->take(std::string(build::kLogDirectory));
  if (!taken || !*taken) {
    lock_.reset();
    return false;
  }
  // What a killed build left running may yet write.
  if (build::Leftovers(std::string(build::kLogDirectory)).any()) return false;
  sealed_text_ = std::move(*seal);
  sealed_as_ = asked_of(call_, look_at_log(session_.file));
  if (products_) build::ProductCache::prepare();
  look_ = build::SealLook::begin(sealed_text_, sealed_as_, kSealGroupsMax);
  if (look_ == nullptr) return false;
  if (!look_->find_other()) {
    const auto found = look_->finish();
    look_.reset();
    return found && found->holds();
  }
  load_sealed();
  return false;
}

// Readies what a build begins with, while others look at the rest of the seal.
void BuildCommand::load_sealed() {
  if (options_.tracing != nullptr) (void)options_.tracing->why_not();
  if (!session_.read() || build::log_directory(*session_.manifest) != build::kLogDirectory) return;
  if (sealed_as_.log != look_at_log(session_.file)) return;
  session_.open_log(false);
  is_loaded_ = true;
}

void BuildCommand::seal(const build::Build& work, const build::Ingredients& ingredients,
                        const std::optional<build::SealFound>& since) const {
  auto variables = ingredients.named();
  auto programs = ingredients.found();
  if (since) {  // whose steps were not all looked at again
    variables.insert(since->variables.begin(), since->variables.end());
    programs.insert(since->programs.begin(), since->programs.end());
  }
  write_seal(call_, session_, work, variables, programs);
}

// None: from the seal it cannot be told.
std::optional<int> BuildCommand::build_since(build::Build& work, const build::Ingredients& ingredients,
                                             BuildReport& report) {
  const std::unique_ptr<build::SealLook> look = std::move(look_);
  const build::Manifest& manifest = *session_.manifest;
  const auto targets = choose_targets(manifest, call_.values("TARGET"));
  if (!targets) return std::nullopt;
  const auto adopted = work.adopt(*targets, look->files());
  const std::optional<build::SealFound> since = look->finish();
  if (!since) is_loaded_ = true;  // too much is another for the seal to be of use, and nothing else
  if (!since || !adopted || !*adopted || !is_manifest_as_sealed(*since)) return std::nullopt;
  const auto outcome = work.make_since(since->files, manifest.find(session_.file));
  report.end();
  if (!outcome || !*outcome) return std::nullopt;
  warn_of_log();
  const bool is_made =
      **outcome == build::BuildOutcome::nothing_to_do || **outcome == build::BuildOutcome::done;
  if (is_made) seal(work, ingredients, since);
  return tell(**outcome);
}

void BuildCommand::warn_of_log() {
  if (!session_.log->trouble().empty())
    console_.err("larder: warning: what is made will be made again next time: " + session_.log->trouble() +
                 '\n');
}

int BuildCommand::build() {
  if (!options_.is_dry && !call_.has("--check") && is_sealed())
    return tell(build::BuildOutcome::nothing_to_do);
  const std::string format = build_status_format();
  bool is_locked = false;
  for (unsigned reloads = 0;; ++reloads) {
    const bool was_loaded = std::exchange(is_loaded_, false);
    if (!was_loaded)
      if (auto read = session_.read(); !read) return refuse_build(console_, read.error().what);
    if (!options_.is_dry && !is_locked) {
      bool has_waited = false;
      if (!lock_ || build::log_directory(*session_.manifest) != build::kLogDirectory) lock_.emplace();
      if (const auto code = take_build_lock(console_, *session_.manifest, *signals_, *lock_, has_waited))
        return *code;
      is_locked = true;
      if (has_waited) continue;  // whoever had it may have made the manifest anew
    }
    if (!was_loaded) look_.reset();
    if (!was_loaded) session_.open_log(options_.is_dry);
    build::Manifest& manifest = *session_.manifest;
    warn_of_log();
    build::Ingredients ingredients(manifest, call_.values("--env"));
    BuildReport report(console_, manifest, format, std::min(options_.jobs, default_build_jobs()),
                       call_.has("--verbose"), call_.has("--quiet"));
    build::Build work(manifest, *session_.history, *session_.log, ingredients, *signals_, options_,
                      jobserver_.get(), report);
    if (is_locked) work.give_commands(lock_->commands());
    if (look_ != nullptr) {
      if (const auto code = build_since(work, ingredients, report)) return *code;
      continue;  // as if there had been no seal
    }
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
      if (*outcome == build::BuildOutcome::failed || *outcome == build::BuildOutcome::interrupted)
        return tell(*outcome);
      if (std::any_of(manifest.files().begin(), manifest.files().end(), was_made)) {
        if (reloads == kReloadsMax)
          return refuse_build(console_,
                              session_.file + " is still not as its own step would make it after 100 runs");
        continue;
      }
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
    warn_of_log();
    if (!outcome) return refuse_build(console_, outcome.error().what);
    const bool is_made =
        *outcome == build::BuildOutcome::nothing_to_do || *outcome == build::BuildOutcome::done;
    if (is_made && call_.has("--check") && !options_.is_dry) return check(work, report);
    if (is_made && !options_.is_dry) seal(work, ingredients, std::nullopt);
    return tell(*outcome);
  }
}

int BuildCommand::run() {
  // Large tables go back to the kernel when they are freed, whatever was freed before.
  ::mallopt(M_MMAP_THRESHOLD, kLargeTable);
  ::mallopt(M_TRIM_THRESHOLD, kHeapLeft);
  ::mallopt(M_TOP_PAD, kLargeTable);
  if (const auto code = read_build_options(call_, options_, jobserver_)) return *code;
  if (const auto code = enter_build_directory(call_)) return *code;
  session_.file = call_.has("--file") ? std::string(call_.value("--file")) : "build.ninja";
  build::make_canonical(session_.file);
  if (call_.has("--tool")) {
    const std::string tool(call_.value("--tool"));
    if (auto read = session_.read(); !read) return refuse_build(console_, read.error().what);
    build::StopSignals signals;
    signals_ = &signals;
    bool has_waited = false;
    if (tool == "clean" && !options_.is_dry)
      if (const auto code =
              take_build_lock(console_, *session_.manifest, *signals_, lock_.emplace(), has_waited))
        return *code;
    if (has_waited)
      if (auto read = session_.read(); !read) return refuse_build(console_, read.error().what);
    session_.open_log(true);
    return run_build_tool(call_, tool, call_.values("TARGET"), session_);
  }
  {
    const build::StopSignals signals;
    if (const auto code = ask(signals)) return *code;
  }
  if (const auto code = find_products()) return *code;
  if (!options_.is_dry)
    if (const auto code = trace()) return *code;
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
    kBuildArguments,
    false,
    false,
    run_build,
    "larder build\nlarder build -C out -j 8 tests\nlarder build -d explain\nlarder build -t clean"};

}  // namespace larder::tool
