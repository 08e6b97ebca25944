// Flags of compilers of the GCC and clang families that are known to decide what is compiled and nothing
// more: by them none writes another file, reads one that no depfile names, or makes what another machine
// would make otherwise. Any thread.
#pragma once

#include <string_view>

namespace larder::build {

// Of one word, whose value, if it takes one, is in it: not of `-o`, `-I`, `-D` and others whose value may be
// the next word.
bool is_known_flag(std::string_view word);

}  // namespace larder::build
