// What the kernel reads of its own accord when it starts a program: nobody is told of these by a call.
#pragma once

#include <string>

namespace larder::trace {

struct Program {
  // The interpreter that its first line names, or that loads it; empty: none.
  std::string interpreter;
  // Why its files are not known, or it cannot do what it can untraced; empty: nothing.
  std::string trouble;
  bool has_rights = false;  // of its owner, or others than who starts it
};
// `path` is there.
Program look_at_program(const std::string& path);

}  // namespace larder::trace
