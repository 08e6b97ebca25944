// The LogFile writes events to a file as JSON lines. Any thread may log; processes may share one file, since
// every line is one write at its end (not on network file systems, whose appends may overlap).
//
// The host never notices it: a full disk, a vanished folder, a closed pipe or a file size limit loses lines,
// which are counted; no signal reaches the host, errno is kept, and a descriptor number that the host closed
// and used anew is not written to.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "larder/event.hpp"
#include "larder/result.hpp"

namespace larder {

class LogFile {
 public:
  // Creates the file (mode 0600) where there is none; its folder must exist. Never waits, not for a pipe's
  // reader either. `io` with the system's words. A line that would make the file larger than `size_max` bytes
  // is lost; 0: no limit.
  static Result<std::unique_ptr<LogFile>> open(const std::string& path, std::uint64_t size_max = 0);
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  void log(const Event& event) noexcept;
  void limit(std::uint64_t size_max) noexcept { size_max_.store(size_max, std::memory_order_relaxed); }
  // Lines that were lost.
  std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

 private:
  LogFile(int descriptor, dev_t device, ino_t inode, std::uint64_t size_max) noexcept
      : descriptor_(descriptor), device_(device), inode_(inode), size_max_(size_max) {}

  const int descriptor_;
  const dev_t device_;
  const ino_t inode_;
  std::atomic<std::uint64_t> size_max_;
  std::atomic<bool> is_torn_{false};  // the last line could be written in part only
  std::atomic<std::uint64_t> dropped_{0};
};

inline constexpr std::uint64_t kLogSizeMax = std::uint64_t{64} << 20;

// Logs every event of the process to `path` from now on, for as long as it lives. What is logged to already
// only gets the new limit. `io`, or out_of_resources when too many listen.
Result<void> log_to(const std::string& path, std::uint64_t size_max);

// As log_to with the file that LARDER_LOG names and kLogSizeMax; does nothing where it names none, in a
// set-user-id program, or the second time. A file that cannot be opened is not logged to. Cheap when called
// again.
void log_as_environment_says() noexcept;

}  // namespace larder
