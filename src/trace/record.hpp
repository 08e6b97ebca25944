// A record takes in what halted calls name and makes a report of it. Used by one thread at a time.
#pragma once

#include <linux/seccomp.h>

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "trace/calls.hpp"
#include "trace/places.hpp"
#include "trace/report.hpp"

namespace larder::trace {

class Record {
 public:
  // While the call that is told of is halted.
  void take(const seccomp_notif& halted);
  void doubt(std::string why) {
    if (report_.why_unknowable.empty()) report_.why_unknowable = std::move(why);
  }
  Report take_report() {
    catch_up();
    return std::move(report_);
  }

 private:
  struct Known {
    std::uint32_t touch;
    bool is_own = false;  // the command made or replaced it
  };

  // A call that changes nothing and names a whole path, which can be looked at later.
  struct Later {
    std::size_t text;  // where it begins in texts_
    Uses uses;
    bool link_only;
    pid_t task;
  };
  // Most calls only read, and the command waits until they are noted: so they are looked at together,
  // before the next call that may change what they lead to. False: it is none that can wait.
  bool take_later(const Call& call, const seccomp_notif& halted);
  void catch_up();
  void take_call(const Call& call, const seccomp_notif& halted);
  void take_open(const Call& call, const seccomp_notif& halted, std::uint64_t flags);
  void take_two(const Call& call, const seccomp_notif& halted);
  void take_run(const std::string& path, bool link_only, pid_t task);
  void take_address(const seccomp_notif& halted, bool makes);
  // The absolute path that the call names; none: it names none, or none that can be known.
  std::optional<std::string> path_of(const Path& path, const seccomp_notif& halted);
  static std::optional<std::string> path_of_fd(int fd, pid_t task);
  // Empty, or not a path: it has none that can be named.
  std::string working_directory(pid_t task);
  static bool is_link_only(const Call& call, const Path& path, const seccomp_notif& halted);
  // What is there now.
  Places::Place touch(const std::string& path, Uses uses, bool link_only, pid_t task);
  void touch_place(const std::string& place, const Seen& seen, Uses uses);
  void move_directory(const std::string& from, const std::string& to);
  bool read_text(std::uint64_t address, pid_t task, std::string& text);
  bool read_memory(std::uint64_t address, pid_t task, void* into, std::size_t size);

  Report report_;
  Places places_;
  std::unordered_map<std::string, Known> known_;  // by place
  std::unordered_map<std::string, Uses> seen_;    // paths as named, and the uses that changed nothing
  std::unordered_set<std::string> missed_;        // those that led nowhere since a name was last made
  std::vector<Later> later_;
  std::string texts_;      // each ends with a zero
  std::string working_;    // of all processes of the command, while none has left it; empty: not asked yet
  bool has_left_ = false;  // some have another working directory
  std::size_t bytes_ = 0;
  bool is_lost_ = false;  // paths may mean something else by now
  unsigned moves_ = 0;
};

}  // namespace larder::trace
