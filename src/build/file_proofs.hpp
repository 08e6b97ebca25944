// What stands for files in recipes that leave this build directory: their BLAKE2b-256, which unlike the
// digest of the log nobody can find a second file for. Computed once for each content. Used by one thread.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "build/history.hpp"
#include "format/file_closures.hpp"

namespace larder::build {

struct FileProof {
  std::array<unsigned char, 32> digest{};
  bool is_known = false;       // false: the file is not, or no longer, what the content says
  std::string_view why_not{};  // why its content does not decide what a compiler makes of it; empty: it does
};

class FileProofs {
 public:
  // Of what a depfile, or a trace, tells all files that are read.
  enum class Reader : std::uint8_t { known, traced };
  FileProofs(const History& history, Reader reader) noexcept : history_(history), reader_(reader) {}
  // Of the content that `path` has at present.
  const FileProof& look(const std::string& path, ContentId content);
  // The word in it by which a compiler puts the file's own path into what it makes, as `__FILE__`; empty:
  // there is none, or it is the system's. None when it cannot be read.
  std::optional<std::string_view> place_word(const std::string& path, ContentId content);
  // Learns what a closure knows of a file, if its stamp and content are those at present.
  void learn(ContentId content, const Fingerprint& print, const format::KnownFile& known);

 private:
  const History& history_;
  Reader reader_;
  std::unordered_map<ContentId, FileProof> proofs_;
  std::unordered_map<ContentId, std::string_view> place_words_;
};

// The same word of any text that compilers read, a command line, say; empty: there is none.
std::string_view place_word_in(std::string_view text);

// A fingerprint as closures hold it; all zero, as the fingerprint, for none.
format::FileStamp to_stamp(const Fingerprint& print) noexcept;

// The bytes of a regular file, and its mode; false when it cannot be read or is none.
bool read_bytes(const std::string& path, std::string& bytes, unsigned& mode) noexcept;

}  // namespace larder::build
