// Holds the closures of a program against the files as they are now: for each of them, the recipe of the
// product that those files would make. A file is read only when its stamp does not already prove that it
// is as it was. One check is used by one thread; it looks at each path once.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "format/file_closures.hpp"
#include "larder/recipe.hpp"
#include "program/file_recording.hpp"
#include "program/folder_walk.hpp"

namespace larder {

// Names of the ingredients that files bring: `file PATH` is the BLAKE2b-256 of one that was read, in hex;
// `found PATH` what else was looked for and found; `files` the digest of all paths, found or not;
// `same-files` those which are one file under several names.
namespace ingredient {
inline constexpr std::string_view kFile = "file ";
inline constexpr std::string_view kFound = "found ";
inline constexpr std::string_view kFiles = "files";
inline constexpr std::string_view kSameFiles = "same-files";
}  // namespace ingredient

class ClosureCheck {
 public:
  // `closures` outlives the check.
  explicit ClosureCheck(const format::FileClosures& closures);

  // `base` with the files of closure number `which` as they are now. Nothing when one of them cannot be
  // looked at.
  std::optional<Recipe> recipe(const Recipe& base, std::size_t which);
  // A file had to be read although its content is known: its stamp is news.
  bool has_news() const noexcept { return has_news_; }
  // The closures' files with what is now known of them.
  std::vector<format::KnownFile> files() const;

 private:
  static constexpr std::uint32_t kNotFresh = 0xffffffff;
  struct Now {
    bool is_looked = false;
    bool is_hashed = false;
    bool is_known = true;  // false: it could not be looked at or read
    FileState state = FileState::absent;
    std::uint32_t fresh = kNotFresh;  // in fresh_, where it was read
    format::FileStamp stamp{};
  };
  const Now& look(std::size_t file);
  const Now& hash(std::size_t file);
  // What is now known of it.
  const format::KnownFile& known(std::size_t file) const noexcept {
    const std::uint32_t fresh = now_[file].fresh;
    return fresh == kNotFresh ? closures_.files[file] : fresh_[fresh];
  }

  const format::FileClosures& closures_;
  std::vector<Now> now_;
  std::deque<format::KnownFile> fresh_;  // where it is is pointed to
  FolderWalk walk_;
  std::string content_;
  bool has_news_ = false;
};

// A closure from a recording: its files, and one closure that uses all of them. Views of `seen`.
format::FileClosures closures_of(const SeenFiles& seen);
// The recipe that `seen` makes of `base`: the one that a check gives as long as no file changes.
Recipe recipe_of(const Recipe& base, const SeenFiles& seen);

// `closures` with the one of `fresh` in front, under which `key` was made: merged with one of the same paths,
// and within the bounds. Views of both.
format::FileClosures with_closure(const format::FileClosures& closures, const format::FileClosures& fresh,
                                  const Key& key);

}  // namespace larder
