// EGL and GLX in front of the real ones: the contexts that they make, and the functions that they give out.
#include "layers/opengl/blobs.hpp"
#include "layers/opengl/hooks.hpp"
#include "layers/opengl/objects.hpp"
#include "program/guest.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

using larder::gl::Proc;

namespace {
void* known_context(larder::gl::Maker maker, void* context, void* share) noexcept {
  if (context != nullptr && larder::guest::is_enabled()) larder::gl::add_context(maker, context, share);
  return context;
}
}  // namespace

EXPORT void* eglCreateContext(void* display, void* config, void* share, const int* attributes) {
  const larder::gl::EglFunctions* const egl = larder::gl::egl();
  if (egl == nullptr) return nullptr;
  return known_context(larder::gl::Maker::egl, egl->eglCreateContext(display, config, share, attributes),
                       share);
}

EXPORT void eglSetBlobCacheFuncsANDROID(void* display, larder::gl::SetBlob set, larder::gl::GetBlob get) {
  larder::gl::set_blob_functions(display, set, get);
}

EXPORT Proc eglGetProcAddress(const char* name) {
  const larder::gl::EglFunctions* const egl = larder::gl::egl();
  return egl == nullptr ? nullptr : larder::gl::hook_or(egl->eglGetProcAddress(name), name);
}

#define GLX(answer)                                              \
  const larder::gl::GlxFunctions* const glx = larder::gl::glx(); \
  if (glx == nullptr) return answer

EXPORT void* glXCreateContext(void* display, void* visual, void* share, int direct) {
  GLX(nullptr);
  if (glx->glXCreateContext == nullptr) return nullptr;
  return known_context(larder::gl::Maker::glx, glx->glXCreateContext(display, visual, share, direct), share);
}

EXPORT void* glXCreateNewContext(void* display, void* config, int kind, void* share, int direct) {
  GLX(nullptr);
  if (glx->glXCreateNewContext == nullptr) return nullptr;
  return known_context(larder::gl::Maker::glx, glx->glXCreateNewContext(display, config, kind, share, direct),
                       share);
}

EXPORT void* glXCreateContextAttribsARB(void* display, void* config, void* share, int direct,
                                        const int* attributes) {
  GLX(nullptr);
  if (glx->glXCreateContextAttribsARB == nullptr) return nullptr;
  return known_context(larder::gl::Maker::glx,
                       glx->glXCreateContextAttribsARB(display, config, share, direct, attributes), share);
}

EXPORT Proc glXGetProcAddress(const unsigned char* name) {
  GLX(nullptr);
  const auto real = glx->glXGetProcAddress != nullptr ? glx->glXGetProcAddress : glx->glXGetProcAddressARB;
  return larder::gl::hook_or(real(name), reinterpret_cast<const char*>(name));
}

EXPORT Proc glXGetProcAddressARB(const unsigned char* name) {
  GLX(nullptr);
  return larder::gl::hook_or(glx->glXGetProcAddressARB(name), reinterpret_cast<const char*>(name));
}
