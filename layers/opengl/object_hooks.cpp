// GL_ARB_shader_objects in front of the real one: the same shaders and programs under older names. What the
// layer follows goes the way of OpenGL's own functions, everything else that of the real ones.
#include "layers/opengl/hooks.hpp"
#include "layers/opengl/objects.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))
// The real functions, or back to the caller: this process has none of them, or not this one.
#define REAL_OF(name, answer)                                      \
  const larder::gl::Functions* const gl = larder::gl::functions(); \
  if (gl == nullptr || gl->name == nullptr) return answer

using larder::gl::Enum;
using larder::gl::Group;
using larder::gl::Name;
using larder::gl::Objects;
using larder::gl::Program;
using larder::gl::Shader;
// The layer's own.
using larder::gl::glBindAttribLocation;
using larder::gl::glCompileShader;
using larder::gl::glDeleteProgram;
using larder::gl::glDeleteShader;
using larder::gl::glDetachShader;
using larder::gl::glGetProgramInfoLog;
using larder::gl::glGetProgramiv;
using larder::gl::glGetShaderInfoLog;
using larder::gl::glGetShaderiv;
using larder::gl::glLinkProgram;
using larder::gl::glShaderSource;
using larder::gl::glValidateProgram;

namespace {

bool is_shader(Name object) noexcept {
  return Objects::with_shader(object, [](Shader&) {});
}
bool is_program(Name object) noexcept {
  return Objects::with_program(object, [](Program&) {});
}

// One that OpenGL's own functions do not know may have the name of one that they knew.
void forget(Name object) noexcept {
  Objects::with([&](Group& group) {
    group.shaders.erase(object);
    group.programs.erase(object);
  });
}

}  // namespace

EXPORT Name glCreateShaderObjectARB(Enum kind) {
  REAL_OF(glCreateShaderObjectARB, 0);
  const Name shader = gl->glCreateShaderObjectARB(kind);
  if (shader == 0) return shader;
  forget(shader);
  if (gl->glIsShader(shader) == 0) return shader;
  Objects::with([&](Group& group) {
    Shader fresh;
    fresh.kind = kind;
    group.shaders.insert_or_assign(shader, std::move(fresh));
  });
  return shader;
}

EXPORT Name glCreateProgramObjectARB() {
  REAL_OF(glCreateProgramObjectARB, 0);
  const Name program = gl->glCreateProgramObjectARB();
  if (program == 0) return program;
  forget(program);
  if (gl->glIsProgram(program) == 0) return program;
  Objects::with([&](Group& group) { group.programs.insert_or_assign(program, Program{}); });
  return program;
}

EXPORT void glDeleteObjectARB(Name object) {
  REAL_OF(glDeleteObjectARB, );
  if (is_program(object)) return glDeleteProgram(object);
  if (is_shader(object)) return glDeleteShader(object);
  gl->glDeleteObjectARB(object);
}

EXPORT void glShaderSourceARB(Name shader, int count, const char* const* strings, const int* lengths) {
  REAL_OF(glShaderSourceARB, );
  if (is_shader(shader)) return glShaderSource(shader, count, strings, lengths);
  gl->glShaderSourceARB(shader, count, strings, lengths);
}

EXPORT void glCompileShaderARB(Name shader) {
  REAL_OF(glCompileShaderARB, );
  if (is_shader(shader)) return glCompileShader(shader);
  gl->glCompileShaderARB(shader);
}

EXPORT void glDetachObjectARB(Name program, Name shader) {
  REAL_OF(glDetachObjectARB, );
  if (is_program(program)) return glDetachShader(program, shader);
  gl->glDetachObjectARB(program, shader);
}

EXPORT void glBindAttribLocationARB(Name program, Name location, const char* name) {
  REAL_OF(glBindAttribLocationARB, );
  if (is_program(program)) return glBindAttribLocation(program, location, name);
  gl->glBindAttribLocationARB(program, location, name);
}

EXPORT void glLinkProgramARB(Name program) {
  REAL_OF(glLinkProgramARB, );
  if (is_program(program)) return glLinkProgram(program);
  gl->glLinkProgramARB(program);
}

EXPORT void glValidateProgramARB(Name program) {
  REAL_OF(glValidateProgramARB, );
  if (is_program(program)) return glValidateProgram(program);
  gl->glValidateProgramARB(program);
}

EXPORT void glGetObjectParameterivARB(Name object, Enum what, int* value) {
  REAL_OF(glGetObjectParameterivARB, );
  // Of the same numbers under both names; what else there is says the same in any case.
  if (what == larder::gl::kCompileStatus && is_shader(object)) return glGetShaderiv(object, what, value);
  if (what == larder::gl::kInfoLogLength && is_shader(object)) return glGetShaderiv(object, what, value);
  if (what == larder::gl::kInfoLogLength && is_program(object)) return glGetProgramiv(object, what, value);
  gl->glGetObjectParameterivARB(object, what, value);
}

EXPORT void glGetObjectParameterfvARB(Name object, Enum what, float* value) {
  REAL_OF(glGetObjectParameterfvARB, );
  const bool is_length = what == larder::gl::kInfoLogLength;
  const bool is_told =
      is_shader(object) ? is_length || what == larder::gl::kCompileStatus : is_length && is_program(object);
  if (value == nullptr || !is_told) return gl->glGetObjectParameterfvARB(object, what, value);
  int number = 0;
  glGetObjectParameterivARB(object, what, &number);
  *value = static_cast<float>(number);
}

EXPORT void glGetInfoLogARB(Name object, int size, int* length, char* log) {
  REAL_OF(glGetInfoLogARB, );
  if (is_program(object)) return glGetProgramInfoLog(object, size, length, log);
  if (is_shader(object)) return glGetShaderInfoLog(object, size, length, log);
  gl->glGetInfoLogARB(object, size, length, log);
}
