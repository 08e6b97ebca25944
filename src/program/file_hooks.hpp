// Puts functions of larder's in the place of those by which one loaded library asks the operating system for
// files, so that a FileRecording hears of it. Only that library's own table of imports is changed: the
// program around it and all other libraries go on as before, and a library that was loaded for itself alone
// (RTLD_LOCAL, RTLD_DEEPBIND) is reached like any other. Any thread.
#pragma once

#include <string>

#include "larder/export.h"

namespace larder {

// Hooks the library in which `address` lies; again and again is the same as once. Empty when whatever it does
// with files will be heard of; else why not.
LARDER_API std::string hook_files(const void* address);

}  // namespace larder
