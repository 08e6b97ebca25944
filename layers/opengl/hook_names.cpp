#include "layers/opengl/hooks.hpp"
#include "program/guest.hpp"

namespace larder::gl {

void* hook_of(std::string_view name) noexcept {
#define LARDER_GL_ROW(result, function, parameters) {#function, reinterpret_cast<void*>(&(function))},
  static const std::pair<std::string_view, void*> kAll[] = {
      LARDER_GL_HOOKED(LARDER_GL_ROW) LARDER_EGL_HOOKED(LARDER_GL_ROW) LARDER_GLX_HOOKED(LARDER_GL_ROW)};
#undef LARDER_GL_ROW
  for (const auto& [known, function] : kAll) {
    if (known == name) return function;
  }
  return nullptr;
}

Proc hook_or(Proc real, const char* name) noexcept {
  if (real == nullptr || name == nullptr || !guest::is_enabled()) return real;
  void* const hook = hook_of(name);
  return hook == nullptr ? real : reinterpret_cast<Proc>(hook);
}

}  // namespace larder::gl
