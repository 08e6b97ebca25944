// The filter that has the kernel halt a process at the calls of calls.hpp until somebody has looked.
#pragma once

#include <linux/filter.h>

#include <vector>

namespace larder::trace {

// Empty where this is not written for the machine. Calls of other machines' conventions (32-bit ones, x32)
// are halted, all of them. A look at what is open already (fstat) is not; nor is, with `sees_links` false,
// asking for the text of a symbolic link, which compilers do some thousand times to find other names of
// headers.
std::vector<sock_filter> make_filter(bool sees_links);

// Whether the call that was halted is of the machine's own convention.
bool is_own_call(unsigned architecture, int number) noexcept;

}  // namespace larder::trace
