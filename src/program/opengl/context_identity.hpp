// Who compiles for an OpenGL context: what OpenGL tells of it, its driver's build, and what the driver reads
// of the environment and of its own configuration. Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "larder/program_input.hpp"

namespace larder::opengl {

// What OpenGL itself tells of a context.
struct ContextFacts {
  std::string vendor;
  std::string renderer;
  std::string version;
  std::string language_version;
  std::uint32_t profile = 0;  // core or compatibility, in OpenGL's numbers
  std::uint32_t flags = 0;    // debug, robust and the like
};

// `function` is one of the library by which the driver is reached. Drivers decide by the name of the process
// as well (Mesa's drirc, NVIDIA's profiles), so that it stands there, too.
DeviceIdentity context_identity(const ContextFacts& facts, const void* function);

}  // namespace larder::opengl
