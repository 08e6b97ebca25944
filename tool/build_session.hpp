// One manifest with what is known of its steps, opened for `larder build` and its tools.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "build/log.hpp"
#include "build/manifest.hpp"
#include "build/processes.hpp"
#include "tool/command.hpp"

namespace larder::tool {

struct BuildSession {
  std::string file;  // the manifest
  std::unique_ptr<build::Manifest> manifest;
  std::unique_ptr<build::History> history;
  std::unique_ptr<build::Log> log;
  std::vector<std::pair<std::string, build::Digest>> texts;  // of what was read

  Result<void> read();
  // Whether the manifest and what it includes are still what was read. O(bytes of them).
  bool is_as_read() const;
  // What is known of its steps; `read_only` leaves no trace. PRECONDITION: read.
  void open_log(bool read_only);
};

// Waits for its turn below the manifest's builddir, and for commands that a killed build left running there,
// and says so. An exit code when it does not come.
std::optional<int> take_build_lock(Console& console, const build::Manifest& manifest,
                                   build::StopSignals& signals, build::BuildLock& lock, bool& has_waited);

// Targets by name; without names the manifest's defaults, or all that no step takes. `x.c^` is the first
// output of the step that takes x.c.
Result<std::vector<build::TargetId>> choose_targets(const build::Manifest& manifest,
                                                    const std::vector<std::string>& names);

// `larder build -t TOOL`: the words behind it; exit code.
int run_build_tool(Call& call, std::string_view tool, const std::vector<std::string>& words,
                   BuildSession& session);
inline constexpr std::string_view kBuildTools = "clean targets query commands compdb deps graph";

// Says an error of several lines on stderr; kError.
int refuse_build(Console& console, std::string_view what);

}  // namespace larder::tool
