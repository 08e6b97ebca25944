// The seal of a build that found nothing to do: what it found that from. While nothing of it is another,
// there is nothing to do still, and neither manifest nor log need be read to say so; the least difference
// breaks it, and the build looks for itself. Written and looked at by whoever holds the lock.
//
//   seal    := "larder build seal" u32 version, asked, log, variables, programs, files, check
//   asked   := digest of directory and environment, u32 words, text*        the targets that were asked for
//   log     := u64 checksum of the log file's fingerprint, twice
//   variables := u32 count, (text, digest)*         those that commands name, and what is in them
//   programs  := u32 count, (text, text)*           those that commands name, and where they were found
//   files   := group*, u32 0                        what was looked at
//   group   := u32 count, 1 to 256, u32 bytes, digest of their imprints, (path, zero byte)*
//   check   := digest of all before it
//   text    := u32 length, bytes                    digest := u64 low, u64 high
//
// I1  A fingerprint is in a seal only if it stands for a content (build/content.hpp), or for there being
// nothing. I2  Whatever else decides what a build does is either a file in it (manifests are) or asked.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
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

// Writes a seal as it comes, a piece after the other.
class SealMaker {
 public:
  using Write = std::function<void(std::string_view)>;
  // `variables` are names; `programs` lead from words to where they were found, empty: nowhere.
  SealMaker(Write write, const Asked& asked, const std::set<std::string, std::less<>>& variables,
            const std::map<std::string, std::string, std::less<>>& programs);
  // A file was looked at and had this imprint; all zero: it was missing.
  void add(std::string_view path, const Imprint& print);
  void finish();

 private:
  void end_group();
  void give();

  Write write_;
  format::RunningChecksum sum_;
  std::string pending_;
  std::vector<Imprint> group_;
  std::string paths_;  // of the group
};

// Whether all is as `seal` has it. Looks at every file. False for bytes that are no seal.
bool is_unbroken(std::string_view seal, const Asked& asked);

// What may be another, where everything else that was asked is the same: the files of every group of which
// one is. None: it is no seal, or not of what is asked, or more than `groups_max` groups are others.
std::optional<std::vector<std::string_view>> find_broken(std::string_view seal, const Asked& asked,
                                                         std::size_t groups_max);

// The file in which the seal of a manifest without a builddir lies.
std::string seal_path(const std::string& manifest_file);

}  // namespace larder::build
