// `larder run -- COMMAND` starts a program with its drivers' caches adopted, and takes in what they add. The
// program's input, output, signals and exit code are its own; whatever fails here, it is started all the
// same.
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "base/number.hpp"
#include "larder/cache.hpp"
#include "program/adopted.hpp"
#include "program/known_builds.hpp"
#include "settings/units.hpp"
#include "tool/command.hpp"
#include "tool/compiler.hpp"
#include "tool/environment.hpp"

extern char** environ;

namespace larder::tool {
namespace {

constexpr int kNotFound = 127;
constexpr int kNotExecutable = 126;

volatile sig_atomic_t child_to_tell = 0;

// What asks this process to end is meant for the program.
void pass_on(int signal) {
  if (child_to_tell > 0) ::kill(static_cast<pid_t>(child_to_tell), signal);
}

// While one lives, the keys of the terminal reach the program alone, and other requests to end are passed on.
class Signals {
 public:
  Signals() noexcept {
    for (std::size_t i = 0; i < kCount; ++i) {
      struct sigaction action {};
      action.sa_handler = i < kIgnored ? SIG_IGN : pass_on;
      action.sa_flags = SA_RESTART;
      ::sigaction(kSignals[i], &action, &before_[i]);
    }
  }
  ~Signals() {
    for (std::size_t i = 0; i < kCount; ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
    child_to_tell = 0;
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // Those that the program must not find ignored because we ignore them.
  sigset_t reset() const noexcept {
    sigset_t set;
    ::sigemptyset(&set);
    for (std::size_t i = 0; i < kCount; ++i) {
      if (before_[i].sa_handler != SIG_IGN) ::sigaddset(&set, kSignals[i]);
    }
    return set;
  }

 private:
  static constexpr int kSignals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
  static constexpr std::size_t kIgnored = 2;
  static constexpr std::size_t kCount = 4;
  struct sigaction before_[kCount] {};
};

// The words of a command, and the environment with `more` lines, as a process is started with them.
class Start {
 public:
  Start(const std::vector<std::string>& words, const std::vector<std::string>& more)
      : words_(words), lines_(more) {
    // Of two lines for one variable programs may take either.
    for (char** each = environ; *each != nullptr; ++each) {
      const std::string_view line(*each);
      const std::string_view name = line.substr(0, line.find('=') + 1);
      const auto is_it = [&](const std::string& said) { return !name.empty() && said.starts_with(name); };
      if (std::none_of(more.begin(), more.end(), is_it)) lines_.emplace_back(line);
    }
    for (std::string& line : lines_) environment_.push_back(line.data());
    environment_.push_back(nullptr);
    for (std::string& word : words_) arguments_.push_back(word.data());
    arguments_.push_back(nullptr);
  }
  Start(const Start&) = delete;
  Start& operator=(const Start&) = delete;

  // 0, or what errno would be.
  int spawn(pid_t& child, const posix_spawnattr_t& attributes) {
    return ::posix_spawnp(&child, arguments_[0], nullptr, &attributes, arguments_.data(),
                          environment_.data());
  }

 private:
  std::vector<std::string> words_;
  std::vector<std::string> lines_;
  std::vector<char*> arguments_;
  std::vector<char*> environment_;
};

// In a session of its own: no terminal's key reaches it, and nobody waits for it.
bool spawn_aside(const std::vector<std::string>& words, const std::vector<std::string>& more) {
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  pid_t child = -1;
  const bool is_started = Start(words, more).spawn(child, attributes) == 0;
  ::posix_spawnattr_destroy(&attributes);
  return is_started;
}

int start_and_wait(const std::vector<std::string>& words, const std::vector<std::string>& more, Call& call) {
  Start start(words, more);
  const Signals signals;
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  const sigset_t reset = signals.reset();
  ::posix_spawnattr_setsigdefault(&attributes, &reset);
  // Nobody may ask us to end between the program's start and our knowing its number.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, &before);
  ::posix_spawnattr_setsigmask(&attributes, &before);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  pid_t child = -1;
  const int error = start.spawn(child, attributes);
  if (error == 0) child_to_tell = static_cast<sig_atomic_t>(child);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    call.refuse(words.front() + " cannot be started", std::strerror(error),
                error == ENOENT ? "check its name and your PATH" : "check that it may be executed");
    return error == ENOENT ? kNotFound : kNotExecutable;
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Nanoseconds spent_by_children() noexcept {
  struct rusage usage {};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  return std::chrono::seconds(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         std::chrono::microseconds(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

// What is adopted for one run, and why not, a line each.
struct Adopted {
  std::optional<Cache> cache;
  std::vector<Adoption> adoptions;
  std::vector<std::string> remarks;
};

void adopt(const Call& call, const std::string& program, Adopted& adopted) {
  Options options = call.options();
  if (*options.disable) {
    adopted.remarks.emplace_back("larder is switched off");
    return;
  }
  if (!*options.persistent || options.dir->empty()) {
    adopted.remarks.emplace_back("the disk is switched off");
    return;
  }
  options.program = program;
  options.preload = false;
  options.memory = false;  // each file is read once
  options.write_behind_size = 0;
  adopted.cache.emplace(Cache::open(options));
  if (!adopted.cache->stats().has_disk) {
    for (const std::string& each : adopted.cache->problems()) adopted.remarks.push_back(each);
    return;
  }
  KnownBuilds builds(&*adopted.cache);
  std::vector<AdoptedDriver> drivers;
  for (FoundDriver& found :
       find_drivers({.vendors = variable("OCL_ICD_VENDORS"), .mesa = {}, .libraries = {}}, &builds)) {
    const std::string& name = found.driver.name;
    if (!variable(found.driver.variable.c_str()).empty()) {
      adopted.remarks.push_back(name + ": " + found.driver.variable + " is set, and is left as it is");
    } else if (!found.why_not.empty()) {
      adopted.remarks.push_back(name + ": " + found.why_not);
    } else {
      drivers.push_back(std::move(found.driver));
    }
  }
  builds.keep();
  if (drivers.empty()) adopted.remarks.emplace_back("no driver is here whose cache can be adopted");
  for (AdoptedDriver& driver : drivers) {
    auto adoption = Adoption::open(*adopted.cache, std::move(driver), *options.dir);
    if (!adoption) {
      adopted.remarks.push_back(adoption.error().what);
      continue;
    }
    adoption->lay();
    adopted.adoptions.push_back(std::move(*adoption));
  }
}

std::string programs_of(const AdoptionReport& found) {
  const std::uint64_t hits = found.asked_programs - found.made_programs;
  std::string text =
      std::to_string(found.asked_programs) + " programs asked, " + std::to_string(hits) + " hits";
  std::string tiers;
  const std::pair<std::uint64_t, const char*> kTiers[] = {{found.there_programs, " there"},
                                                          {found.disk_programs, " from disk"},
                                                          {found.bundle_programs, " from bundles"},
                                                          {found.remote_programs, " from remote"}};
  for (const auto& [count, from] : kTiers) {
    if (count != 0) tiers += (tiers.empty() ? "" : ", ") + std::to_string(count) + from;
  }
  if (!tiers.empty()) text += " (" + tiers + ")";
  return text + ", " + std::to_string(found.made_programs) + " made; saved " +
         settings::readable_duration(found.saved);
}

void report(const Adopted& adopted, Console& console) {
  for (const std::string& each : adopted.remarks) console.err("larder: " + printable(each) + '\n');
  for (const Adoption& each : adopted.adoptions) {
    const AdoptionReport& found = each.report();
    console.err(
        "larder: " + each.driver().name + ": " + std::to_string(found.known_files) + " files there, " +
        std::to_string(found.laid_files) + " laid (" + settings::readable_size(found.laid_bytes) + "), " +
        std::to_string(found.taken_files) + " taken in (" + settings::readable_size(found.taken_bytes) + ")" +
        (found.removed_files == 0 ? "" : ", " + std::to_string(found.removed_files) + " removed") + '\n');
    console.err("larder: " + each.driver().name + ": " + programs_of(found) + '\n');
    for (const auto& [why, files] : found.not_kept) {
      console.err("larder: " + each.driver().name + ": " + std::to_string(files) +
                  " files could not be kept: " + printable(why) + '\n');
    }
  }
}

// The libraries that stand between the program and its APIs, and where they tell of what they did.
class Layers {
 public:
  // Nothing when larder or its disk is switched off: the program is started as it would be without.
  void prepare(const Call& call, const std::vector<Adoption>& adoptions, bool wants_report) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return;  // a sanitizer's library cannot be preloaded into programs that have none
#endif
    const Options& options = call.options();
    if (*options.disable || !*options.persistent || options.dir->empty()) return;
    // Both have a dlsym of their own, and the first of them knows how to ask the other.
    std::string preloaded;
    if (call.has("--gl-layer")) preloaded = preloadable("larder_opengl_layer.so");
    if (call.has("--gl-layer") && preloaded.empty())
      remarks_.emplace_back(
          "opengl: larder_opengl_layer.so is not where larder is installed, or cannot be preloaded");
    // Where OpenCL's loader has no layers; one that has some finds it there already.
    const std::string for_loader =
        call.has("--opencl-layer") ? preloadable("larder_opencl_layer.so") : std::string();
    for (const std::string& each :
         {for_loader, preloadable("larder_nvrtc_shim.so"), variable("LD_PRELOAD")}) {
      if (!each.empty()) preloaded += (preloaded.empty() ? "" : ":") + each;
    }
    if (preloaded != variable("LD_PRELOAD")) variables_.push_back("LD_PRELOAD=" + preloaded);
    stand_before_drivers(call.has("--opencl-layer") ? std::string(call.value("--opencl-layer")) : "",
                         adoptions);
    if (call.has("--vulkan-layer")) stand_before_vulkan();
    if (variables_.empty()) return;
    variables_.push_back("LARDER_DIR=" + *options.dir);
    if (!wants_report) return;
    std::string path = (std::filesystem::temp_directory_path() / "larder-run-XXXXXX").string();
    const int fd = ::mkstemp(path.data());
    if (fd < 0) return;
    ::close(fd);
    told_ = path;
    variables_.push_back("LARDER_RUN_REPORT=" + path);
  }
  ~Layers() {
    std::error_code none;
    if (!told_.empty()) ::unlink(told_.c_str());
    if (!wishes_.empty()) std::filesystem::remove_all(wishes_, none);
  }
  Layers() = default;
  Layers(const Layers&) = delete;
  Layers& operator=(const Layers&) = delete;

  const std::vector<std::string>& variables() const noexcept {
    return variables_;
  }

  // When the program is over: what its OpenCL layer wishes to be made is left to a worker, which nobody waits
  // for. The folder is the worker's from then on. `more` is what the program's environment had.
  void leave_to_worker(std::vector<std::string> more) {
    std::error_code none;
    if (wishes_.empty() || std::filesystem::is_empty(wishes_, none)) return;
    const auto count = std::distance(std::filesystem::directory_iterator(wishes_), {});
    const std::string worker = find_part("larder_opencl_worker");
    std::erase_if(more, [](const std::string& line) { return line.starts_with("LD_PRELOAD="); });
    if (worker.empty()) {
      remarks_.emplace_back("opencl: larder_opencl_worker is not where larder is installed");
    } else if (!spawn_aside({worker, wishes_}, more)) {
      remarks_.emplace_back("opencl: larder_opencl_worker cannot be started");
    } else {
      remarks_.push_back("opencl: " + std::to_string(count) + " left to a worker to keep");
      wishes_.clear();
    }
  }

  // A line of a layer: its name, outcome, cost in nanoseconds, why it could not be kept.
  void report(Console& console) const {
    std::map<std::string, std::map<std::string, std::uint64_t>> outcomes;
    std::map<std::string, std::uint64_t> why_not;
    std::map<std::string, Nanoseconds> saved;
    std::ifstream lines(told_);
    for (std::string layer, outcome, cost, why;
         std::getline(lines, layer, '\t') && std::getline(lines, outcome, '\t') &&
         std::getline(lines, cost, '\t') && std::getline(lines, why);) {
      ++outcomes[layer][outcome];
      if (!why.empty()) ++why_not[layer + ": " + why];
      if (outcome.ends_with("_hit"))
        saved[layer] += Nanoseconds(to_number<Nanoseconds::rep>(cost).value_or(0));
    }
    for (const auto& [layer, of_layer] : outcomes) {
      std::uint64_t asked = 0;
      std::uint64_t hits = 0;
      std::string tiers;
      for (const auto& [outcome, count] : of_layer) {
        asked += count;
        if (outcome.ends_with("_hit")) hits += count;
        tiers += (tiers.empty() ? "" : ", ") + std::to_string(count) + ' ' + outcome;
      }
      console.err("larder: " + printable(layer) + ": " + std::to_string(asked) + " programs asked, " +
                  std::to_string(hits) + " hits (" + printable(tiers) + "); saved " +
                  settings::readable_duration(saved[layer]) + '\n');
    }
    for (const std::string& each : remarks_) console.err("larder: " + printable(each) + '\n');
    for (const auto& [why, count] : why_not) {
      console.err("larder: " + std::to_string(count) + " could not be kept: " + printable(why) + '\n');
    }
  }

 private:
  // The path of a part; empty when it is not there, or the loader would split it.
  static std::string preloadable(const char* part) {
    std::string path = find_part(part);
    return path.find_first_of(": ") == std::string::npos ? path : std::string();
  }

  // OpenCL's loader separates layers by colons, and the one named last is asked first. `which` programs are
  // kept is empty where none are asked for; the layer is there all the same where processes take turns to
  // have a driver compile into its directory.
  void stand_before_drivers(const std::string& which, const std::vector<Adoption>& adoptions) {
    const auto pocl = std::find_if(adoptions.begin(), adoptions.end(),
                                   [](const Adoption& each) { return each.driver().name == "pocl"; });
    if (which.empty() && pocl == adoptions.end()) return;
    const std::string layer = find_part("larder_opencl_layer.so");
    if (layer.empty() || layer.find(':') != std::string::npos) {
      remarks_.emplace_back(
          layer.empty() ? "opencl: larder_opencl_layer.so is not where larder is installed"
                        : "opencl: larder is installed in a folder whose name OpenCL's loader would split");
      return;
    }
    const std::string before = variable("OPENCL_LAYERS");
    variables_.push_back("OPENCL_LAYERS=" + layer + (before.empty() ? "" : ":" + before));
    variables_.push_back("LARDER_OPENCL_LAYER=" + (which.empty() ? "turns" : which));
    // An adopted cache holds more than any binary.
    if (which == "all" && pocl == adoptions.end()) {
      std::string folder = (std::filesystem::temp_directory_path() / "larder-wishes-XXXXXX").string();
      if (folder.starts_with('/') && ::mkdtemp(folder.data()) != nullptr) wishes_ = folder;
      if (!wishes_.empty()) variables_.push_back("LARDER_OPENCL_WISHES=" + wishes_);
    }
    if (pocl != adoptions.end()) variables_.push_back("LARDER_OPENCL_TURNS=" + pocl->directory());
  }

  // Vulkan's loader takes layers by name, out of folders with their manifests. Where the user names all
  // folders, it looks into no others.
  void stand_before_vulkan() {
    const std::string manifest = find_part("VkLayer_larder.json");
    const std::string folder = manifest.substr(0, manifest.rfind('/'));
    if (manifest.empty() || folder.find(':') != std::string::npos) {
      remarks_.emplace_back(
          manifest.empty()
              ? "vulkan: VkLayer_larder.json is not where larder is installed"
              : "vulkan: larder is installed in a folder whose name Vulkan's loader would split");
      return;
    }
    const char* const where = variable("VK_LAYER_PATH").empty() ? "VK_ADD_LAYER_PATH" : "VK_LAYER_PATH";
    const auto behind = [](const char* name) {
      const std::string before = variable(name);
      return before.empty() ? before : before + ':';
    };
    variables_.push_back(where + ("=" + behind(where)) + folder);
    variables_.push_back("VK_INSTANCE_LAYERS=" + behind("VK_INSTANCE_LAYERS") + "VK_LAYER_LARDER_pipelines");
  }

  std::vector<std::string> variables_;
  std::vector<std::string> remarks_;
  std::string told_;
  std::string wishes_;  // a folder of this run's; empty: none, or handed over
};

// What is allowed to go wrong around a program, and may not keep it from running.
template <typename Work>
void try_to(Adopted& adopted, const char* what, Work work) noexcept {
  try {
    work();
  } catch (const std::exception& error) {
    try {
      adopted.remarks.push_back(std::string(what) + ": " + error.what());
    } catch (...) {
    }
  }
}

int run_run(Call& call) {
  const std::vector<std::string> words = call.values("COMMAND");
  if (words.empty()) {
    return call.refuse("larder run needs a command", "there is nothing to start",
                       "write `larder run -- COMMAND ARGUMENTS`");
  }
  Adopted adopted;
  const std::string program = words.front().substr(words.front().rfind('/') + 1);
  try_to(adopted, "adopt", [&] { adopt(call, program, adopted); });
  Layers layers;
  try_to(adopted, "layers", [&] { layers.prepare(call, adopted.adoptions, call.has("--report")); });
  std::vector<std::string> more = layers.variables();
  for (const Adoption& each : adopted.adoptions) {
    more.push_back(each.driver().variable + '=' + each.directory());
    for (const std::string& line : each.driver().also) more.push_back(line);
  }
  call.console().flush();

  const int code = start_and_wait(words, more, call);

  try_to(adopted, "take in", [&] {
    // A quarter of what the entries may use; they are the copies that count.
    const std::uint64_t size_max = *call.options().size_max;
    const std::uint64_t bytes_max = size_max == 0 ? std::uint64_t{1} << 30 : size_max / 4;
    for (Adoption& each : adopted.adoptions) each.take_in(spent_by_children(), bytes_max);
    if (adopted.cache) adopted.cache->close(*call.options().close_time);
  });
  try_to(adopted, "worker", [&] { layers.leave_to_worker(more); });
  if (call.has("--report")) {
    report(adopted, call.console());
    try_to(adopted, "report", [&] { layers.report(call.console()); });
  }
  return code;
}

constexpr Argument kRunArguments[] = {
    {"--report", "", "say at the end what was found and what was kept"},
    {"--opencl-layer", "WHICH",
     "keep OpenCL programs by their binaries: of drivers that are known to bear it, or of all", "known all"},
    {"--gl-layer", "", "keep OpenGL programs by their binaries, for drivers that keep none themselves"},
    {"--vulkan-layer", "", "keep what the driver's pipeline caches hold, also for programs that have none"},
    {"COMMAND", "", "the program and its arguments, behind --", "", false, true},
};

}  // namespace

extern const Command kRunCommand;
const Command kRunCommand{
    "run",
    "start a program with its GPU drivers' caches kept by larder",
    "Starts a program that knows nothing of larder. A driver that keeps a cache of its own (PoCL, Mesa) gets "
    "a "
    "directory of larder's for it: what is known of the driver lies there beforehand, and what is new "
    "afterwards is kept as entries. What the program compiles with NVRTC is kept by a library that is "
    "preloaded in front of it. --opencl-layer does the same for OpenCL drivers whose own cache is not "
    "adopted, --gl-layer for OpenGL programs through EGL and GLX, --vulkan-layer for Vulkan pipelines of "
    "drivers "
    "whose pipeline caches hold any. "
    "The exit code is the program's, 128 and the signal's number when one ended "
    "it, "
    "127 when there is no such program and 126 when it cannot be started. With LARDER_DISABLE=1, or when "
    "anything of larder fails, the program is started as it would be without.",
    kRunArguments,
    false,
    true,
    run_run};

}  // namespace larder::tool
