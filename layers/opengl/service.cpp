#include "layers/opengl/service.hpp"

#include <string_view>

#include "layers/opengl/blobs.hpp"
#include "program/ending.hpp"
#include "program/guest.hpp"
#include "program/opengl/context_identity.hpp"

namespace larder::gl {
namespace {

std::string text_of(const Functions& gl, Enum what) {
  const auto* const text = reinterpret_cast<const char*>(gl.glGetString(what));
  return text == nullptr ? "" : text;
}

int number_of(const Functions& gl, Enum what) {
  int number = 0;
  gl.glGetIntegerv(what, &number);
  return number;
}

struct Version {
  bool is_es = false;
  int number = 0;  // 45 is 4.5
};

Version to_version(std::string_view text) {
  Version version;
  constexpr std::string_view kEs = "OpenGL ES ";
  version.is_es = text.starts_with(kEs);
  if (version.is_es) text.remove_prefix(kEs.size());
  const auto digit = [&](std::size_t at) {
    return at < text.size() && text[at] >= '0' && text[at] <= '9' ? text[at] - '0' : 0;
  };
  version.number = digit(0) * 10 + digit(2);
  return version;
}

bool has_extension(const Functions& gl, const Version& version, std::string_view name) {
  if (version.number >= 30 && gl.glGetStringi != nullptr) {
    const int count = number_of(gl, kExtensionCount);
    for (int i = 0; i < count; ++i) {
      const auto* const each =
          reinterpret_cast<const char*>(gl.glGetStringi(kExtensions, static_cast<Name>(i)));
      if (each != nullptr && name == each) return true;
    }
    return false;
  }
  const std::string all = text_of(gl, kExtensions) + ' ';
  return all.find(std::string(name) + ' ') != std::string::npos;
}

bool has_binaries(const Functions& gl, const Version& version) {
  if (gl.glGetProgramBinary != nullptr && gl.glProgramBinary != nullptr) {
    if (version.number >= (version.is_es ? 30 : 41)) return true;
    if (!version.is_es && has_extension(gl, version, "GL_ARB_get_program_binary")) return true;
  }
  return version.is_es && gl.glGetProgramBinaryOES != nullptr && gl.glProgramBinaryOES != nullptr &&
         has_extension(gl, version, "GL_OES_get_program_binary");
}

bool has_pipelines(const Functions& gl, const Version& version) {
  if (version.number >= (version.is_es ? 31 : 41)) return true;
  return has_extension(gl, version,
                       version.is_es ? "GL_EXT_separate_shader_objects" : "GL_ARB_separate_shader_objects");
}

Service look(const Functions& gl) {
  Service service;
  if (linked_programs() == nullptr) {
    service.why_not = "the store cannot be used";
    return service;
  }
  opengl::ContextFacts facts{.vendor = text_of(gl, kVendor),
                             .renderer = text_of(gl, kRenderer),
                             .version = text_of(gl, kVersion),
                             .language_version = text_of(gl, kLanguageVersion)};
  const Version version = to_version(facts.version);
  if (version.number >= (version.is_es ? 32 : 30))
    facts.flags = static_cast<Enum>(number_of(gl, kContextFlags));
  if (!version.is_es && version.number >= 32)
    facts.profile = static_cast<Enum>(number_of(gl, kContextProfile));
  const EglFunctions* const e = egl();
  const GlxFunctions* const x = glx();
  const void* const function = e != nullptr   ? reinterpret_cast<const void*>(e->eglGetCurrentContext)
                               : x != nullptr ? reinterpret_cast<const void*>(x->glXGetCurrentContext)
                                              : nullptr;
  service.identity = opengl::context_identity(facts, function);
  service.why_not = service.identity.why_not;
  if (!service.why_not.empty()) return service;
  service.has_pipelines = has_pipelines(gl, version);
  if (has_binaries(gl, version)) {
    if (const int count = number_of(gl, kBinaryFormatCount); count > 0) {
      std::vector<int> formats(static_cast<std::size_t>(count));
      gl.glGetIntegerv(kBinaryFormats, formats.data());
      service.formats.assign(formats.begin(), formats.end());
    }
  }
  if (service.formats.empty()) {
    service.why_not = keep_blobs(service.identity)
                          ? "its driver offers no program binaries; its blobs are kept"
                          : "its driver offers no program binaries (Mesa's does with its own cache on)";
  }
  return service;
}

}  // namespace

std::shared_ptr<const Service> service_of_current(const Functions& gl) {
  const auto context = current_context();
  if (!context) return nullptr;
  if (context->service != nullptr) return context->service;
  auto service = std::make_shared<const Service>(look(gl));
  set_service(service);
  return service;
}

opengl::LinkedPrograms* linked_programs() {
  static opengl::LinkedPrograms* const programs = [] {
    guest::watch_end();
    Cache* const cache = guest::open_cache();
    return cache == nullptr ? nullptr : new opengl::LinkedPrograms(*cache);
  }();
  return programs;
}

opengl::KnownShaders* known_shaders() {
  static opengl::KnownShaders* const shaders = [] {
    Cache* const cache = guest::open_cache();
    return cache == nullptr ? nullptr : new opengl::KnownShaders(*cache);
  }();
  return shaders;
}

}  // namespace larder::gl
