// Which targets were touched since they were last asked for, as the kernel tells it by inotify. Watches stand
// on directories, and on those above them, so that files and directories may come, go and be replaced by
// renames. To be touched is a reason to look and no more: content decides. Used by one thread.
//
// I1  A watch stands before anything below it is looked at; what a new watch finds there is touched. So no
//     change falls between. Whoever looks before the manifest is read watches the directories first.
// I2  Whatever cannot be told one by one is told as `everything`: the queue's overflow, a directory that came
//     or went, and, once a second, a kernel that grants no more watches.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "build/manifest.hpp"

namespace larder::build {

struct Touched {
  std::vector<TargetId> targets;  // each once
  bool everything = false;        // look at all that is known
  bool strangers = false;         // something that is no target came into a watched directory
  bool asked = false;             // somebody asks for a build: whatever one that begins anew would run, runs
};

class Watches {
 public:
  // Errors: there is no inotify to be had, and why.
  static Result<std::unique_ptr<Watches>> open();
  ~Watches();
  Watches(const Watches&) = delete;
  Watches& operator=(const Watches&) = delete;

  // Watches a directory in which something is going to be looked at.
  void add_directory(std::string_view path);
  // It names the targets and outlives this. Until then whatever changes is `everything`. What links of
  // directories that were added lead to is touched. O(names in those).
  void give(const Manifest& manifest);
  // Watches the places of targets [first, all of the manifest's). O(targets + names in new directories).
  // PRECONDITION: give().
  void add(TargetId first);
  // Can be read when there is something to collect; -1: nothing is told, ask patience_ms() in time.
  int fd() const noexcept { return fd_; }
  // Takes in what was told. Never waits.
  void collect();
  // How long until what was collected should be acted upon, in milliseconds: at once after a single whole
  // change, later while a file is half written, missing, or one of many that change. -1: there is nothing.
  // `while_building` outputs and strangers can wait: commands make them.
  int patience_ms(bool while_building) const;
  Touched take();
  // What strangers came until now were commands' own.
  void forget_strangers() noexcept { strangers_ = false; }

  std::size_t directories() const noexcept { return directories_.size(); }
  // Why everything is looked at once a second instead; empty while the kernel tells.
  const std::string& trouble() const noexcept { return trouble_; }

 private:
  using Clock = std::chrono::steady_clock;
  enum class Mark : std::uint8_t { none, made, unsure, sure };
  struct Directory {
    int watch = -1;  // -1: it cannot be watched now; those above it can
    unsigned round = 0;
  };

  Watches() = default;
  Directory& know(std::string_view path);
  void place(const std::string& path, Directory& directory);
  void displace(const std::string& path, Directory& directory);
  void list(const std::string& path, bool touches);
  void follow(const std::string& path, TargetId target);
  void hear(int watch, std::uint32_t mask, std::string_view name);
  void hear_path(const std::string& path, std::uint32_t mask);
  void touch(TargetId target, bool is_sure);
  void replace_below(const std::string& path);
  void all_touched();
  void give_up(const std::string& why);

  const Manifest* manifest_ = nullptr;
  TargetId listed_ = 0;  // targets below it were known when the directories that were added were listed
  int fd_ = -1;
  std::string trouble_;
  std::unordered_map<std::string, Directory> directories_;
  std::unordered_map<int, std::vector<std::string>> spellings_;          // of watched directories
  std::unordered_map<std::string, std::vector<TargetId>> behind_links_;  // paths that targets lead to
  unsigned round_ = 0;
  std::vector<Mark> marks_;  // by target
  std::vector<TargetId> touched_;
  std::size_t unsure_ = 0;
  std::size_t sure_ = 0;
  bool everything_ = false;
  bool strangers_ = false;
  Clock::time_point first_;  // of what is collected
  Clock::time_point last_;   // of what no command of ours makes
  Clock::time_point taken_;
  Clock::time_point looked_;  // without inotify
};

}  // namespace larder::build
