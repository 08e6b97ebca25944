// OpenGL, EGL and GLX as the layer calls them: what lies behind it in this process. It needs nothing of
// theirs to build. Only libraries by which systems offer them are known (libGL.so.1, libEGL.so.1 and so on):
// what programs bring along is theirs. Never freed: a program may make its last call after everything else
// has ended. Any thread.
#pragma once

#include <cstdint>

namespace larder::gl {

using Enum = std::uint32_t;
using Name = std::uint32_t;  // of a shader or program
using Proc = void (*)();
using SetBlob = void (*)(const void* key, long key_size, const void* value, long value_size);
using GetBlob = long (*)(const void* key, long key_size, void* value, long value_size);

enum : Enum {
  kFalse = 0,
  kTrue = 1,
  kVendor = 0x1F00,
  kRenderer = 0x1F01,
  kVersion = 0x1F02,
  kExtensions = 0x1F03,
  kExtensionCount = 0x821D,
  kContextFlags = 0x821E,
  kSeparable = 0x8258,
  kPipelineBinding = 0x825A,
  kRetrievable = 0x8257,
  kBinaryLength = 0x8741,
  kBinaryFormatCount = 0x87FE,
  kBinaryFormats = 0x87FF,
  kCompileStatus = 0x8B81,
  kLinkStatus = 0x8B82,
  kInfoLogLength = 0x8B84,
  kAttachedShaders = 0x8B85,
  kFeedbackVaryings = 0x8C83,
  kLanguageVersion = 0x8B8C,
  kNamedStringLength = 0x8DE9,
  kCompletionStatus = 0x91B1,
  kContextProfile = 0x9126,
};

// Result, name and parameters of the functions that the layer stands before, and of those that it calls
// beside them. EGL's and GLX's handles are pointers.
#define LARDER_GL_HOOKED(X)                                                                                  \
  X(Name, glCreateShader, (Enum kind))                                                                       \
  X(void, glDeleteShader, (Name shader))                                                                     \
  X(void, glShaderSource, (Name shader, int count, const char* const* strings, const int* lengths))          \
  X(void, glCompileShader, (Name shader))                                                                    \
  X(void, glCompileShaderIncludeARB, (Name shader, int count, const char* const* paths, const int* lengths)) \
  X(void, glShaderBinary, (int count, const Name* shaders, Enum format, const void* binary, int length))     \
  X(void, glSpecializeShader,                                                                                \
    (Name shader, const char* entry, Name count, const Name* indexes, const Name* values))                   \
  X(void, glSpecializeShaderARB,                                                                             \
    (Name shader, const char* entry, Name count, const Name* indexes, const Name* values))                   \
  X(void, glGetShaderiv, (Name shader, Enum what, int* value))                                               \
  X(void, glGetShaderInfoLog, (Name shader, int size, int* length, char* log))                               \
  X(void, glGetTranslatedShaderSourceANGLE, (Name shader, int size, int* length, char* source))              \
  X(Name, glCreateProgram, ())                                                                               \
  X(void, glDeleteProgram, (Name program))                                                                   \
  X(void, glDetachShader, (Name program, Name shader))                                                       \
  X(void, glBindAttribLocation, (Name program, Name location, const char* name))                             \
  X(void, glBindFragDataLocation, (Name program, Name colour, const char* name))                             \
  X(void, glBindFragDataLocationEXT, (Name program, Name colour, const char* name))                          \
  X(void, glBindFragDataLocationIndexed, (Name program, Name colour, Name index, const char* name))          \
  X(void, glBindFragDataLocationIndexedEXT, (Name program, Name colour, Name index, const char* name))       \
  X(void, glTransformFeedbackVaryings, (Name program, int count, const char* const* varyings, Enum mode))    \
  X(void, glTransformFeedbackVaryingsEXT, (Name program, int count, const char* const* varyings, Enum mode)) \
  X(void, glTransformFeedbackVaryingsNV, (Name program, int count, const int* locations, Enum mode))         \
  X(void, glProgramParameteri, (Name program, Enum what, int value))                                         \
  X(void, glProgramParameteriARB, (Name program, Enum what, int value))                                      \
  X(void, glProgramParameteriEXT, (Name program, Enum what, int value))                                      \
  X(void, glLinkProgram, (Name program))                                                                     \
  X(void, glValidateProgram, (Name program))                                                                 \
  X(void, glGetProgramiv, (Name program, Enum what, int* value))                                             \
  X(void, glGetProgramInfoLog, (Name program, int size, int* length, char* log))                             \
  X(void, glProgramBinary, (Name program, Enum format, const void* binary, int length))                      \
  X(void, glProgramBinaryOES, (Name program, Enum format, const void* binary, int length))                   \
  X(Name, glCreateShaderProgramv, (Enum kind, int count, const char* const* strings))                        \
  X(Name, glCreateShaderProgramvEXT, (Enum kind, int count, const char* const* strings))                     \
  X(Name, glCreateShaderObjectARB, (Enum kind))                                                              \
  X(Name, glCreateProgramObjectARB, ())                                                                      \
  X(void, glShaderSourceARB, (Name shader, int count, const char* const* strings, const int* lengths))       \
  X(void, glCompileShaderARB, (Name shader))                                                                 \
  X(void, glDetachObjectARB, (Name program, Name shader))                                                    \
  X(void, glBindAttribLocationARB, (Name program, Name location, const char* name))                          \
  X(void, glLinkProgramARB, (Name program))                                                                  \
  X(void, glValidateProgramARB, (Name program))                                                              \
  X(void, glGetObjectParameterivARB, (Name object, Enum what, int* value))                                   \
  X(void, glGetObjectParameterfvARB, (Name object, Enum what, float* value))                                 \
  X(void, glGetInfoLogARB, (Name object, int size, int* length, char* log))                                  \
  X(void, glDeleteObjectARB, (Name object))                                                                  \
  X(void, glNamedStringARB, (Enum kind, int name_length, const char* name, int length, const char* text))
#define LARDER_GL_CALLED(X)                                                                            \
  X(const unsigned char*, glGetString, (Enum name))                                                    \
  X(const unsigned char*, glGetStringi, (Enum name, Name index))                                       \
  X(void, glGetIntegerv, (Enum name, int* value))                                                      \
  X(Enum, glGetError, ())                                                                              \
  X(unsigned char, glIsShader, (Name shader))                                                          \
  X(unsigned char, glIsProgram, (Name program))                                                        \
  X(void, glGetAttachedShaders, (Name program, int size, int* count, Name* shaders))                   \
  X(unsigned char, glIsNamedStringARB, (int length, const char* name))                                 \
  X(void, glGetNamedStringivARB, (int length, const char* name, Enum what, int* value))                \
  X(void, glGetNamedStringARB, (int name_length, const char* name, int size, int* length, char* text)) \
  X(void, glGetProgramBinary, (Name program, int size, int* length, Enum* format, void* binary))       \
  X(void, glGetProgramBinaryOES, (Name program, int size, int* length, Enum* format, void* binary))
#define LARDER_EGL_HOOKED(X)                                                                    \
  X(Proc, eglGetProcAddress, (const char* name))                                                \
  X(void*, eglCreateContext, (void* display, void* config, void* share, const int* attributes)) \
  X(void, eglSetBlobCacheFuncsANDROID, (void* display, SetBlob set, GetBlob get))
#define LARDER_EGL_CALLED(X)         \
  X(void*, eglGetCurrentContext, ()) \
  X(void*, eglGetCurrentDisplay, ()) \
  X(const char*, eglQueryString, (void* display, int name))
#define LARDER_GLX_HOOKED(X)                                                                      \
  X(Proc, glXGetProcAddress, (const unsigned char* name))                                         \
  X(Proc, glXGetProcAddressARB, (const unsigned char* name))                                      \
  X(void*, glXCreateContext, (void* display, void* visual, void* share, int direct))              \
  X(void*, glXCreateNewContext, (void* display, void* config, int kind, void* share, int direct)) \
  X(void*, glXCreateContextAttribsARB,                                                            \
    (void* display, void* config, void* share, int direct, const int* attributes))
#define LARDER_GLX_CALLED(X) X(void*, glXGetCurrentContext, ())

// NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration is made of them
#define LARDER_GL_MEMBER(result, name, parameters) result(*name) parameters = nullptr;
struct Functions {
  LARDER_GL_HOOKED(LARDER_GL_MEMBER)
  LARDER_GL_CALLED(LARDER_GL_MEMBER)
};
struct EglFunctions {
  LARDER_EGL_HOOKED(LARDER_GL_MEMBER)
  LARDER_EGL_CALLED(LARDER_GL_MEMBER)
};
struct GlxFunctions {
  LARDER_GLX_HOOKED(LARDER_GL_MEMBER)
  LARDER_GLX_CALLED(LARDER_GL_MEMBER)
};
#undef LARDER_GL_MEMBER

// The next dlsym in line, other layers' included.
void* next_dlsym(void* library, const char* name) noexcept;
void* next_dlsym_function() noexcept;

// Null as long as this process has none of them.
const Functions* functions() noexcept;
const EglFunctions* egl() noexcept;
const GlxFunctions* glx() noexcept;

// Whether `function` lies in one of the libraries by which systems offer OpenGL.
bool is_systems(void* function) noexcept;
// Whether it lies in the layer itself.
bool is_ours(void* function) noexcept;

}  // namespace larder::gl
