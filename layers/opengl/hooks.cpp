// OpenGL in front of the real one. A function does what the real one does and tells the layer, or answers
// from what larder has, always with the name that OpenGL gave the program.
#include <algorithm>
#include <cstring>

#include "layers/opengl/hooks.hpp"
#include "layers/opengl/linking.hpp"
#include "layers/opengl/objects.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))
// The real functions, or back to the caller: this process has none.
#define REAL(answer)                                               \
  const larder::gl::Functions* const gl = larder::gl::functions(); \
  if (gl == nullptr) return answer

using larder::gl::Enum;
using larder::gl::Functions;
using larder::gl::Group;
using larder::gl::Name;
using larder::gl::Objects;
using larder::gl::Program;
using larder::gl::Shader;
using larder::opengl::InfoLog;

namespace {

template <typename Member>
void set_option(Name program, Member change) noexcept {
  Objects::with_program(program, [&](Program& known) { change(known.options); });
}

void lose_program(Name program, const char* why_not) noexcept {
  Objects::with_program(program, [&](Program& known) { known.why_not = why_not; });
}

// Compiled if it is to be, and from then on not larder's to know.
void lose_shader(const Functions& gl, Name shader) noexcept {
  larder::gl::compile_deferred(gl, shader);
  Objects::with_shader(shader, [](Shader& known) { known.source = known.compiled = nullptr; });
}

// What OpenGL has let go of by now.
void forget_shader_if_gone(const Functions& gl, Name shader) noexcept {
  if (gl.glIsShader(shader) != 0) return;
  Objects::with([&](Group& group) { group.shaders.erase(shader); });
}

void put_log(const InfoLog& log, int size, int* length, char* to) noexcept {
  const int count = size <= 0 ? 0 : std::min(size - 1, static_cast<int>(log.text.size()));
  if (to != nullptr && size > 0) {
    std::memcpy(to, log.text.data(), static_cast<std::size_t>(count));
    to[count] = '\0';
  }
  if (length != nullptr) *length = count;
}

}  // namespace

EXPORT Name glCreateShader(Enum kind) {
  REAL(0);
  const Name shader = gl->glCreateShader(kind);
  if (shader != 0) {
    Objects::with([&](Group& group) {
      Shader fresh;
      fresh.kind = kind;
      group.shaders.insert_or_assign(shader, std::move(fresh));
    });
  }
  return shader;
}

EXPORT void glDeleteShader(Name shader) {
  REAL();
  gl->glDeleteShader(shader);
  forget_shader_if_gone(*gl, shader);
}

EXPORT void glShaderSource(Name shader, int count, const char* const* strings, const int* lengths) {
  REAL();
  // What it was compiled from is about to go.
  larder::gl::compile_deferred(*gl, shader);
  gl->glShaderSource(shader, count, strings, lengths);
  Objects::with_shader(shader,
                       [&](Shader& known) { known.source = larder::gl::source_of(count, strings, lengths); });
}

EXPORT void glCompileShader(Name shader) {
  REAL();
  larder::gl::compile_shader(*gl, shader);
}

EXPORT void glCompileShaderIncludeARB(Name shader, int count, const char* const* paths, const int* lengths) {
  REAL();
  if (gl->glCompileShaderIncludeARB == nullptr) return;
  const larder::gl::IncludePaths given{count, paths, lengths};
  larder::gl::compile_shader(*gl, shader, &given);
}

EXPORT void glNamedStringARB(Enum kind, int name_length, const char* name, int length, const char* text) {
  REAL();
  if (gl->glNamedStringARB == nullptr) return;
  gl->glNamedStringARB(kind, name_length, name, length, text);
  if (name == nullptr) return;
  Objects::with([&](Group& group) {
    group.named_strings.insert(name_length < 0 ? std::string(name)
                                               : std::string(name, static_cast<std::size_t>(name_length)));
  });
}

EXPORT void glShaderBinary(int count, const Name* shaders, Enum format, const void* binary, int length) {
  REAL();
  if (gl->glShaderBinary == nullptr) return;
  for (int i = 0; shaders != nullptr && i < count; ++i) lose_shader(*gl, shaders[i]);
  gl->glShaderBinary(count, shaders, format, binary, length);
}

