// Puts functions of larder's in the place of those by which one loaded library asks the operating system for
// files, so that a FileRecording hears of it. Only that library's own table of imports is changed: the
// program around it and all other libraries go on as before, and a library that was loaded for itself alone
// (RTLD_LOCAL, RTLD_DEEPBIND) is reached like any other. From then on larder is not unloaded. Any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "larder/export.h"

namespace larder {

// Hooks the library in which `address` lies; again and again is the same as once. Empty when whatever it does
// with files will be heard of; else why not.
LARDER_API std::string hook_files(const void* address);
// The same for every loaded library whose file's name begins with one of `names`.
LARDER_API std::string hook_files(std::span<const std::string_view> names);

}  // namespace larder
