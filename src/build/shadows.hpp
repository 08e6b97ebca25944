// Files that could stand in the place of headers that a compiler found: of the same name, in a directory that
// it looks into as well. Which of them are there is part of what decides a compilation, though no depfile
// names those that are not. Used by one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "build/content.hpp"

namespace larder::build {

class Shadows {
 public:
  // Those that are there now, in a fixed order, of `found`, when the headers of `includes` and what lies
  // beside one of `found` could be meant. Any that may have come after `began_ns`, by the clock of files,
  // makes `is_late` true.
  std::vector<std::string> look(const std::vector<std::string>& found,
                                const std::vector<std::string>& includes, std::int64_t began_ns,
                                bool& is_late);

 private:
  struct Directory {
    Fingerprint print;
    bool is_settled = false;  // no later change can leave `print` as it is
    std::unordered_set<std::string> names;
  };
  const std::unordered_set<std::string>& names_in(const std::string& directory);
  std::unordered_map<std::string, Directory> directories_;
};

}  // namespace larder::build
