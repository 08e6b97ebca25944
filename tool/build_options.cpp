#include "tool/build_options.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/number.hpp"
#include "settings/units.hpp"
#include "tool/environment.hpp"

namespace larder::tool {
namespace {

bool read_count(const Call& call, std::string_view argument, unsigned& count) {
  if (!call.has(argument)) return true;
  const auto read = to_number<unsigned>(call.value(argument));
  count = read.value_or(count);
  return read.has_value();
}

}  // namespace

// Some commands wait for the disk.
unsigned default_build_jobs() {
  const unsigned cores = std::max(std::thread::hardware_concurrency(), 1u);
  return cores == 1 ? 2 : cores == 2 ? 3 : cores + 2;
}

std::optional<int> read_build_options(const Call& call, build::BuildOptions& options,
                                      std::unique_ptr<build::Jobserver>& jobserver) {
  options.jobs = default_build_jobs();
  for (const auto& [argument, count] :
       {std::pair("--jobs", &options.jobs), std::pair("--keep-going", &options.failures_max)}) {
    if (!read_count(call, argument, *count))
      return call.refuse(std::string(argument) + " cannot be " + std::string(call.value(argument)),
                         "it takes a number, 0 or more", "write " + std::string(argument) + " 4");
  }
  if (options.jobs == 0) options.jobs = UINT32_MAX / 2;
  if (call.has("--load")) {
    const std::string text(call.value("--load"));
    char* end = nullptr;
    options.load_max = std::strtod(text.c_str(), &end);
    if (end == text.c_str() || *end != '\0' || !(options.load_max > 0))
      return call.refuse("--load cannot be " + text, "it takes a number above 0", "write --load 4.5");
  }
  if (call.has("--memory")) {
    const auto size = settings::to_size(call.value("--memory"));
    if (!size)
      return call.refuse("--memory cannot be " + std::string(call.value("--memory")), size.error().what,
                         "write --memory 2GiB");
    options.memory_min_bytes = *size;
  }
  options.is_dry = call.has("--dry-run");
  for (const std::string& word : call.values("--debug")) {
    if (word == "explain") options.explains = true;
    if (word == "keepdepfile") options.keeps_depfiles = true;
    if (word == "keeprsp") options.keeps_responses = true;
  }
  if (!call.has("--jobs") && !options.is_dry) {
    jobserver = build::Jobserver::of_flags(variable("MAKEFLAGS"));
    if (jobserver != nullptr) options.jobs = UINT32_MAX / 2;
  }
  return std::nullopt;
}

std::optional<int> enter_build_directory(const Call& call) {
  if (call.has("--directory")) {
    const std::string directory(call.value("--directory"));
    if (::chdir(directory.c_str()) != 0)
      return call.refuse("cannot work in " + directory, std::strerror(errno),
                         "name a directory that is there");
    if (!call.has("--tool") && !call.has("--quiet"))
      call.console().out("larder: Entering directory `" + directory + "'\n");
  }
  return std::nullopt;
}

std::string build_status_format() {
  std::string format = variable("NINJA_STATUS");
  return format.empty() ? "[%f/%t] " : format;
}

}  // namespace larder::tool
