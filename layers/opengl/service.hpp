// What a context can do for larder: who compiles for it, and which binaries its driver takes.
#pragma once

#include <memory>

#include "layers/opengl/objects.hpp"
#include "program/opengl/known_shaders.hpp"

namespace larder::gl {

// Of the context that is current on this thread, asked once; null when it is unknown. Throws std::bad_alloc.
std::shared_ptr<const Service> service_of_current(const Functions& gl);

// What larder keeps, one for the process; null when the store cannot be used. Any thread.
opengl::LinkedPrograms* linked_programs();
opengl::KnownShaders* known_shaders();

}  // namespace larder::gl
