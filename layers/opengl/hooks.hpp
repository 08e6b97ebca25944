// The layer's functions, preloaded by `larder run --gl-layer`. Programs that are linked to OpenGL, EGL or GLX
// find them first; programs that ask for functions by name (eglGetProcAddress, glXGetProcAddress, dlsym) are
// given them. Any thread.
#pragma once

#include <string_view>

#include "layers/opengl/functions.hpp"

#define LARDER_GL_DECLARE(result, name, parameters) \
  extern "C" __attribute__((visibility("default"))) result name parameters;
namespace larder::gl {
LARDER_GL_HOOKED(LARDER_GL_DECLARE)
LARDER_EGL_HOOKED(LARDER_GL_DECLARE)
LARDER_GLX_HOOKED(LARDER_GL_DECLARE)

// The function that stands before the one called `name`; null: none does.
void* hook_of(std::string_view name) noexcept;
// What a program is given that asks for `name`, where the real answer is `real`.
Proc hook_or(Proc real, const char* name) noexcept;

}  // namespace larder::gl
#undef LARDER_GL_DECLARE
