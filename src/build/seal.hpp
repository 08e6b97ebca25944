// The seal of a build that found nothing to do: what it found that from. While nothing of it is another,
// there is nothing to do still, and neither manifest nor log need be read to say so; the least difference
// breaks it, and the build looks for itself. Written and looked at by whoever holds the lock.
//
//   seal    := "larder build seal" u32 version, asked, log, variables, programs, files, check
//   asked   := digest of directory and environment, u32 words, text*        the targets that were asked for
//   log     := u64 checksum of the log file's fingerprint, twice
//   variables := u32 count, (text, digest)*         those that commands name, and what is in them
//   programs  := u32 count, (text, text)*           those that commands name, and where they were found
//   files   := u32 count, u32 bytes, u32 groups, digest*, (path, zero byte)*   what was looked at, 256 to a
//              group; a digest is that of their fingerprints
//   check   := digest of all before it
//   text    := u32 length, bytes                    digest := u64 low, u64 high
//
// I1  A fingerprint is in a seal only if it stands for a content (build/content.hpp), or for there being
// nothing. I2  Whatever else decides what a build does is either a file in it (manifests are) or asked.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "build/content.hpp"

namespace larder::build {

inline constexpr std::uint32_t kSealVersion = 1;

// What a build is asked, files apart.
struct Asked {
  Digest surroundings;             // Ingredients::surroundings()
  std::vector<std::string> words;  // targets
  Fingerprint log;
};

class SealMaker {
 public:
  // `variables` are names; `programs` lead from words to where they were found, empty: nowhere.
  SealMaker(const Asked& asked, const std::set<std::string, std::less<>>& variables,
            const std::map<std::string, std::string, std::less<>>& programs);
  // A file was looked at and had this fingerprint; all zero: it was missing.
  void add(std::string_view path, const Fingerprint& print);
  std::string finish() &&;

 private:
  void end_group();

  std::string head_;
  std::vector<Fingerprint> group_;
  std::string digests_;
  std::string paths_;
  std::uint32_t files_ = 0;
};

// Whether all is as `seal` has it. Looks at every file. False for bytes that are no seal.
bool is_unbroken(std::string_view seal, const Asked& asked);

// The file in which the seal of a manifest without a builddir lies.
std::string seal_path(const std::string& manifest_file);

}  // namespace larder::build
