// What a context can do for larder: who compiles for it, and which binaries its driver takes.
#pragma once

#include <memory>

#include "layers/opengl/objects.hpp"

namespace larder::gl {

// Of the context that is current on this thread, asked once; null when it is unknown. Throws std::bad_alloc.
std::shared_ptr<const Service> service_of_current(const Functions& gl);

// What larder keeps, one for the process; null when the store cannot be used. Any thread.
opengl::LinkedPrograms* linked_programs();

// True once the process is at its end: then the driver is called as its host does, and not once more.
bool is_ending() noexcept;

}  // namespace larder::gl
