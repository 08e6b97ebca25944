// Has a running watch of the same user, directory and manifest build, where there is one. Whatever goes
// wrong, the caller builds for itself.
#pragma once

#include <optional>
#include <string>

#include "build/build.hpp"
#include "build/processes.hpp"
#include "tool/console.hpp"
#include "tool/watch_link.hpp"

namespace larder::tool {

struct WatchAsked {
  std::optional<build::BuildOutcome> outcome;  // none: build for yourself
  std::string why;                             // then; empty: there is no watch
  int pid = 0;                                 // of the watch
};

// Whether anybody is there to be asked.
bool is_watched(const std::string& manifest_file);

// What the watch says of the build goes to `console` meanwhile. Waits for as long as the watch shows that it
// lives and works: one that is stopped, or silent for ten seconds, is left alone. A stop signal withdraws the
// request: interrupted.
WatchAsked ask_watch(const std::string& manifest_file, const WatchRequest& request, Console& console,
                     const build::StopSignals& signals);

}  // namespace larder::tool
