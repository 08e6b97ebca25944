// `larder doctor` looks at everything the disk tier needs and says what to do about what is wrong.
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/file.hpp"
#include "base/file_system.hpp"
#include "settings/units.hpp"
#include "store/layout.hpp"
#include "store/trust.hpp"
#include "tool/columns.hpp"
#include "tool/command.hpp"
#include "tool/json.hpp"
#include "tool/place.hpp"
#include "tool/shards.hpp"

namespace larder::tool {
namespace {

enum class State : unsigned char { good, note, bad };

struct Finding {
  State state;
  std::string subject;
  std::string what;
  std::string advice = {};
};

std::string_view name(State state) noexcept {
  return state == State::good ? "ok" : state == State::note ? "note" : "bad";
}

class Doctor {
 public:
  explicit Doctor(const Call& call) : call_(call), files_(FileSystem::posix()) {}

  std::vector<Finding> examine() {
    look_at_settings();
    look_at_descriptors();
    if (*call_.options().disable) {
      add(State::note, "larder", "is switched off by " + call_.settings().source("disable").place,
          "unset it to use larder again");
    }
    if (*call_.options().persistent) {
      look_at_root();
      look_at_runtime_dir();
    } else {
      add(State::note, "disk", "is off: entries live as long as their process", "set persistent to on");
    }
    look_at_log();
    look_at_bundles();
    return std::move(findings_);
  }

 private:
  void add(State state, std::string subject, std::string what, std::string advice = {}) {
    findings_.push_back({state, std::move(subject), std::move(what), std::move(advice)});
  }

  void look_at_settings() {
    for (const settings::Problem& problem : call_.settings().problems) {
      add(problem.origin == settings::Origin::project_file ? State::note : State::bad, "settings",
          (problem.where.empty() ? "" : problem.where + ": ") + problem.what + ": " + problem.why,
          problem.advice);
    }
    if (call_.settings().problems.empty()) add(State::good, "settings", "fit");
  }

  void look_at_descriptors() {
    if (has_descriptors(kDescriptorsMin)) return;
    add(State::bad, "descriptors", "too few files may be open at once to read a store",
        std::string(kMoreDescriptors));
  }

  // The nearest directory above `path` that is there.
  static std::string existing_parent(std::string path) {
    struct stat status {};
    do {
      path.erase(std::max<std::size_t>(path.rfind('/'), 1));
    } while (path != "/" && ::stat(path.c_str(), &status) != 0);
    return path;
  }

  // True when `path` is there and can be used.
  bool look_at_directory(const std::string& subject, const std::string& path) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) {
      if (errno != ENOENT) {
        add(State::bad, subject, path + ": " + std::strerror(errno),
            "make every directory above it readable");
        return false;
      }
      const std::string parent = existing_parent(path);
      if (::access(parent.c_str(), W_OK | X_OK) != 0) {
        add(State::bad, subject, path + " cannot be made: " + parent + " is not writable for you",
            "choose another place, or make it writable");
      } else {
        add(State::good, subject, path + " will be made at the first use");
      }
      return false;
    }
    const std::string quoted = shell_quoted(path);
    if (S_ISLNK(status.st_mode)) {
      add(State::bad, subject, path + " is a symbolic link, which others could turn elsewhere",
          "name the directory that it leads to");
    } else if (!S_ISDIR(status.st_mode)) {
      add(State::bad, subject, path + " is no directory", "name another directory");
    } else if (status.st_uid != ::geteuid()) {
      add(State::bad, subject, path + " belongs to user " + std::to_string(status.st_uid),
          "choose a directory of your own");
    } else if (!trust::is_our_directory(status, ::geteuid())) {
      add(State::bad, subject, path + " can be written by others", "chmod 700 " + quoted);
    } else if (::access(path.c_str(), W_OK | X_OK) != 0) {
      const bool is_read_only = errno == EROFS;
      add(is_read_only ? State::note : State::bad, subject,
          path + (is_read_only ? " is on a read-only file system: hits only" : " is not writable for you"),
          is_read_only ? "" : "chmod 700 " + quoted);
      return ::access(path.c_str(), R_OK | X_OK) == 0;
    } else if ((status.st_mode & S_IRWXU) != S_IRWXU) {
      add(State::bad, subject, path + " lacks rights that its owner needs", "chmod 700 " + quoted);
      return true;
    } else {
      add(State::good, subject, path);
      return true;
    }
    return false;
  }

  // What the store requires besides: nobody else can put another in the place of the directory, and the
  // directories within it are usable.
  void look_into_root(const std::string& root) {
    struct stat status {};
    const std::string parent = existing_parent(root);
    if (::stat(parent.c_str(), &status) == 0 && !trust::is_safe_parent(status, ::geteuid())) {
      add(State::bad, "directory", parent + ", above it, can be written by others, who could replace it",
          "chmod go-w " + shell_quoted(parent) + ", or choose another place");
    }
    const std::string version = root + layout::kVersionDirectory;
    if (::lstat(version.c_str(), &status) != 0 || !look_at_directory("store", version)) return;
    look_at_index(version);
    constexpr std::size_t kNamed = 8;
    const std::vector<BadShard> shards = bad_shards(root);
    for (std::size_t i = 0; i < std::min(shards.size(), kNamed); ++i)
      add(State::bad, "shard", shards[i].path + ' ' + shards[i].why, shards[i].advice);
    if (shards.size() > kNamed) {
      add(State::bad, "shard", std::to_string(shards.size() - kNamed) + " more are like that",
          "run `larder doctor` again when these are mended");
    }
  }

