// A CacheFile keeps one product of one program in one file: for programs that are guests on a machine and may
// touch nothing but the file they were told to. When the program changes, the file is replaced.
// It needs nothing else of larder: no directory, no settings but LARDER_DISABLE=1, no other thread. Any
// thread may call; two that ask at once may both make. No failure of the file is a failure of its user.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "larder/bytes.hpp"
#include "larder/event.hpp"
#include "larder/export.h"
#include "larder/recipe.hpp"
#include "larder/result.hpp"

namespace larder {

struct CacheFileLoad {
  // none: a hit. Else absent, other_recipe, other_version, truncated, corrupt, too_large, untrusted (not the
  // user's alone, a link, a device), unreadable (also: the directory does not exist), out_of_resources,
  // disabled.
  Reason reason = Reason::absent;
  std::string detail;   // for people: the path and what was wrong with it; empty for a hit
  Bytes product;        // a private copy, checked: nobody can change or cut it afterwards
  Nanoseconds cost{0};  // what making it took
  explicit operator bool() const noexcept { return reason == Reason::none; }
};

struct CacheFileSave {
  // none: the file holds the product now. Else unwritable (also: the directory does not exist), out_of_space,
  // read_only, untrusted, out_of_resources, too_large, disabled.
  Reason reason = Reason::none;
  std::string detail;
  explicit operator bool() const noexcept { return reason == Reason::none; }
};

// How get_or_make answered.
struct CacheFileAnswer {
  Outcome outcome = Outcome::made;  // disk_hit, made, or bypassed when larder is disabled
  Reason reason = Reason::none;     // why it was no hit: as CacheFileLoad, or refused
  std::string detail;               // as CacheFileLoad
  Reason not_kept =
      Reason::none;  // why the made product is not in the file: as CacheFileSave, or nothing_to_store
  std::string not_kept_detail;
  Bytes product;        // empty when the maker had nothing to store
  Nanoseconds cost{0};  // what making took, or had taken
};

// What a file holds, for people and tools.
struct CacheFileInfo {
  enum class Layout : std::uint8_t { larder = 1, futhark = 2 };
  Layout layout = Layout::larder;
  Reason reason = Reason::none;  // none: sound; else truncated, corrupt or other_version
  std::uint64_t file_bytes = 0;
  std::uint64_t said_bytes = 0;  // futhark: the size that the file itself says it has
  std::uint64_t product_bytes = 0;
  Key key;  // larder
  std::array<std::uint8_t, 32> futhark_key{};
  std::optional<Recipe> recipe;  // larder, when sound
  Nanoseconds cost{0};
  std::int64_t made_at_unix_ns = 0;
};

class LARDER_API CacheFile {
 public:
  // Larger files are not read and larger products not kept.
  static constexpr std::uint64_t kSizeMax = std::uint64_t{1} << 30;

  // Remembers the path; touches no file. invalid_argument for an empty path, one that ends in a slash, or one
  // with a zero byte.
  static Result<CacheFile> open(std::string path);
  CacheFile(CacheFile&&) noexcept;
  CacheFile& operator=(CacheFile&&) noexcept;
  ~CacheFile();

  // The product of exactly this recipe, checked, or why there is none. Changes nothing on disk.
  CacheFileLoad load(const Recipe& recipe) noexcept;

  // Puts the product in the place of the cache file, in one step: readers see the old or the new. What is no
  // cache file, nor ever was one, is left alone, as a link, a directory or another user's file is: untrusted.
  CacheFileSave save(const Recipe& recipe, BytesView product, Nanoseconds cost = Nanoseconds{0}) noexcept;

  // Removes the file that the last load of this object read, when its user does not accept the product. True
  // when it was there still and is gone. Its next load says refused until something is saved.
  bool reject() noexcept;

  // What the maker gives: bytes to keep, nothing to store, or an error.
  using Made = Result<std::optional<Bytes>>;

  // Loads; offers what was loaded to `accept`, which takes it into use or says no (the driver does not know
  // it, say): then it is removed. When there is nothing to use, makes, and saves what was made; it is not
  // offered to `accept`. An Error is the maker's own, untouched; what callables throw passes through.
  Result<CacheFileAnswer> get_or_make(const Recipe& recipe, const std::function<bool(const Bytes&)>& accept,
                                      const std::function<Made()>& make);

  // Reads the file at `path` as it is, of any recipe. Also reads the layout of the cache files of Futhark
  // programs. not_found, io, refused, or unsupported when it is no cache file.
  static Result<CacheFileInfo> inspect(const std::string& path);

  const std::string& path() const noexcept;

 private:
  struct Impl;
  struct Request;
  friend struct CacheFileFor;
  explicit CacheFile(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace larder