#define SPECIALIZE(name)                                                                                  \
  EXPORT void name(Name shader, const char* entry, Name count, const Name* indexes, const Name* values) { \
    REAL();                                                                                               \
    if (gl->name == nullptr) return;                                                                      \
    lose_shader(*gl, shader);                                                                             \
    gl->name(shader, entry, count, indexes, values);                                                      \
  }
SPECIALIZE(glSpecializeShader)
SPECIALIZE(glSpecializeShaderARB)

EXPORT void glGetShaderiv(Name shader, Enum what, int* value) {
  REAL();
  bool is_answered = false;
  if (value != nullptr && (what == larder::gl::kCompileStatus || what == larder::gl::kInfoLogLength ||
                           what == larder::gl::kCompletionStatus)) {
    Objects::with_shader(shader, [&](Shader& known) {
      if (!known.is_deferred) return;
      *value = what == larder::gl::kInfoLogLength ? known.log.length : 1;
      is_answered = true;
    });
  }
  if (!is_answered) gl->glGetShaderiv(shader, what, value);
}

EXPORT void glGetShaderInfoLog(Name shader, int size, int* length, char* log) {
  REAL();
  bool is_answered = false;
  if (size >= 0) {
    Objects::with_shader(shader, [&](Shader& known) {
      if (!known.is_deferred) return;
      put_log(known.log, size, length, log);
      is_answered = true;
    });
  }
  if (!is_answered) gl->glGetShaderInfoLog(shader, size, length, log);
}

EXPORT void glGetTranslatedShaderSourceANGLE(Name shader, int size, int* length, char* source) {
  REAL();
  if (gl->glGetTranslatedShaderSourceANGLE == nullptr) return;
  larder::gl::compile_deferred(*gl, shader);
  gl->glGetTranslatedShaderSourceANGLE(shader, size, length, source);
}

EXPORT Name glCreateProgram() {
  REAL(0);
  const Name program = gl->glCreateProgram();
  if (program != 0) {
    Objects::with([&](Group& group) { group.programs.insert_or_assign(program, Program{}); });
  }
  return program;
}

EXPORT void glDeleteProgram(Name program) {
  REAL();
  // Shaders that only it held go with it.
  Name shaders[16]{};
  int count = 0;
  if (Objects::with_program(program, [](Program&) {})) gl->glGetAttachedShaders(program, 16, &count, shaders);
  gl->glDeleteProgram(program);
  for (int i = 0; i < count; ++i) forget_shader_if_gone(*gl, shaders[i]);
  // One that is in use lives on.
  if (program == 0 || gl->glIsProgram(program) != 0) return;
  Objects::with([&](Group& group) { group.programs.erase(program); });
}

EXPORT void glDetachShader(Name program, Name shader) {
  REAL();
  gl->glDetachShader(program, shader);
  forget_shader_if_gone(*gl, shader);
}

EXPORT void glBindAttribLocation(Name program, Name location, const char* name) {
  REAL();
  gl->glBindAttribLocation(program, location, name);
  if (name != nullptr)
    set_option(program, [&](auto& options) { options.attributes.insert_or_assign(name, location); });
}

#define BIND_OUTPUT(name_of_call)                                         \
  EXPORT void name_of_call(Name program, Name colour, const char* name) { \
    REAL();                                                               \
    if (gl->name_of_call == nullptr) return;                              \
    gl->name_of_call(program, colour, name);                              \
    if (name != nullptr)                                                  \
      set_option(program, [&](auto& options) {                            \
        options.outputs.insert_or_assign(name, Output{colour, 0});        \
      });                                                                 \
  }
#define BIND_INDEXED_OUTPUT(name_of_call)                                             \
  EXPORT void name_of_call(Name program, Name colour, Name index, const char* name) { \
    REAL();                                                                           \
    if (gl->name_of_call == nullptr) return;                                          \
    gl->name_of_call(program, colour, index, name);                                   \
    if (name != nullptr)                                                              \
      set_option(program, [&](auto& options) {                                        \
        options.outputs.insert_or_assign(name, Output{colour, index});                \
      });                                                                             \
  }
using Output = larder::opengl::LinkOptions::Output;
BIND_OUTPUT(glBindFragDataLocation)
BIND_OUTPUT(glBindFragDataLocationEXT)
BIND_INDEXED_OUTPUT(glBindFragDataLocationIndexed)
BIND_INDEXED_OUTPUT(glBindFragDataLocationIndexedEXT)

