// What `larder build`, `watch` and `serve` take alike.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "build/build.hpp"
#include "tool/command.hpp"

namespace larder::tool {

inline constexpr Argument kBuildDirectory{"--directory", "DIR", "work in this directory", {}, false,
                                          false,         'C'};
inline constexpr Argument kBuildFile{"--file", "FILE", "read this manifest instead of build.ninja", {}, false,
                                     false,    'f'};
inline constexpr Argument kBuildJobs{
    "--jobs", "N", "run at most so many commands at once; 0: no limit", {}, false, false, 'j'};
inline constexpr Argument kBuildKeepGoing{
    "--keep-going", "N", "go on until so many commands failed; 0: as far as possible", {}, false, false, 'k'};
inline constexpr Argument kBuildLoad{
    "--load", "N", "start nothing more while the load average is above this", {}, false, false, 'l'};
inline constexpr Argument kBuildMemory{"--memory", "SIZE",
                                       "start nothing more while less memory than this is available"};
inline constexpr Argument kBuildVerbose{"--verbose", "", "show whole commands", {}, false, false, 'v'};
inline constexpr Argument kBuildQuiet{"--quiet", "", "show only what fails and what commands say"};
inline constexpr Argument kBuildDebug{"--debug",
                                      "WHAT",
                                      "say why commands run, or keep files that are removed otherwise",
                                      "explain keepdepfile keeprsp",
                                      false,
                                      false,
                                      'd'};
inline constexpr Argument kBuildEnv{"--env", "NAME",
                                    "another environment variable that decides what commands make"};

// A manifest that is made anew is read again so often before its build is given up.
inline constexpr unsigned kReloadsMax = 100;

// How many commands run at once unless somebody says it.
unsigned default_build_jobs();
// Reads the flags above. An exit code when one cannot be.
std::optional<int> read_build_options(const Call& call, build::BuildOptions& options,
                                      std::unique_ptr<build::Jobserver>& jobserver);
// Works in --directory from now on, and says so. An exit code when it cannot.
std::optional<int> enter_build_directory(const Call& call);
// NINJA_STATUS, or what it is without.
std::string build_status_format();

}  // namespace larder::tool
