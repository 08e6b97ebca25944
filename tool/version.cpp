#include <sodium/version.h>
#include <xxhash.h>

#include "tool/command.hpp"
#include "tool/help.hpp"
#include "tool/json.hpp"

namespace larder::tool {
namespace {

int run_version(Call& call) {
  if (!call.wants_json()) {
    call.console().out(version_line());
    return kDone;
  }
  Json json = begin_json();
  json.member("version", LARDER_VERSION)
      .member("compiler", LARDER_COMPILER)
      .member("libsodium", SODIUM_VERSION_STRING)
      .member("xxhash", XXH_VERSION_NUMBER)
      .end_object();
  call.console().out(std::move(json).text());
  return kDone;
}

}  // namespace

extern const Command kVersionCommand;
const Command kVersionCommand{"version",
                              "print the version",
                              "Prints the version; with --json also what larder was built with.",
                              {},
                              true,
                              true,
                              run_version};

}  // namespace larder::tool
