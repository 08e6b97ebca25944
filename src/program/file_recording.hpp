// A FileRecording holds what a compiler does with files between its beginning and finish(): what it read,
// what it looked for and did not find, and whatever forbids keeping its product. It is told by the functions
// that stand in a compiler's place of open, stat and the like (program/file_hooks.hpp); nothing is found by
// parsing. A recording belongs to the thread that began it; what threads of the compiler's own do belongs to
// every recording that is under way.
#pragma once

#include <sys/stat.h>

#include <map>
#include <string>
#include <string_view>

#include "base/mutex.hpp"
#include "format/file_closures.hpp"
#include "larder/export.h"

namespace larder {

enum class FileState : unsigned char { absent, file, directory };

// A file whose last change is no longer ago than this may change again without showing it in its times.
inline constexpr std::int64_t kRacyNs = 2'000'000'000;
// Headers are small; what is larger is not read a second time.
inline constexpr std::uint64_t kRecordedSizeMax = std::uint64_t{64} << 20;

struct SeenFile {
  FileState state = FileState::absent;
  bool is_read = false;
  format::FileStamp opened{};  // its stamp when it was opened
  format::FileStamp stamp{};   // the same, if it proves anything; by finish()
  format::Checksum quick{};    // of a file that was read; by finish(), like its digest
  std::array<unsigned char, 32> digest{};
  bool has_quick = false;  // `quick` is what it held when it was opened
};

struct SeenFiles {
  std::map<std::string, SeenFile, std::less<>> files;  // by the path that the compiler used
  std::string why_not;                                 // why these are not all that decided; empty: they are
};

class FileRecording {
 public:
  FileRecording();
  ~FileRecording();
  FileRecording(const FileRecording&) = delete;
  FileRecording& operator=(const FileRecording&) = delete;

  // Reads what the compiler read: it must hold what it held then, and no macro that is different each time.
  // Throws std::bad_alloc.
  SeenFiles finish() EXCLUDES(mutex_);

  // Told by the hooks. Nothing is thrown: a recording that cannot hold what it is told forbids keeping.
  // `error` is errno of a call that failed, else 0. `fd` stays the caller's.
  LARDER_API static void tell_looked(const char* path, int error, unsigned mode) noexcept;
  LARDER_API static void tell_opened(const char* path, int error, int fd) noexcept;
  LARDER_API static void tell_forbidden(std::string_view what, std::string_view path = {}) noexcept;
  LARDER_API static void tell_unheard(const std::string& why) noexcept;
  // True when anybody would hear.
  LARDER_API static bool is_any() noexcept;

  // Of the innermost recording of this thread. leave_out: what the compiler does in `folder` with files that
  // are its driver's own decides nothing; `is_own` says which they are, by what follows the folder's name and
  // a slash. has_heard: whether any file was read or looked for.
  LARDER_API static void leave_out(std::string folder, bool (*is_own)(std::string_view rest)) noexcept;
  LARDER_API static bool has_heard() noexcept;

  // While one lives, nothing that its thread does is heard.
  class Pause {
   public:
    LARDER_API Pause() noexcept;
    LARDER_API ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    const bool before_;
  };

 private:
  template <typename Telling>
  static void tell(Telling telling) noexcept;
  static void before_fork() noexcept;
  static void after_fork() noexcept;
  SeenFile* note(const char* path, FileState state) REQUIRES(mutex_);
  void forbid(std::string why) REQUIRES(mutex_);
  bool is_own(std::string_view path) const REQUIRES(mutex_);
  void note_opened(const char* path, int fd) REQUIRES(mutex_);
  void note_failed(const char* path, int error) REQUIRES(mutex_);

  static constinit Mutex mutex_;  // of all recordings: compilers open some thousand files in a second
  static constinit FileRecording* first_ GUARDED_BY(mutex_);
  FileRecording* const outer_;  // of the same thread
  FileRecording* next_ GUARDED_BY(mutex_) = nullptr;
  SeenFiles seen_ GUARDED_BY(mutex_);
  std::string own_folder_ GUARDED_BY(mutex_);
  bool (*is_own_)(std::string_view rest) GUARDED_BY(mutex_) = nullptr;
};

// How `status` stands for a file's content; all zero when its last change is too near to `now_ns`, or lies in
// the future.
format::FileStamp stamp_of(const struct stat& status) noexcept;
bool is_racy(const format::FileStamp& stamp, std::int64_t now_ns) noexcept;
// Whether a path that cannot be looked at for this reason stands for nothing.
bool means_absent(int error) noexcept;

// The content of an open file, in a buffer that the thread's next call uses again; false when it cannot be
// read, or is larger than kRecordedSizeMax.
bool read_content(int fd, std::uint64_t size, std::string& content) noexcept;

}  // namespace larder
