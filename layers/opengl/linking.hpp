// Compiling and linking as the host asks for it, answered from what larder has where that leaves everything
// as a real link would have, and done by the driver everywhere else. A context is current on the calling
// thread.
#pragma once

#include "layers/opengl/functions.hpp"

namespace larder::gl {

void compile_shader(const Functions& gl, Name shader) noexcept;
void link_program(const Functions& gl, Name program) noexcept;

// Has the driver compile the shader, if its host believes that it did.
void compile_deferred(const Functions& gl, Name shader) noexcept;
// The same for all shaders that are attached to a program.
void compile_deferred_of(const Functions& gl, Name program) noexcept;

}  // namespace larder::gl
