// A footprint is what a traced command was seen to depend on besides what its step declares: files that it
// read, names in directories, links that it went through, what it only looked at, and what was not there. A
// value.
//
// In a closure (format/file_closures.hpp) a mark is a file whose path has its manner in front, a letter and a
// colon; one that counts as read is a dependency of the step, too, once it is restored.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "build/undeclared.hpp"
#include "trace/report.hpp"

namespace larder::build {

enum class Manner : char {
  read = 'r',     // the content of a file
  listed = 'd',   // the names in a directory
  passed = 'l',   // the text of a symbolic link
  looked = 'k',   // whether it is a file, a directory or something else
  missing = 'm',  // that nothing is there
};

struct Mark {
  Manner manner = Manner::read;
  bool is_dependency = false;
  std::string path;  // as the manifest would name it
};

struct Footprint {
  std::vector<Mark> marks;
  std::string why_not;  // why it does not tell all that the command depends on; empty: it does
};

// Without dependencies, which the build knows. What is told of the kernel's own files, and of programs that
// ask the clock, the machine or chance, is no footprint.
Footprint footprint_of(const trace::Report& report, const Declared& declared, const Undeclared& names);

// What is there now, in the words that stand for it in a recipe, for all manners but `read` and `listed`.
std::string presence(Manner manner, const std::string& path);

// The permissions of a file, which a command may pass on.
std::string mode_of(const std::string& path);

// Adds the names of variables that interpreters and what they run are known to listen to.
void append_environment(std::vector<std::string>& names);

// As it stands in a closure.
std::string to_closure(Manner manner, std::string_view portable_path);
// False: it is none.
bool from_closure(std::string_view text, Manner& manner, std::string_view& portable_path);

}  // namespace larder::build
