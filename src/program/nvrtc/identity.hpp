// Which libnvrtc-builtins a libnvrtc uses: it is loaded with the first compilation, and a program that is
// found again has none. Any thread.
#pragma once

#include <string>

#include "program/nvrtc/functions.hpp"

namespace larder::nvrtc {

// Its file's name, from the path of libnvrtc and its version.
std::string builtins_name(const std::string& library, int major, int minor);

// A line `NAME BUILD-ID` of the one that is loaded; empty when none is, or its build cannot be known.
std::string loaded_builtins(const Functions& functions, const std::string& name);

// The same; of the file that would be loaded when none is.
std::string expected_builtins(const Functions& functions, const std::string& library,
                              const std::string& name);

}  // namespace larder::nvrtc