#define FEEDBACK(name)                                                                                   \
  EXPORT void name(Name program, int count, const char* const* varyings, Enum mode) {                    \
    REAL();                                                                                              \
    if (gl->name == nullptr) return;                                                                     \
    gl->name(program, count, varyings, mode);                                                            \
    set_option(program, [&](auto& options) {                                                             \
      options.feedback.clear();                                                                          \
      options.feedback_mode = mode;                                                                      \
      for (int i = 0; varyings != nullptr && i < count; ++i) options.feedback.emplace_back(varyings[i]); \
    });                                                                                                  \
  }
FEEDBACK(glTransformFeedbackVaryings)
FEEDBACK(glTransformFeedbackVaryingsEXT)

EXPORT void glTransformFeedbackVaryingsNV(Name program, int count, const int* locations, Enum mode) {
  REAL();
  if (gl->glTransformFeedbackVaryingsNV == nullptr) return;
  lose_program(program, "its feedback is set up by functions of NVIDIA's, which are not followed");
  gl->glTransformFeedbackVaryingsNV(program, count, locations, mode);
}

#define PARAMETER(name)                                                          \
  EXPORT void name(Name program, Enum what, int value) {                         \
    REAL();                                                                      \
    if (gl->name == nullptr) return;                                             \
    gl->name(program, what, value);                                              \
    set_option(program, [&](auto& options) {                                     \
      if (what == larder::gl::kSeparable) options.is_separable = value != 0;     \
      if (what == larder::gl::kRetrievable) options.is_retrievable = value != 0; \
    });                                                                          \
    if (what != larder::gl::kSeparable && what != larder::gl::kRetrievable)      \
      lose_program(program, "it has a parameter that larder does not know");     \
  }
PARAMETER(glProgramParameteri)
PARAMETER(glProgramParameteriARB)
PARAMETER(glProgramParameteriEXT)

EXPORT void glLinkProgram(Name program) {
  REAL();
  larder::gl::link_program(*gl, program);
}

EXPORT void glValidateProgram(Name program) {
  REAL();
  Objects::with_program(program, [](Program& known) { known.log.reset(); });
  gl->glValidateProgram(program);
}

EXPORT void glGetProgramiv(Name program, Enum what, int* value) {
  REAL();
  bool is_answered = false;
  if (what == larder::gl::kInfoLogLength && value != nullptr) {
    Objects::with_program(program, [&](Program& known) {
      if (!known.log) return;
      *value = known.log->length;
      is_answered = true;
    });
  }
  if (!is_answered) gl->glGetProgramiv(program, what, value);
}

EXPORT void glGetProgramInfoLog(Name program, int size, int* length, char* log) {
  REAL();
  bool is_answered = false;
  if (size >= 0) {
    Objects::with_program(program, [&](Program& known) {
      if (!known.log) return;
      put_log(*known.log, size, length, log);
      is_answered = true;
    });
  }
  if (!is_answered) gl->glGetProgramInfoLog(program, size, length, log);
}

#define BINARY(name)                                                                             \
  EXPORT void name(Name program, Enum format, const void* binary, int length) {                  \
    REAL();                                                                                      \
    if (gl->name == nullptr) return;                                                             \
    gl->name(program, format, binary, length);                                                   \
    int is_linked = 0;                                                                           \
    if (!Objects::with_program(program, [](Program& known) { known.log.reset(); })) return;      \
    gl->glGetProgramiv(program, larder::gl::kLinkStatus, &is_linked);                            \
    Objects::with_program(program, [&](Program& known) { known.was_linked |= is_linked != 0; }); \
  }
BINARY(glProgramBinary)
BINARY(glProgramBinaryOES)

#define SHADER_PROGRAM(name)                                                                                 \
  EXPORT Name name(Enum kind, int count, const char* const* strings) {                                       \
    REAL(0);                                                                                                 \
    return gl->name == nullptr ? 0 : larder::gl::create_shader_program(*gl, gl->name, kind, count, strings); \
  }
SHADER_PROGRAM(glCreateShaderProgramv)
SHADER_PROGRAM(glCreateShaderProgramvEXT)
