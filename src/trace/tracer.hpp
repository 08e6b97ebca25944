// Traces commands: runs them so that the kernel halts them at each call that names a file (seccomp user
// notifications: no root, no FUSE, no library in front of theirs), notes what the call names and lets it go
// on.
//
// What tracing changes for a command: it and what it starts gain no privileges (sudo and other set-user-ID
// programs run without them; reported); it cannot install such a filter itself, so a tracer within says that
// it cannot trace; calls of files take some microseconds more. It is never refused anything.
// A command whose process dies is reported as far as it came. When the tracing process is killed, so is the
// command, and what it had started gets ENOSYS from each call of a file: it fails, and nothing hangs.
//
// Used by one thread, and that must outlive what it starts; each command has a thread of its own that
// answers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trace/launch.hpp"
#include "trace/report.hpp"

namespace larder::trace {

class Answers;

class Tracer {
 public:
  Tracer();
  // Processes that outlive their commands are answered by a small process from then on.
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // Why no command can be traced here; empty: they can. Tried out once.
  const std::string& why_not();
  // Whether that is because another tracer traces this process. PRECONDITION: why_not() was asked.
  bool is_traced_itself() const noexcept { return is_traced_itself_; }

  // A command that runs. Without it nobody answers any more, and what still runs gets ENOSYS: to be given to
  // end().
  class Command {
   public:
    explicit Command(std::shared_ptr<Answers> answers) noexcept : answers_(std::move(answers)) {}

   private:
    friend class Tracer;
    std::shared_ptr<Answers> answers_;
  };
  struct Started {
    pid_t pid = -1;
    int error = 0;  // why it was not started; errno
    std::unique_ptr<Command> command;
  };
  // PRECONDITION: why_not() is empty. The caller waits for the process.
  Started start(const Launch& what);
  // What it did. PRECONDITION: its process was waited for.
  Report end(std::unique_ptr<Command> command);
  // Commands of which something still runs.
  std::size_t outlived();

 private:
  bool is_tried_ = false;
  std::string why_not_;
  bool is_traced_itself_ = false;
  std::vector<std::shared_ptr<Answers>> outlived_;
};

}  // namespace larder::trace
