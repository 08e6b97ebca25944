// Leftovers: commands that run on although their build was killed. Each command inherits a descriptor of the
// file `commands` beside the log, which is locked through it; so the kernel knows for how long any of them,
// or what they started, is there. A build that ends in order has waited for its commands and removes the
// file: who still has it open then, a server say, matters to nobody. Used by one thread, while its build has
// its turn.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "larder/result.hpp"

namespace larder::build {

// What the commands of one build inherit.
class CommandsFile {
 public:
  explicit CommandsFile(std::string directory) : directory_(std::move(directory)) {}
  // PRECONDITION: every command was waited for.
  ~CommandsFile();
  CommandsFile(const CommandsFile&) = delete;
  CommandsFile& operator=(const CommandsFile&) = delete;

  // The descriptor, which is closed on exec unless a command is given it. Opened at the first call; without
  // it commands run all the same, and are not seen should they be left over.
  Result<int> fd();

 private:
  const std::string directory_;
  std::string path_;  // empty: not opened yet
  int fd_ = -1;
};

struct Leftover {
  pid_t pid = 0;
  std::string name;
  bool has_left = false;  // the session of its build: it is meant to go on, as servers are
};

// Those below one log's directory. PRECONDITION of all: this process has its turn there, and no CommandsFile.
class Leftovers {
 public:
  explicit Leftovers(const std::string& directory);
  ~Leftovers();
  Leftovers(const Leftovers&) = delete;
  Leftovers& operator=(const Leftovers&) = delete;

  // Whether there may be any. One failing system call where the last build ended in order.
  bool any() noexcept;
  // Those that this process may know of, by number. O(processes of the machine).
  std::vector<Leftover> list() const;
  // From now on they matter to nobody.
  void forget() noexcept;
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace larder::build
