// The root of a project: the directory whose path stands as a placeholder in recipes, so that what was made
// below it can be found from another checkout. A value; any thread may use it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "larder/result.hpp"

namespace larder::build {

class Root {
 public:
  // The directory `named`; where that is empty, the nearest one from the working directory up that a version
  // control system keeps its own in, else the working directory.
  static Result<Root> find(const std::string& named);
  // Of a directory that is called `paths`, the way the kernel names it first.
  explicit Root(std::vector<std::string> paths);

  // `text` with a placeholder wherever it names the root or what is below it. No two texts come out the same.
  std::string portable(std::string_view text) const;
  // The same of one path, in front of which alone the root can stand.
  std::string portable_path(std::string_view path) const;
  // The path that portable_path made `portable` of, here; none when it cannot have made it.
  std::optional<std::string> path_of(std::string_view portable) const;
  // Whether the root's path stands anywhere in `bytes`, in characters of one, two or four bytes. True of a
  // root so short that it cannot be looked for.
  bool is_in(std::string_view bytes) const;
  // Which of its names `text` names, one bit for each.
  unsigned named_in(std::string_view text) const;
  // Whether `text` could lead out of the root and into it again by its name: `../tree/a`.
  bool is_reentered_by(std::string_view text) const;
  // Whether there are only characters in its path that no program writes in another way.
  bool is_plain() const;
  // The directory, as the kernel names it; empty: one so near to `/` that nothing is replaced.
  std::string directory() const { return paths_.empty() ? std::string() : paths_[0]; }
  // All its names: what a product that holds one of them depends on.
  std::string identity() const;

 private:
  std::vector<std::string> paths_;  // without `/` at their ends; empty: nothing is replaced
};

// Whether `bytes` are of a form in which a path could stand without its characters being seen: anything but
// text and plain ELF files without compressed sections or intermediate code, and archives of such.
bool can_hide_text(std::string_view bytes);

}  // namespace larder::build
