// Commands that are known well enough to restore what they make without having watched them: one compilation
// by a compiler of the GCC or clang family that writes its object and its depfile and nothing else. What such
// a compiler reads besides what its depfile names is found here: itself and its parts, the files that its
// command line names, and the directories in which a header could appear that hides another. Used by one
// thread.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "build/processes.hpp"

namespace larder::build {

// gcc, x86_64-linux-gnu-g++-12, clang++-14, cc.
bool is_compiler_name(std::string_view name);
bool is_elf(const std::string& path);
// Whether the program that `path` leads to is one by that name, too, and no script.
bool is_compiler_program(const std::string& path);

struct KnownCommand {
  std::string why_not;                // why it is not known; empty: it is
  std::vector<std::string> tools;     // the compiler, what it runs and the libraries these load
  std::vector<std::string> named;     // words of the command line that may be files
  std::vector<std::string> includes;  // directories of headers that the command line names
};

class KnownCommands {
 public:
  explicit KnownCommands(const StopSignals& signals) noexcept : signals_(signals) {}

  // `output` and `depfile` are what the manifest says of the step, canonical; `response` is its response
  // file.
  KnownCommand look(const std::string& command, const std::string& output, const std::string& depfile,
                    const std::string& response);

 private:
  const std::vector<std::string>& tools_of(const std::string& compiler);
  std::string output_of(const std::string& command);

  const StopSignals& signals_;
  std::unordered_map<std::string, std::vector<std::string>> tools_;
};

}  // namespace larder::build
