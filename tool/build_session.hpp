// One manifest with what is known of its steps, opened for `larder build` and its tools.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "build/log.hpp"
#include "build/manifest.hpp"
#include "tool/command.hpp"

namespace larder::tool {

struct BuildSession {
  std::string file;  // the manifest
  std::unique_ptr<build::Manifest> manifest;
  std::unique_ptr<build::History> history;
  std::unique_ptr<build::Log> log;

  Result<void> read();
  // What is known of its steps; `read_only` leaves no trace. PRECONDITION: read.
  void open_log(bool read_only);
};

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
