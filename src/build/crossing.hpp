// Whether what a command made may serve below another root though its command, or the directory it ran in,
// names this one. That its bytes do not hold the root's path is not enough: they could hold its length or its
// digest. So it may only where the command is known to pass paths on as they are, or not at all.
#pragma once

#include <string>
#include <string_view>

#include "build/root.hpp"
#include "trace/report.hpp"

namespace larder::build {

struct Crossing {
  std::string why_not;        // why it may not; empty: it may
  bool compiles = false;      // a compiler is among what it calls
  unsigned root_names = 0;    // which names of the root the command has, as Root::named_in()
  unsigned mapped_names = 0;  // which ones all its compilers leave out of `__FILE__`
};

// By what the command says. `response` is the path of its response file, canonical, and `more_words` what
// stands in that. `is_known`: it is one of build/known_command.hpp.
Crossing crossing_of(std::string_view command, std::string_view response, std::string_view more_words,
                     const Root& root, bool is_known);

// The first program that a traced command ran of which it is not known that it passes paths on as they are;
// empty: none.
std::string_view program_that_stays(const trace::Report& report);

}  // namespace larder::build
