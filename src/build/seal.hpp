// The seal of a build that ended well: what it found everything to be. While nothing of it is another, there
// is nothing to do, and neither manifest nor log need be read to say so; where little is, a build knows from
// it what all the rest is (make_since.cpp). Written and looked at by whoever holds the lock.
//
//   seal    := "larder build seal" u32 version, asked, log, variables, programs, files, check
//   asked   := digest of directory and environment, u32 words, text*        the targets that were asked for
//   log     := u64 checksum of the log file's fingerprint, twice
//   variables := u32 count, (text, digest)*         those that commands name, and what is in them
//   programs  := u32 count, (text, text)*           those that commands name, and where they were found
//   files   := group*, u32 0                        what was looked at
//   group   := u32 count, 1 to 256, u32 bytes, u32 kind, digest of their imprints, (path, zero byte)*
//   check   := digest of all before it
//   text    := u32 length, bytes                    digest := u64 low, u64 high
//
// I1  A fingerprint is in a seal only if it stands for a content (build/content.hpp), or for there being
// nothing. I2  Whatever else decides what a build does is either a file in it (manifests are) or asked.
// I3  Every step that was wanted had been found to be as it should be, with the contents of those files.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "build/content.hpp"

namespace larder::build {

// 1: all digests before all paths, of fingerprints. 2: by group, of imprints. Another one is no seal.
inline constexpr std::uint32_t kSealVersion = 2;

// What a build is asked, files apart.
struct Asked {
  Digest surroundings;             // Ingredients::surroundings()
  std::vector<std::string> words;  // targets
  Fingerprint log;
};

// What was found of the files of a group.
enum class SealedKind : std::uint32_t {
  there,     // their imprints stand for the contents that the log knows of them
  missing,   // there was nothing
  fresh,     // they were too fresh for that: whoever reads the seal looks at them again
  manifest,  // they were read as the manifest
};

// Writes a seal as it comes, a piece after the other.
class SealMaker {
 public:
  using Write = std::function<void(std::string_view)>;
  // `variables` are names; `programs` lead from words to where they were found, empty: nowhere.
  SealMaker(Write write, const Asked& asked, const std::set<std::string, std::less<>>& variables,
            const std::map<std::string, std::string, std::less<>>& programs);
  // A file was looked at and had this imprint, which is of no use where it is fresh.
  void add(std::string_view path, SealedKind kind, const Imprint& print);
  void finish();

 private:
  struct Group {
    std::vector<Imprint> prints;
    std::string paths;
  };
  void end_group(SealedKind kind);
  void give();

  Write write_;
  format::RunningChecksum sum_;
  std::string pending_;
  std::array<Group, 4> groups_;  // by kind
};

// The files of a group, as a view of a seal.
struct SealedFiles {
  SealedKind kind = SealedKind::there;
  bool is_same = false;  // none of them is another
  std::uint32_t count = 0;
  Digest digest;
  std::string_view paths;  // a zero byte behind each

  template <typename Visit>
  void each(const Visit& visit) const {
    std::string_view rest = paths;
    for (std::size_t end = rest.find('\0'); end != rest.npos; end = rest.find('\0')) {
      visit(rest.substr(0, end));
      rest.remove_prefix(end + 1);
    }
  }
};
// Looks at them again.
bool is_same_still(const SealedFiles& group);

struct SealFound {
  std::vector<SealedFiles> files;
  std::set<std::string, std::less<>> variables;
  std::map<std::string, std::string, std::less<>> programs;
  // Whether all is as the seal has it.
  bool holds() const noexcept;
};

// A look at every file of a seal, by several threads, so that the one that began it may do something else as
// soon as it is known that there is something to do. Used by that one.
class SealLook {
 public:
  // The seal outlives it. None: the bytes are no seal, or not of what is asked.
  static std::unique_ptr<SealLook> begin(std::string_view seal, const Asked& asked, std::size_t groups_max);
  ~SealLook();  // stops looking
  SealLook(const SealLook&) = delete;
  SealLook& operator=(const SealLook&) = delete;
  // Looks until a group is found to be another, or all were looked at. Whether one was found.
  bool find_other();
  // As they were written down. PRECONDITION: before finish().
  std::span<const SealedFiles> files() const noexcept { return found_.files; }
  // Looks at the rest. None: more than `groups_max` groups are others. To be called once.
  std::optional<SealFound> finish();

 private:
  SealLook(SealFound found, std::size_t groups_max);
  bool look_at_next();
  void join();

  SealFound found_;
  const std::size_t groups_max_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> others_{0};
  std::atomic<bool> is_ended_{false};
  std::vector<std::thread> threads_;
};

// Looks at every file. None as SealLook::begin and finish. Where `before` is given it hears, on this thread
// and perhaps several times in a row, of the directory of each file before any file there is looked at.
using BeforeLooking = std::function<void(std::string_view directory)>;
std::optional<SealFound> look_at_seal(std::string_view seal, const Asked& asked, std::size_t groups_max,
                                      const BeforeLooking& before = {});

// Whether all is as `seal` has it. False for bytes that are no seal.
bool is_unbroken(std::string_view seal, const Asked& asked);

// The file in which the seal of a manifest without a builddir lies.
std::string seal_path(const std::string& manifest_file);

}  // namespace larder::build
