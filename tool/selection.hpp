// Which entries a command line means: flags that `ls`, `clear` and `export` share.
#pragma once

#include <memory>
#include <string>

#include "larder/cache.hpp"
#include "tool/command.hpp"

namespace larder::tool {

inline constexpr Argument kKindArgument{"--kind", "KIND", "entries of this kind of recipe"};
inline constexpr Argument kProgramArgument{"--program", "NAME",
                                           "entries that this program used at its last start"};
inline constexpr Argument kOlderArgument{"--older-than", "TIME", "entries last used longer ago: 30d, 12h"};
inline constexpr Argument kPathArgument{"--path", "PATH",
                                        "entries with an ingredient that is PATH, or a path below it"};

class Selection {
 public:
  // Null, and the complaint told, when something that was typed does not fit.
  static std::unique_ptr<Selection> of(const Call& call);
  Selection(const Selection&) = delete;
  Selection& operator=(const Selection&) = delete;

  bool says_anything() const noexcept;
  const Selector& selector() const noexcept { return selector_; }
  // `kind opencl-program, unused for 30d`; empty when nothing was said.
  std::string text() const;

 private:
  Selection() = default;

  std::string kind_;
  std::string program_;
  std::string path_;
  std::string absolute_path_;
  Selector selector_;
};

}  // namespace larder::tool
