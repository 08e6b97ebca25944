// Starts a command whose calls are halted. Between the start and the command's first instruction the starting
// thread stands still, as in vfork, so that it costs no copy of its memory.
//
// The command gets no new privileges (PR_SET_NO_NEW_PRIVS): without that only root may install a filter. And
// it is killed when the thread that started it ends: a command that is halted before it has become another
// program would else wait for ever for a tracer that is gone.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

namespace larder::trace {

struct Launch {
  const std::vector<std::string>& words;
  bool is_in_path = false;         // words[0] is looked for in PATH where it holds no slash
  const sigset_t* mask = nullptr;  // the command's; null: the caller's
  // Its input, and both its outputs; -1: the caller's, and the caller's process group.
  int input_fd = -1;
  int output_fd = -1;
  int inherited_fd = -1;  // which it has open, too; -1: none
  // False: it is not halted when it asks for the text of a symbolic link, and the report says nothing of
  // that.
  bool sees_links = true;
};

struct Launched {
  pid_t pid = -1;
  int error = 0;        // why it was not started; errno
  int trace_error = 0;  // why it runs without being traced; errno
};

// Sends the descriptor of what it halts through `socket_fd`, or nothing. While this runs, somebody must
// answer. Without words it does no more than look at `/`.
Launched launch(const Launch& what, int socket_fd);

// The descriptor that came; -1: none.
int receive_listener(int socket_fd);

}  // namespace larder::trace
