// What a traced command did with files that its step does not name. Used by one thread.
//
// Of reads and writes in the project's tree it tells all but: directories that were made, files that are gone
// again, what was opened to be written and was not. Outside it, what was written and is still there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "build/manifest.hpp"
#include "trace/report.hpp"

namespace larder::build {

// What a step names, as the kernel calls it.
struct Declared {
  std::unordered_set<std::string> outputs;  // with depfile and response file
  std::unordered_set<std::string> inputs;   // with what was discovered, and what they lead to as links
  // A directory may be an output, with all that is in it.
  bool is_output(std::string_view place) const;
};
// Whether there are no files there but what the kernel shows as such.
bool is_in_kernel_place(std::string_view path);
// Directories in which a command made or removed names.
std::unordered_set<std::string_view> busy_directories(const trace::Report& report);

class Undeclared {
 public:
  // `tree` is the project's directory, as the kernel names it.
  Undeclared(const Manifest& manifest, std::string tree);

  struct Step {
    StepId step = kNone;
    const std::vector<TargetId>& known;  // what it was found to read otherwise, its programs included
    const std::vector<TargetId>& discovered;
    std::string_view depfile;
    std::string_view response;
  };
  struct Found {
    std::vector<std::string> written;  // in the tree; as the manifest would name them
    std::vector<std::string> read;     // in the tree: files and lists of directories
    std::vector<std::string> links;    // in the tree: symbolic links to files, on the way
    std::vector<std::string> missing;  // in the tree: looked for, not there
    std::vector<std::string> looked;   // in the tree: files that were looked at, and neither read nor written
    std::vector<std::string> came;     // in the tree: looked for, not there then, there now
    std::string outside;               // the first that was written elsewhere; empty: none
    std::string read_back;             // an output whose old content was read; empty: none
    Declared declared;
  };
  Found look(const Step& step, const trace::Report& report);
  // As the manifest names what the kernel calls `place`, or would.
  std::string name(const std::string& place) const;

 private:
  // What the kernel calls the file, the last component not followed.
  std::string place(std::string_view path);
  void declare(std::unordered_set<std::string>& places, std::string_view path);
  void declare_input(std::unordered_set<std::string>& places, TargetId target, unsigned depth);
  bool is_in_tree(std::string_view place) const;
  const Manifest& manifest_;
  std::string tree_;
  std::string working_;
  std::unordered_map<std::string, std::string> directories_;  // as named, and what the kernel calls them
};

}  // namespace larder::build
