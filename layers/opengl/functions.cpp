#include "layers/opengl/functions.hpp"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstring>
#include <new>

namespace larder::gl {
namespace {

constexpr const char* kEglLibraries[] = {"libEGL.so.1"};
constexpr const char* kGlxLibraries[] = {"libGLX.so.0", "libGL.so.1"};
constexpr const char* kGlLibraries[] = {"libOpenGL.so.0", "libGL.so.1", "libGLESv2.so.2"};

using Dlsym = void* (*)(void*, const char*);

// Layers that stand behind this one may have a dlsym without a version, so that it is asked for without one.
Dlsym find_dlsym() noexcept {
  for (const char* const version : {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"}) {
    void* const first = ::dlvsym(RTLD_NEXT, "dlsym", version);
    if (first == nullptr) continue;
    void* const next = reinterpret_cast<Dlsym>(first)(RTLD_NEXT, "dlsym");
    return reinterpret_cast<Dlsym>(next == nullptr ? first : next);
  }
  return nullptr;
}

// What this process is linked to, whoever's it is; null: nothing.
void* find_linked(const char* name) noexcept {
  void* const found = next_dlsym(RTLD_NEXT, name);
  return found == nullptr || is_ours(found) ? nullptr : found;
}

// `name` of what the process is linked to, else of the first of these libraries that is loaded and has it.
// What was found stays loaded.
template <std::size_t kCount>
void* find_in(const char* const (&libraries)[kCount], const char* name) noexcept {
  if (void* const linked = find_linked(name)) return linked;
  for (const char* const each : libraries) {
    void* const library = ::dlopen(each, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    void* const found = next_dlsym(library, name);
    if (found != nullptr && !is_ours(found)) return found;
    ::dlclose(library);
  }
  return nullptr;
}

void* find_gl(const char* name) noexcept {
  void* found = find_linked(name);
  if (found == nullptr) {
    if (const EglFunctions* const e = egl()) found = reinterpret_cast<void*>(e->eglGetProcAddress(name));
  }
  if (found == nullptr) {
    if (const GlxFunctions* const x = glx())
      found = reinterpret_cast<void*>(x->glXGetProcAddressARB(reinterpret_cast<const unsigned char*>(name)));
  }
  if (found == nullptr || is_ours(found)) found = find_in(kGlLibraries, name);
  return found;
}

template <typename Function>
void put(Function& place, void* found) noexcept {
  place = reinterpret_cast<Function>(found);
}

// Looked up until they are there, by any thread that needs them: all find the same.
template <typename Set, typename Fill>
const Set* found_once(std::atomic<const Set*>& place, Fill fill) noexcept {
  if (const Set* const known = place.load(std::memory_order_acquire)) return known;
  auto* const fresh = new (std::nothrow) Set;
  if (fresh == nullptr) return nullptr;
  const Set* nobody = nullptr;
  if (fill(*fresh) && place.compare_exchange_strong(nobody, fresh, std::memory_order_acq_rel)) return fresh;
  delete fresh;
  return nobody;
}

constinit std::atomic<const Functions*> known_functions{nullptr};
constinit std::atomic<const EglFunctions*> known_egl{nullptr};
constinit std::atomic<const GlxFunctions*> known_glx{nullptr};

}  // namespace

void* next_dlsym_function() noexcept {
  static const Dlsym next = find_dlsym();
  return reinterpret_cast<void*>(next);
}

void* next_dlsym(void* library, const char* name) noexcept {
  const auto next = reinterpret_cast<Dlsym>(next_dlsym_function());
  return next == nullptr ? nullptr : next(library, name);
}

const EglFunctions* egl() noexcept {
  return found_once(known_egl, [](EglFunctions& set) {
    // To look for a library that is not loaded takes as long as to open it.
    if (find_in(kEglLibraries, "eglGetProcAddress") == nullptr) return false;
#define LARDER_GL_FIND(result, name, parameters) put(set.name, find_in(kEglLibraries, #name));
    LARDER_EGL_HOOKED(LARDER_GL_FIND)
    LARDER_EGL_CALLED(LARDER_GL_FIND)
#undef LARDER_GL_FIND
    // No library need export what is an extension.
    if (set.eglGetProcAddress != nullptr && set.eglSetBlobCacheFuncsANDROID == nullptr) {
      put(set.eglSetBlobCacheFuncsANDROID,
          reinterpret_cast<void*>(set.eglGetProcAddress("eglSetBlobCacheFuncsANDROID")));
    }
    return set.eglGetProcAddress != nullptr && set.eglGetCurrentContext != nullptr &&
           set.eglCreateContext != nullptr;
  });
}

const GlxFunctions* glx() noexcept {
  return found_once(known_glx, [](GlxFunctions& set) {
    if (find_in(kGlxLibraries, "glXGetProcAddressARB") == nullptr) return false;
#define LARDER_GL_FIND(result, name, parameters) put(set.name, find_in(kGlxLibraries, #name));
    LARDER_GLX_HOOKED(LARDER_GL_FIND)
    LARDER_GLX_CALLED(LARDER_GL_FIND)
#undef LARDER_GL_FIND
    if (set.glXGetProcAddressARB == nullptr || set.glXGetCurrentContext == nullptr) return false;
    if (set.glXCreateContextAttribsARB == nullptr) {
      put(set.glXCreateContextAttribsARB,
          reinterpret_cast<void*>(set.glXGetProcAddressARB(
              reinterpret_cast<const unsigned char*>("glXCreateContextAttribsARB"))));
    }
    return true;
  });
}

const Functions* functions() noexcept {
  return found_once(known_functions, [](Functions& set) {
#define LARDER_GL_FIND(result, name, parameters) put(set.name, find_gl(#name));
    LARDER_GL_HOOKED(LARDER_GL_FIND)
    LARDER_GL_CALLED(LARDER_GL_FIND)
#undef LARDER_GL_FIND
    return set.glGetString != nullptr && set.glGetIntegerv != nullptr && set.glGetError != nullptr &&
           set.glIsShader != nullptr && set.glIsProgram != nullptr && set.glCreateShader != nullptr &&
           set.glDeleteShader != nullptr && set.glShaderSource != nullptr && set.glCompileShader != nullptr &&
           set.glGetShaderiv != nullptr && set.glGetShaderInfoLog != nullptr &&
           set.glCreateProgram != nullptr && set.glDeleteProgram != nullptr &&
           set.glGetAttachedShaders != nullptr && set.glDetachShader != nullptr &&
           set.glBindAttribLocation != nullptr && set.glLinkProgram != nullptr &&
           set.glValidateProgram != nullptr && set.glGetProgramiv != nullptr &&
           set.glGetProgramInfoLog != nullptr;
  });
}

bool is_systems(void* function) noexcept {
  Dl_info info{};
  link_map* library = nullptr;
  if (::dladdr1(function, &info, reinterpret_cast<void**>(&library), RTLD_DL_LINKMAP) == 0 ||
      library == nullptr || library->l_ld == nullptr)
    return false;
  // By its soname: files are reached by shorter and by longer names.
  const char* strings = nullptr;
  for (const ElfW(Dyn)* each = library->l_ld; each->d_tag != DT_NULL; ++each) {
    if (each->d_tag != DT_STRTAB) continue;
    const ElfW(Addr) at = each->d_un.d_ptr;
    strings = reinterpret_cast<const char*>(at < library->l_addr ? at + library->l_addr : at);
  }
  for (const ElfW(Dyn)* each = library->l_ld; strings != nullptr && each->d_tag != DT_NULL; ++each) {
    if (each->d_tag != DT_SONAME) continue;
    for (const char* const known : {"libGL.so.1", "libOpenGL.so.0", "libGLESv2.so.2", "libGLX.so.0",
                                    "libEGL.so.1", "libGLdispatch.so.0"}) {
      if (std::strcmp(strings + each->d_un.d_val, known) == 0) return true;
    }
  }
  return false;
}

bool is_ours(void* function) noexcept {
  Dl_info mine{};
  Dl_info its{};
  return ::dladdr(reinterpret_cast<void*>(&is_ours), &mine) != 0 && ::dladdr(function, &its) != 0 &&
         mine.dli_fbase == its.dli_fbase;
}

}  // namespace larder::gl
