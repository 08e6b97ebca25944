// Compiling and linking as the host asks for it, answered from what larder has where that leaves everything
// as a real link would have, and done by the driver everywhere else. A context is current on the calling
// thread.
#pragma once

#include "layers/opengl/functions.hpp"
#include "program/opengl/link_recipe.hpp"

namespace larder::gl {

// What glCompileShaderIncludeARB is given: where paths are searched.
struct IncludePaths {
  int count = 0;
  const char* const* paths = nullptr;
  const int* lengths = nullptr;
};
// A source as OpenGL is given one; null when it is none, or there is no memory for it.
opengl::ShaderText source_of(int count, const char* const* strings, const int* lengths) noexcept;

// `paths`: as glCompileShaderIncludeARB.
void compile_shader(const Functions& gl, Name shader, const IncludePaths* paths = nullptr) noexcept;
void link_program(const Functions& gl, Name program) noexcept;

using CreateShaderProgram = Name (*)(Enum, int, const char* const*);
// glCreateShaderProgramv, of which the real one is `real`.
Name create_shader_program(const Functions& gl, CreateShaderProgram real, Enum kind, int count,
                           const char* const* strings) noexcept;

// Has the driver compile the shader, if its host believes that it did.
void compile_deferred(const Functions& gl, Name shader) noexcept;
// The same for all shaders that are attached to a program.
void compile_deferred_of(const Functions& gl, Name program) noexcept;

}  // namespace larder::gl
