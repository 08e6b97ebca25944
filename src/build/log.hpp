// The log of a build directory: the history of its steps in one file that is only appended to, and the lock
// by which one build at a time works there.
//
//   log     := frame(header) frame(record*)*           frames: format/frame.hpp
//   header  := "larder build log" u32 version
//   record  := 1 u32 length, bytes                     a path; numbered from 0
//            | 2 u32 path, u64 low, u64 high           a content of it; numbered from 0
//            | 3 u32 content, i64 changed, i64 modified, u64 inode, u64 size    its fingerprint; version 1
//            only | 4 u32 path, u64 low, u64 high of the command, u32 duration, u8 is_generator,
//                u32 inputs, u32 declared, u32 discovered, u32 outputs, u32 content*    a run
//            | 5 u32 path                              its run counts no more
//            | 6 u32 content, u32 modified, u32 low, u32 high    the imprint of its fingerprint
//
// Integers are little-endian. A frame is written by one write. Reading stops at the first byte that is not as
// it should be; what stands there and behind it is lost, and its steps are made again.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/file.hpp"
#include "build/history.hpp"
#include "build/leftovers.hpp"

namespace larder::build {

// 1: whole fingerprints, contents perhaps told twice. 2: imprints. Logs of either are read.
inline constexpr std::uint32_t kLogVersion = 2;

// Reads what is whole of `text`; paths get numbers in `manifest`. The number of bytes that are. `on_read(n)`
// hears now and then that the first n will not be looked at again.
std::size_t read_log(std::string_view text, Manifest& manifest, History& history,
                     const std::function<void(std::size_t)>& on_read = {});

// The directory in which the log of the manifest `file` lies, below its builddir.
inline constexpr std::string_view kLogDirectory = ".larder";
std::string log_directory(const Manifest& manifest);
// What the files kept of a manifest are called there, before their ends.
std::string kept_name(const std::string& manifest_file);

class Log final : public HistoryLog {
 public:
  ~Log() override;
  Log() = default;
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // Reads the log of `manifest_file` into `history` and, unless `read_only`, keeps on telling it. A log that
  // cannot be opened is an empty one; `trouble()` says why.
  void open(const std::string& manifest_file, Manifest& manifest, History& history, bool read_only);
  // Writes what was told since the last time.
  void flush();
  const std::string& trouble() const noexcept { return trouble_; }
  // Of its file, with what was flushed; all zero when there is none.
  Fingerprint print() const noexcept;
  // Changes whenever anybody writes to the log.
  std::pair<std::uint64_t, std::uint64_t> mark() const noexcept;

  void on_path(std::string_view path) override;
  void on_content(std::uint32_t path, const Digest& digest) override;
  void on_print(std::uint32_t content, const Imprint& print) override;
  void on_run(std::uint32_t output_path, const Run& run) override;
  void on_forget(std::uint32_t output_path) override;

 private:
  void rewrite(Manifest& manifest, History& history);
  void give_up(const std::string& why);

  std::string path_;
  int fd_ = -1;
  std::string pending_;
  std::string trouble_;
};

// Held by the one build at work below a builddir. The kernel drops it with the process, though its commands
// may run on.
class BuildLock {
 public:
  BuildLock() = default;
  ~BuildLock();
  BuildLock(const BuildLock&) = delete;
  BuildLock& operator=(const BuildLock&) = delete;
  // Never waits: false when another process holds it.
  Result<bool> take(const std::string& directory);
  // For the commands of this build. PRECONDITION: it was taken, and nothing is left over.
  CommandsFile& commands() noexcept { return *commands_; }

 private:
  int fd_ = -1;
  std::optional<CommandsFile> commands_;
};

}  // namespace larder::build