  // What stands in the place of an index file and is none. Upkeep frees the place but for a directory that
  // holds something.
  void look_at_index(const std::string& version) {
    for (const char* const name : {layout::kTotals, layout::kJournal, layout::kJournalOlder, layout::kLock}) {
      struct stat status {};
      const std::string path = version + '/' + name;
      if (::lstat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) continue;
      add(State::bad, "index", path + " is no file, so entries are not counted",
          "run `larder gc`; if that does not help, look at what it is and move it away");
    }
  }

  void look_at_root() {
    const std::string& root = *call_.options().dir;
    const bool is_there = look_at_directory("directory", root);
    if (is_there) look_into_root(root);
    const std::string place = is_there ? root : existing_parent(root);
    const File dir(files_, files_.open_at(AT_FDCWD, place.c_str(), O_RDONLY | O_DIRECTORY));
    FileSpace space;
    if (!dir.is_open() || files_.space(dir.fd(), space) < 0) {
      add(State::note, "disk", "its free space is not known");
      return;
    }
    const std::string free = settings::readable_size(space.free_bytes) + " free";
    if (space.free_bytes < *call_.options().free_min) {
      add(State::bad, "disk", free + ", less than free-min: nothing is written",
          "make room, or lower free-min (" + settings::exact_size(*call_.options().free_min) + ')');
    } else {
      add(State::good, "disk", free);
    }
    add(State::good, "file system",
        space.is_local ? "is this machine's own"
                       : "may be shared with other machines: entries are read, never mapped");
    if (is_there && ::access((root + "/CACHEDIR.TAG").c_str(), F_OK) != 0) {
      add(State::note, "CACHEDIR.TAG", "is missing, so backups include the cache",
          "it is made at the next use");
    }
  }

  void look_at_runtime_dir() {
    const std::string& path = *call_.options().runtime_dir;
    if (!look_at_directory("locks", path)) return;
    const std::string probe = path + "/doctor-" + std::to_string(::getpid());
    const File file(files_, files_.open_at(AT_FDCWD, probe.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600));
    if (!file.is_open()) return;
    ::unlink(probe.c_str());
    if (files_.lock(file.fd(), FileLock::exclusive, 0) < 0) {
      add(State::note, "locks", "do not work there: processes may make the same product at once",
          "set runtime-dir to a place on a local disk");
    }
  }

  void look_at_log() {
    const std::string& path = *call_.options().log;
    if (path.empty()) return;
    const bool is_there = ::access(path.c_str(), F_OK) == 0;
    if (::access(is_there ? path.c_str() : existing_parent(path).c_str(), W_OK) != 0) {
      add(State::bad, "log", path + " is not writable for you", "name another file, or make it writable");
    } else {
      add(State::good, "log", path);
    }
  }

  void look_at_bundles() {
    for (const std::string& path : *call_.options().bundles) {
      if (::access(path.c_str(), R_OK) != 0) {
        add(State::bad, "bundle", path + ": " + std::strerror(errno), "remove it from the setting bundles");
      } else {
        add(State::good, "bundle", path);
      }
    }
  }

  const Call& call_;
  FileSystem& files_;
  std::vector<Finding> findings_;
};

int run_doctor(Call& call) {
  const std::vector<Finding> findings = Doctor(call).examine();
  bool is_well = true;
  for (const Finding& finding : findings) is_well = is_well && finding.state != State::bad;
  if (call.wants_json()) {
    Json json = begin_json();
    json.member("well", is_well).key("findings").begin_array();
    for (const Finding& finding : findings) {
      json.begin_object()
          .member("state", name(finding.state))
          .member("subject", finding.subject)
          .member("what", finding.what)
          .member("advice", finding.advice)
          .end_object();
    }
    json.end_array().end_object();
    call.console().out(std::move(json).text());
  } else {
    Columns columns({{""}, {""}, {""}});
    for (const Finding& finding : findings) {
      columns.add({std::string(name(finding.state)), finding.subject, printable(finding.what)});
      if (!finding.advice.empty()) columns.add({"", "", "try: " + printable(finding.advice)});
    }
    call.console().out(columns.text());
  }
  return is_well ? kDone : kNo;
}

}  // namespace

extern const Command kDoctorCommand;
const Command kDoctorCommand{
    "doctor",
    "look for what keeps larder from working, and say what to do",
    "Looks at the settings, the directory of the disk tier (owner, modes, free space, file system), the "
    "place of the "
    "locks, the log and the bundles. Exits with 1 when something is bad. Changes nothing.",
    {},
    true,
    true,
    run_doctor};

}  // namespace larder::tool
