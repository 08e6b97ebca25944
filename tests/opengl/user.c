/* A program that uses OpenGL and knows nothing of larder: it says everything of its shaders, programs and
   pictures that OpenGL tells, so that any difference shows. Usage: user WAY PARTS [TINT] WAY is how it comes
   by its functions: linked (when built with -DLINKED), egl, dlsym or glx. 77: no OpenGL here. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  kSurfaceless = 0x31DD,
  kOpenGl = 0x30A2,
  kNone = 0x3038,
  kMajor = 0x3098,
  kMinor = 0x30FB,
  kVertex = 0x8B31,
  kFragment = 0x8B30,
  kCompute = 0x91B9,
  kCompiled = 0x8B81,
  kLinked = 0x8B82,
  kLogLength = 0x8B84,
  kAttached = 0x8B85,
  kUniforms = 0x8B86,
  kAttributes = 0x8B89,
  kBlocks = 0x8A36,
  kBinaryLength = 0x8741,
  kSeparable = 0x8258,
  kRetrievable = 0x8257,
  kFeedbackCount = 0x8C83,
  kFeedbackMode = 0x8C7F,
  kBlockBinding = 0x8A3F,
  kWorkSize = 0x8267,
  kCompletion = 0x91B1,
  kTexture = 0x0DE1,
  kRgba = 0x1908,
  kByte = 0x1401,
  kFloat = 0x1406,
  kFramebuffer = 0x8D40,
  kColour = 0x8CE0,
  kTriangles = 4,
  kPoints = 0,
  kArray = 0x8892,
  kUniformBuffer = 0x8A11,
  kStorage = 0x90D2,
  kFeedbackBuffer = 0x8C8E,
  kDiscard = 0x8C89,
  kStatic = 0x88E4,
  kBarrier = 0x2000,
  kVertexBit = 1,
  kFragmentBit = 2,
  kSize = 16
};
typedef unsigned U;
typedef char C;

#define FUNCTIONS(X)                                                           \
  X(U, glGetError, (void))                                                     \
  X(U, glCreateShader, (U))                                                    \
  X(void, glShaderSource, (U, int, const C* const*, const int*))               \
  X(void, glCompileShader, (U))                                                \
  X(void, glGetShaderiv, (U, U, int*))                                         \
  X(void, glGetShaderInfoLog, (U, int, int*, C*))                              \
  X(void, glGetShaderSource, (U, int, int*, C*))                               \
  X(void, glDeleteShader, (U))                                                 \
  X(U, glCreateProgram, (void))                                                \
  X(void, glAttachShader, (U, U))                                              \
  X(void, glDetachShader, (U, U))                                              \
  X(void, glBindAttribLocation, (U, U, const C*))                              \
  X(void, glBindFragDataLocation, (U, U, const C*))                            \
  X(void, glBindFragDataLocationIndexed, (U, U, U, const C*))                  \
  X(void, glTransformFeedbackVaryings, (U, int, const C* const*, U))           \
  X(void, glProgramParameteri, (U, U, int))                                    \
  X(void, glLinkProgram, (U))                                                  \
  X(void, glValidateProgram, (U))                                              \
  X(void, glGetProgramiv, (U, U, int*))                                        \
  X(void, glGetProgramInfoLog, (U, int, int*, C*))                             \
  X(void, glUseProgram, (U))                                                   \
  X(void, glDeleteProgram, (U))                                                \
  X(void, glGetProgramBinary, (U, int, int*, U*, void*))                       \
  X(void, glProgramBinary, (U, U, const void*, int))                           \
  X(int, glGetUniformLocation, (U, const C*))                                  \
  X(int, glGetAttribLocation, (U, const C*))                                   \
  X(int, glGetFragDataLocation, (U, const C*))                                 \
  X(U, glGetUniformBlockIndex, (U, const C*))                                  \
  X(void, glGetActiveUniform, (U, U, int, int*, int*, U*, C*))                 \
  X(void, glGetActiveAttrib, (U, U, int, int*, int*, U*, C*))                  \
  X(void, glGetUniformfv, (U, int, float*))                                    \
  X(void, glGetUniformiv, (U, int, int*))                                      \
  X(void, glUniform1f, (int, float))                                           \
  X(void, glUniform2f, (int, float, float))                                    \
  X(void, glGetActiveUniformBlockiv, (U, U, U, int*))                          \
  X(void, glGetTransformFeedbackVarying, (U, U, int, int*, int*, U*, C*))      \
  X(void, glGenTextures, (int, U*))                                            \
  X(void, glBindTexture, (U, U))                                               \
  X(void, glTexImage2D, (U, int, int, int, int, int, U, U, const void*))       \
  X(void, glGenFramebuffers, (int, U*))                                        \
  X(void, glBindFramebuffer, (U, U))                                           \
  X(void, glFramebufferTexture2D, (U, U, U, U, int))                           \
  X(void, glGenVertexArrays, (int, U*))                                        \
  X(void, glBindVertexArray, (U))                                              \
  X(void, glGenBuffers, (int, U*))                                             \
  X(void, glBindBuffer, (U, U))                                                \
  X(void, glBufferData, (U, long, const void*, U))                             \
  X(void, glBindBufferBase, (U, U, U))                                         \
  X(void, glGetBufferSubData, (U, long, long, void*))                          \
  X(void, glVertexAttribPointer, (U, int, U, unsigned char, int, const void*)) \
  X(void, glEnableVertexAttribArray, (U))                                      \
  X(void, glViewport, (int, int, int, int))                                    \
  X(void, glDrawArrays, (U, int, int))                                         \
  X(void, glReadPixels, (int, int, int, int, U, U, void*))                     \
  X(void, glGenProgramPipelines, (int, U*))                                    \
  X(void, glBindProgramPipeline, (U))                                          \
  X(void, glUseProgramStages, (U, U, U))                                       \
  X(void, glProgramUniform1f, (U, int, float))                                 \
  X(void, glDispatchCompute, (U, U, U))                                        \
  X(void, glMemoryBarrier, (U))                                                \
  X(void, glBeginTransformFeedback, (U))                                       \
  X(void, glEndTransformFeedback, (void))                                      \
  X(void, glEnable, (U))                                                       \
  X(void, glDisable, (U))                                                      \
  X(unsigned char, glIsShader, (U))                                            \
  X(unsigned char, glIsProgram, (U))                                           \
  X(void, glFinish, (void))                                                    \
  X(void, glGetAttachedShaders, (U, int, int*, U*))                            \
  X(U, glCreateShaderProgramv, (U, int, const C* const*))                      \
  X(void, glNamedStringARB, (U, int, const C*, int, const C*))                 \
  X(void, glDeleteNamedStringARB, (int, const C*))                             \
  X(void, glCompileShaderIncludeARB, (U, int, const C* const*, const int*))    \
  X(U, glCreateShaderObjectARB, (U))                                           \
  X(U, glCreateProgramObjectARB, (void))                                       \
  X(void, glShaderSourceARB, (U, int, const C* const*, const int*))            \
  X(void, glCompileShaderARB, (U))                                             \
  X(void, glAttachObjectARB, (U, U))                                           \
  X(void, glDetachObjectARB, (U, U))                                           \
  X(void, glBindAttribLocationARB, (U, U, const C*))                           \
  X(void, glLinkProgramARB, (U))                                               \
  X(void, glValidateProgramARB, (U))                                           \
  X(void, glUseProgramObjectARB, (U))                                          \
  X(void, glGetObjectParameterivARB, (U, U, int*))                             \
  X(void, glGetObjectParameterfvARB, (U, U, float*))                           \
  X(void, glGetInfoLogARB, (U, int, int*, C*))                                 \
  X(void, glDeleteObjectARB, (U))
#define EGL_FUNCTIONS(X)                                        \
  X(void*, eglGetPlatformDisplay, (U, void*, const long*))      \
  X(U, eglInitialize, (void*, int*, int*))                      \
  X(U, eglBindAPI, (U))                                         \
  X(void*, eglCreateContext, (void*, void*, void*, const int*)) \
  X(U, eglMakeCurrent, (void*, void*, void*, void*))            \
  X(U, eglDestroyContext, (void*, void*))

#ifdef LINKED
#define DECLARE(result, name, parameters) extern result name parameters;
FUNCTIONS(DECLARE)
EGL_FUNCTIONS(DECLARE)
#else
#define DECLARE(result, name, parameters) static result(*name) parameters;
FUNCTIONS(DECLARE)
EGL_FUNCTIONS(DECLARE)
#endif

static void* display;
static void* context;
static const int kVersion45[] = {kMajor, 4, kMinor, 5, kNone};

#ifndef LINKED
typedef void* (*get_proc)(const char*);
static int find_all(void* library, get_proc proc, int is_egl) {
#define FIND(result, name, parameters)                             \
  *(void**)&name = library != NULL ? dlsym(library, #name) : NULL; \
  if (name == NULL && proc != NULL) *(void**)&name = proc(#name);  \
  if (name == NULL) return fprintf(stderr, "no %s\n", #name), 0;
  if (is_egl) {
    EGL_FUNCTIONS(FIND)
  } else {
    FUNCTIONS(FIND)
  }
  return 1;
}
#endif

static int start_egl(void) {
  display = eglGetPlatformDisplay(kSurfaceless, NULL, NULL);
  if (display == NULL || !eglInitialize(display, NULL, NULL) || !eglBindAPI(kOpenGl)) return 0;
  context = eglCreateContext(display, NULL, NULL, kVersion45);
  return context != NULL && eglMakeCurrent(display, NULL, NULL, context);
}

#ifndef LINKED
/* Through GLX with a window of one's own: X11 is loaded as well, so that nothing but larder stands before it.
 */
static int start_glx(void) {
  void* x = dlopen("libX11.so.6", RTLD_NOW);
  void* gl = dlopen("libGL.so.1", RTLD_NOW);
  static const int visual[] = {4 /* RGBA */, 5, 8, 8, 9, 8, 10, 8, 0};
  static const int config[] = {0x8010, 1, 0x8011, 1, 0};
  static const int version[] = {0x2091, 4, 0x2092, 5, 0x9126, 1, 0};
  get_proc proc;
  void *server, *info, **configs;
  unsigned long window;
  int count = 0;
  (void)visual;
  (void)info;
  if (x == NULL || gl == NULL) return 0;
  proc = (get_proc)dlsym(gl, "glXGetProcAddressARB");
  server = ((void* (*)(const char*))dlsym(x, "XOpenDisplay"))(NULL);
  if (server == NULL) return 0;
  window = ((unsigned long (*)(void*, unsigned long, int, int, U, U, U, unsigned long, unsigned long))dlsym(
      x, "XCreateSimpleWindow"))(server, ((unsigned long (*)(void*))dlsym(x, "XDefaultRootWindow"))(server),
                                 0, 0, kSize, kSize, 0, 0, 0);
  configs = ((void** (*)(void*, int, const int*, int*))proc("glXChooseFBConfig"))(server, 0, config, &count);
  if (configs == NULL || count == 0) return 0;
  context = ((void* (*)(void*, void*, void*, int, const int*))proc("glXCreateContextAttribsARB"))(
      server, configs[0], NULL, 1, version);
  if (context == NULL) return 0;
  if (!((int (*)(void*, unsigned long, void*))proc("glXMakeCurrent"))(server, window, context)) return 0;
  return find_all(NULL, proc, 0);
}
#endif

static int start(const char* way) {
#ifdef LINKED
  return strcmp(way, "linked") == 0 && start_egl();
#else
  void* egl;
  void* gl = NULL;
  get_proc proc;
  if (strcmp(way, "glx") == 0) return start_glx();
  egl = dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (egl == NULL) return 0;
  proc = (get_proc)dlsym(egl, "eglGetProcAddress");
  if (strcmp(way, "dlsym") == 0) {
    gl = dlopen("libGL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (gl == NULL) return 0;
    return find_all(egl, NULL, 1) && find_all(gl, NULL, 0) && start_egl();
  }
  return find_all(egl, proc, 1) && find_all(NULL, proc, 0) && start_egl();
#endif
}

static const char* tint = "0.25";

static U shader(U kind, const char* text) {
  const U made = glCreateShader(kind);
  glShaderSource(made, 1, &text, NULL);
  glCompileShader(made);
  return made;
}
static void say_shader(const char* what, U made) {
  char log[4096] = "";
  int good = -1, size = -1, length = -1;
  glGetShaderiv(made, kCompiled, &good);
  glGetShaderiv(made, kLogLength, &size);
  glGetShaderInfoLog(made, sizeof log, &length, log);
  printf("%s: compiled %d, log %d %d: %s\n", what, good, size, length, log);
  memset(log, 0, sizeof log);
  glGetShaderInfoLog(made, 5, &length, log);
  printf("  cut: %d %s\n", length, log);
}
static void say_program(const char* what, U made) {
  static const U kNumbers[] = {kLinked, kLogLength, kAttached,      kUniforms,    kAttributes,
                               kBlocks, kSeparable, kFeedbackCount, kFeedbackMode};
  char log[4096] = "";
  int value = -1, size = 0, length = 0;
  U i, kind = 0;
  printf("%s:", what);
  for (i = 0; i < sizeof kNumbers / sizeof *kNumbers; ++i) {
    value = -1;
    glGetProgramiv(made, kNumbers[i], &value);
    printf(" %d", value);
  }
  glGetProgramInfoLog(made, sizeof log, &length, log);
  printf(", log %d: %s\n", length, log);
  glGetProgramiv(made, kLinked, &value);
  if (!value) return;
  glGetProgramiv(made, kUniforms, &value);
  for (i = 0; i < (U)value; ++i) {
    float now[16] = {0};
    int location;
    glGetActiveUniform(made, i, sizeof log, &length, &size, &kind, log);
    location = glGetUniformLocation(made, log);
    if (location >= 0) glGetUniformfv(made, location, now);
    printf("  uniform %s %d %x at %d: %g %g %g %g\n", log, size, kind, location, now[0], now[1], now[2],
           now[3]);
  }
  glGetProgramiv(made, kAttributes, &value);
  for (i = 0; i < (U)value; ++i) {
    glGetActiveAttrib(made, i, sizeof log, &length, &size, &kind, log);
    printf("  attribute %s %d %x at %d\n", log, size, kind, glGetAttribLocation(made, log));
  }
  glGetProgramiv(made, kBlocks, &value);
  for (i = 0; i < (U)value; ++i) {
    int binding = -1;
    glGetActiveUniformBlockiv(made, i, kBlockBinding, &binding);
    printf("  block %u binding %d\n", i, binding);
  }
  glGetProgramiv(made, kFeedbackCount, &value);
  for (i = 0; i < (U)value; ++i) {
    glGetTransformFeedbackVarying(made, i, sizeof log, &length, &size, &kind, log);
    printf("  feedback %s %d %x\n", log, size, kind);
  }
}

static const char* kVertexText =
    "#version 450\n"
    "in vec2 at; in vec2 other; out vec2 place; uniform float scale = 1.5; uniform vec2 shift;\n"
    "layout(std140, binding = 3) uniform Block { vec4 more; };\n"
    "layout(std140) uniform Second { vec4 most; };\n"
    "void main() { place = at + other * 0.0 + more.xy + most.xy; gl_Position = vec4(at * scale + shift, 0.0, "
    "1.0); }\n";
static char* fragment_text(void) {
  char* text = NULL;
  if (asprintf(
          &text,
          "#version 450\n"
          "in vec2 place; out vec4 first; out vec4 second; uniform float gain = 0.5;\n"
          "layout(binding = 2) uniform sampler2D picture; uniform vec4 table[3] = vec4[3](vec4(1), "
          "vec4(0.5), vec4(0.25));\n"
          "void main() { vec4 sum = vec4(0.0); for (int i = 0; i < 3; ++i) sum += table[i] * sin(place.x * "
          "float(i));\n"
          "  second = sum * gain + texture(picture, place); first = vec4(fract(sum.x), %s, gain, 1.0); }\n",
          tint) < 0)
    abort();
  return text;
}

static U attached(U vertex, U fragment) {
  const U made = glCreateProgram();
  glAttachShader(made, vertex);
  glAttachShader(made, fragment);
  glBindAttribLocation(made, 4, "at");
  glBindAttribLocation(made, 2, "other");
  glBindFragDataLocation(made, 0, "first");
  glBindFragDataLocation(made, 1, "second");
  return made;
}

/* With the program or pipeline that is in use. */
static void draw_now(const char* what) {
  static const float corners[] = {-1, -1, 3, -1, -1, 3};
  unsigned char pixels[kSize * kSize * 4];
  unsigned long sum = 0;
  U buffer = 0, i;
  glGenBuffers(1, &buffer);
  glBindBuffer(kArray, buffer);
  glBufferData(kArray, sizeof corners, corners, kStatic);
  for (i = 0; i < 8; ++i) {
    glVertexAttribPointer(i, 2, kFloat, 0, 0, NULL);
    glEnableVertexAttribArray(i);
  }
  glViewport(0, 0, kSize, kSize);
  glDrawArrays(kTriangles, 0, 3);
  glReadPixels(0, 0, kSize, kSize, kRgba, kByte, pixels);
  for (i = 0; i < sizeof pixels; ++i) sum += (i + 1ul) * pixels[i];
  printf("%s draws %lu\n", what, sum);
}
static void draw(const char* what, U program) {
  glUseProgram(program);
  draw_now(what);
  glUseProgram(0);
}

static void basic(void) {
  char* text = fragment_text();
  const U vertex = shader(kVertex, kVertexText);
  const U fragment = shader(kFragment, text);
  U made;
  int size = 0;
  say_shader("vertex", vertex);
  say_shader("fragment", fragment);
  made = attached(vertex, fragment);
  glDeleteShader(vertex); /* as long as it is attached it stays */
  glLinkProgram(made);
  printf("still a shader: %d\n", glIsShader(vertex));
  say_program("basic", made);
  printf("outputs %d %d\n", glGetFragDataLocation(made, "first"), glGetFragDataLocation(made, "second"));
  draw("basic", made);
  glUseProgram(made);
  glUniform1f(glGetUniformLocation(made, "gain"), 0.125f);
  glUniform2f(glGetUniformLocation(made, "shift"), 0.5f, 0.25f);
  draw("with values", made);
  glValidateProgram(made);
  glGetShaderiv(fragment, 0x8B88, &size);
  printf("source of %d\n", size == (int)strlen(text) + 1);
  glDetachShader(made, vertex);
  printf("a shader: %d\n", glIsShader(vertex));
  say_program("detached", made);
  glDeleteProgram(made);
  printf("a program: %d\n", glIsProgram(made));
  free(text);
}

/* One vertex shader, two programs; attributes at other places. */
static void shared(void) {
  char* text = fragment_text();
  const U vertex = shader(kVertex, kVertexText);
  const U one = attached(vertex, shader(kFragment, text));
  const U two = attached(vertex, shader(kFragment,
                                        "#version 450\nin vec2 place; layout(location = 0) out vec4 first;\n"
                                        "void main() { first = vec4(place, 0.5, 1.0); }\n"));
  glBindAttribLocation(two, 1, "at");
  glLinkProgram(one);
  glLinkProgram(two);
  say_program("one", one);
  say_program("two", two);
  draw("two", two);
  free(text);
}

static void failing(void) {
  const U bad = shader(kFragment, "#version 450\nout vec4 c; void main() { c = nothing; }\n");
  const U half =
      shader(kFragment, "#version 450\nin vec3 missing; out vec4 c; void main() { c = vec4(missing, 1); }\n");
  const U vertex = shader(
      kVertex, "#version 450\nout vec2 missing; void main() { gl_Position = vec4(0); missing = vec2(0); }\n");
  U made = glCreateProgram();
  say_shader("bad", bad);
  glAttachShader(made, vertex);
  glAttachShader(made, bad);
  glLinkProgram(made);
  say_program("with a bad shader", made);
  glDetachShader(made, bad);
  glAttachShader(made, half);
  glLinkProgram(made);
  say_program("that does not fit", made);
  glLinkProgram(0);
  glLinkProgram(vertex);
  glCompileShader(made);
  printf("errors %x %x\n", glGetError(), glGetError());
}

static void warning(void) {
  const char* parts[] = {"#version 450\n", "out vec4 c; void main() { float u; c = vec4(u); }\n"};
  const U fragment = glCreateShader(kFragment);
  const U vertex = shader(kVertex, "#version 450\nvoid main() { float u; gl_Position = vec4(u); }\n");
  const U made = glCreateProgram();
  glShaderSource(fragment, 2, parts, NULL);
  glCompileShader(fragment);
  say_shader("that warns", fragment);
  glAttachShader(made, vertex);
  glAttachShader(made, fragment);
  glLinkProgram(made);
  say_program("of what warns", made);
}

static U separable(U kind, const char* text) {
  const U made = glCreateProgram();
  const U one = shader(kind, text);
  glProgramParameteri(made, kSeparable, 1);
  glAttachShader(made, one);
  glLinkProgram(made);
  glDetachShader(made, one);
  glDeleteShader(one);
  return made;
}
static void pipelines(void) {
  const U vertex = separable(
      kVertex,
      "#version 450\nout gl_PerVertex { vec4 gl_Position; }; layout(location = 4) in vec2 at;\n"
      "layout(location = 0) out vec2 place; void main() { place = at; gl_Position = vec4(at, 0, 1); }\n");
  const U fragment =
      separable(kFragment,
                "#version 450\nlayout(location = 0) in vec2 place; out vec4 c; uniform float gain = 0.75;\n"
                "void main() { c = vec4(fract(place * gain), gain, 1); }\n");
  U pipeline = 0;
  say_program("first half", vertex);
  say_program("second half", fragment);
  glGenProgramPipelines(1, &pipeline);
  glUseProgramStages(pipeline, kVertexBit, vertex);
  glUseProgramStages(pipeline, kFragmentBit, fragment);
  glBindProgramPipeline(pipeline);
  draw("the pipeline", 0);
  glProgramUniform1f(fragment, glGetUniformLocation(fragment, "gain"), 0.375f);
  draw("the pipeline with values", 0);
  glBindProgramPipeline(0);
}

static void feedback(void) {
  const char* varyings[] = {"twice", "thrice"};
  const U made = glCreateProgram();
  float out[6] = {0};
  U buffer = 0;
  glAttachShader(made, shader(kVertex,
                              "#version 450\nout float twice; out float thrice; void main() {\n"
                              "  twice = float(gl_VertexID) * 2.0; thrice = float(gl_VertexID) * 3.0; "
                              "gl_Position = vec4(0); }\n"));
  glTransformFeedbackVaryings(made, 2, varyings, 0x8C8C);
  glLinkProgram(made);
  say_program("feedback", made);
  glGenBuffers(1, &buffer);
  glBindBuffer(kFeedbackBuffer, buffer);
  glBufferData(kFeedbackBuffer, sizeof out, NULL, kStatic);
  glBindBufferBase(kFeedbackBuffer, 0, buffer);
  glUseProgram(made);
  glEnable(kDiscard);
  glBeginTransformFeedback(kPoints);
  glDrawArrays(kPoints, 0, 3);
  glEndTransformFeedback();
  glDisable(kDiscard);
  glGetBufferSubData(kFeedbackBuffer, 0, sizeof out, out);
  printf("feedback %g %g %g %g %g %g\n", out[0], out[1], out[2], out[3], out[4], out[5]);
  glUseProgram(0);
}

static void compute(void) {
  const U made = glCreateProgram();
  int size[3] = {0};
  U out[4] = {0}, buffer = 0;
  glAttachShader(
      made,
      shader(
          kCompute,
          "#version 450\nlayout(local_size_x = 4) in; layout(std430, binding = 0) buffer B { uint v[]; };\n"
          "uniform uint factor = 7u; void main() { v[gl_GlobalInvocationID.x] = gl_GlobalInvocationID.x * "
          "factor; }\n"));
  glLinkProgram(made);
  say_program("compute", made);
  glGetProgramiv(made, kWorkSize, size);
  glGenBuffers(1, &buffer);
  glBindBuffer(kStorage, buffer);
  glBufferData(kStorage, sizeof out, NULL, kStatic);
  glBindBufferBase(kStorage, 0, buffer);
  glUseProgram(made);
  glDispatchCompute(1, 1, 1);
  glMemoryBarrier(kBarrier);
  glGetBufferSubData(kStorage, 0, sizeof out, out);
  printf("compute of %d %d %d: %u %u %u %u\n", size[0], size[1], size[2], out[0], out[1], out[2], out[3]);
  glUseProgram(0);
}

/* What programs do that keep binaries themselves. */
static void own_binaries(void) {
  char* text = fragment_text();
  const U made = attached(shader(kVertex, kVertexText), shader(kFragment, text));
  const U again = glCreateProgram();
  char* binary;
  int size = 0, length = 0, good = 0;
  U format = 0;
  glProgramParameteri(made, kRetrievable, 1);
  glLinkProgram(made);
  glGetProgramiv(made, kBinaryLength, &size);
  binary = malloc((size_t)size + 1);
  glGetProgramBinary(made, size, &length, &format, binary);
  printf("its own binary: %d\n", length > 0 && length <= size);
  glProgramBinary(again, format, binary, length);
  say_program("from its own binary", again);
  draw("from its own binary", again);
  binary[length / 2] = (char)~binary[length / 2];
  glProgramBinary(again, format, binary, length);
  glGetProgramiv(again, kLinked, &good);
  printf("from a damaged one: %d\n", good);
  while (glGetError() != 0) {
  }
  free(binary);
  free(text);
}

/* Linked again while it is in use, with other locations; a source that changes after it was compiled. */
static void again(void) {
  char* text = fragment_text();
  const char* other = "#version 450\nthis is no source";
  const U fragment = shader(kFragment, text);
  const U inverse = shader(kFragment,
                           "#version 450\nin vec2 place; layout(location = 0) out vec4 first;\n"
                           "void main() { first = vec4(1.0 - fract(place), 0.75, 1.0); }\n");
  const U vertex = shader(kVertex, kVertexText);
  const U made = attached(vertex, fragment);
  U next;
  glLinkProgram(made);
  glUseProgram(made);
  glBindAttribLocation(made, 5, "at");
  glLinkProgram(made);
  glUniform1f(glGetUniformLocation(made, "gain"), 0.125f);
  draw_now("linked again and in use");
  say_program("linked again", made);
  glUseProgram(made);
  glDetachShader(made, fragment);
  glAttachShader(made, inverse);
  glLinkProgram(made);
  draw_now("another program by then, and in use");
  glUseProgram(0);
  glDetachShader(made, inverse);
  glAttachShader(made, fragment);
  glLinkProgram(made);
  draw("linked again", made);
  glBindAttribLocation(made, 7, "at");
  glLinkProgram(made);
  say_program("linked again, not in use", made);
  draw("linked again, not in use", made);
  glShaderSource(fragment, 1, &other, NULL);
  next = attached(vertex, fragment);
  glBindAttribLocation(next, 6, "at");
  glLinkProgram(next);
  say_program("of a source that changed", next);
  glCompileShader(fragment);
  say_shader("changed", fragment);
  free(text);
}

/* A source that changes after it was compiled, and before it is linked; with another TINT a program of its
 * own. */
static void changed(void) {
  const char* text =
      "#version 450\nin vec2 place; out vec4 first; void main() { first = vec4(place, 0.25, 1.0); }\n";
  const char* other = "#version 450\nthis is no source";
  const U fragment = shader(kFragment, text);
  const U made = attached(shader(kVertex, kVertexText), fragment);
  glShaderSource(fragment, 1, &other, NULL);
  glBindAttribLocation(made, (U)(atof(tint) * 8), "at");
  glLinkProgram(made);
  say_program("of a source that changed before", made);
}

/* Linked again while a pipeline draws with it. */
static void again_in_a_pipeline(void) {
  const U vertex = shader(
      kVertex,
      "#version 450\nout gl_PerVertex { vec4 gl_Position; }; in vec2 at;\n"
      "layout(location = 0) out vec2 place; void main() { place = at; gl_Position = vec4(at, 0, 1); }\n");
  const U fragment = separable(kFragment,
                               "#version 450\nlayout(location = 0) in vec2 place; out vec4 c;\n"
                               "void main() { c = vec4(fract(place), 0.5, 1); }\n");
  const U made = glCreateProgram();
  U pipeline = 0;
  glProgramParameteri(made, kSeparable, 1);
  glAttachShader(made, vertex);
  glBindAttribLocation(made, 3, "at");
  glLinkProgram(made);
  glGenProgramPipelines(1, &pipeline);
  glUseProgramStages(pipeline, kVertexBit, made);
  glUseProgramStages(pipeline, kFragmentBit, fragment);
  glBindProgramPipeline(pipeline);
  draw("before", 0);
  glBindAttribLocation(made, 5, "at");
  glLinkProgram(made);
  say_program("linked again in a pipeline", made);
  draw("linked again in a pipeline", 0);
  glBindProgramPipeline(0);
}

/* Programs of one call each, with a log of their own, and one that does not compile. */
static void one_call(void) {
  const char* vertex[] = {"#version 450\nout gl_PerVertex { vec4 gl_Position; };\n",
                          "layout(location = 4) in vec2 at; layout(location = 0) out vec2 place;\n",
                          "void main() { place = at; gl_Position = vec4(at, 0, 1); }\n"};
  char* text = NULL;
  const char* bad = "#version 450\nvoid main() { nothing; }\n";
  U pipeline = 0, first, second, third;
  if (asprintf(&text,
               "#version 450\nlayout(location = 0) in vec2 place; out vec4 c; uniform float gain = %s;\n"
               "void main() { float u; c = vec4(fract(place * gain), gain, 1) + u * 0.0; }\n",
               tint) < 0)
    abort();
  first = glCreateShaderProgramv(kVertex, 3, vertex);
  second = glCreateShaderProgramv(kFragment, 1, (const char* const*)&text);
  third = glCreateShaderProgramv(kFragment, 1, &bad);
  say_program("of one call", first);
  say_program("of another call", second);
  say_program("of a call that fails", third);
  printf("names %u %u %u\n", second - first, third - second, glCreateShaderProgramv(7, 1, &bad));
  printf("error %x\n", glGetError());
  glGenProgramPipelines(1, &pipeline);
  glUseProgramStages(pipeline, kVertexBit, first);
  glUseProgramStages(pipeline, kFragmentBit, second);
  glBindProgramPipeline(pipeline);
  draw("of two calls", 0);
  glBindProgramPipeline(0);
  free(text);
}

/* Sources that include named strings, which change, go, and are searched for in other places. */
static void including(void) {
  static const char* kText =
      "#version 450\n#extension GL_ARB_shading_language_include : require\n"
      "#include \"colour.glsl\"\nin vec2 place; out vec4 first;\n"
      "void main() { first = vec4(fract(place), colour(), 1.0); }\n";
  static const char* kPaths[] = {"/one", "/two"};
  const U vertex = shader(kVertex, kVertexText);
  char* text = NULL;
  int i;
  if (asprintf(&text, "float colour() { return %s; }\n", tint) < 0) abort();
  for (i = 0; i < 6; ++i) {
    char what[32];
    const U fragment = glCreateShader(kFragment);
    U made;
    if (i == 0) glNamedStringARB(0x8DAE, -1, "/one/colour.glsl", -1, text);
    if (i == 1)
      glNamedStringARB(0x8DAE, 16, "/two/colour.glsl and more", 31, "float colour() { return 0.5; }\nx");
    if (i == 3)
      glNamedStringARB(0x8DAE, -1, "/one/../one/colour.glsl", -1, "float colour() { return 0.125; }\n");
    if (i == 4) glDeleteNamedStringARB(-1, "/one/colour.glsl");
    if (i == 5) glDeleteNamedStringARB(-1, "/two/colour.glsl");
    glShaderSource(fragment, 1, &kText, NULL);
    if (i == 2) kPaths[0] = "/two";
    if (i == 3) kPaths[0] = "/one";
    glCompileShaderIncludeARB(fragment, 2, kPaths, NULL);
    snprintf(what, sizeof what, "including %d", i);
    say_shader(what, fragment);
    made = attached(vertex, fragment);
    glLinkProgram(made);
    say_program(what, made);
    if (i < 5) draw(what, made);
  }
  glNamedStringARB(0x8DAE, -1, "/one/colour.glsl", -1, text);
  glNamedStringARB(0x8DAE, -1, "no path", -1, text);
  printf("error %x\n", glGetError());
  free(text);
}

static void say_object(const char* what, U object) {
  char log[1024] = "";
  float number = -1;
  int linked = -1, compiled = -1, size = -1, length = -1;
  glGetObjectParameterivARB(object, kCompiled, &compiled);
  glGetObjectParameterivARB(object, kLogLength, &size);
  glGetObjectParameterfvARB(object, kLogLength, &number);
  glGetInfoLogARB(object, sizeof log, &length, log);
  glGetObjectParameterivARB(object, kLinked, &linked);
  printf("%s: %d %d, log %d %g %d: %s; error %d\n", what, compiled, linked, size, number, length, log,
         glGetError() != 0);
}
/* By the functions of GL_ARB_shader_objects, which only contexts with everything old have. */
static void older_objects(void) {
  static const int kCompatible[] = {kMajor, 3, kMinor, 0, 0x30FD, 2, kNone};
  const char* vertex_text =
      "#version 120\nattribute vec2 at; varying vec2 place;\n"
      "void main() { place = at; gl_Position = vec4(at, 0.0, 1.0); }\n";
  char* text = NULL;
  void* mine = eglCreateContext(display, NULL, NULL, kCompatible);
  U texture = 0, buffer = 0, vertex, fragment, made;
  if (mine == NULL || !eglMakeCurrent(display, NULL, NULL, mine)) {
    printf("nothing older here\n");
    return;
  }
  if (asprintf(&text,
               "#version 120\nvarying vec2 place; uniform float gain;\n"
               "void main() { gl_FragColor = vec4(fract(place), %s + gain, 1.0); }\n",
               tint) < 0)
    abort();
  glGenTextures(1, &texture);
  glBindTexture(kTexture, texture);
  glTexImage2D(kTexture, 0, kRgba, kSize, kSize, 0, kRgba, kByte, NULL);
  glGenFramebuffers(1, &buffer);
  glBindFramebuffer(kFramebuffer, buffer);
  glFramebufferTexture2D(kFramebuffer, kColour, kTexture, texture, 0);
  vertex = glCreateShaderObjectARB(kVertex);
  fragment = glCreateShaderObjectARB(kFragment);
  made = glCreateProgramObjectARB();
  glShaderSourceARB(vertex, 1, &vertex_text, NULL);
  glShaderSourceARB(fragment, 1, (const char* const*)&text, NULL);
  glCompileShaderARB(vertex);
  glCompileShaderARB(fragment);
  say_object("older shader", fragment);
  glAttachObjectARB(made, vertex);
  glAttachObjectARB(made, fragment);
  glBindAttribLocationARB(made, 2, "at");
  glLinkProgramARB(made);
  say_object("older program", made);
  say_program("older program", made);
  glUseProgramObjectARB(made);
  draw_now("older program");
  glBindAttribLocationARB(made, 4, "at");
  glLinkProgramARB(made);
  glUniform1f(glGetUniformLocation(made, "gain"), 0.125f);
  draw_now("older program, linked again");
  glUseProgramObjectARB(0);
  glValidateProgramARB(made);
  glDetachObjectARB(made, fragment);
  glDeleteObjectARB(fragment);
  printf("a shader: %d\n", glIsShader(fragment));
  say_object("gone", fragment);
  glDeleteObjectARB(vertex);
  glDeleteObjectARB(made);
  printf("a program: %d\n", glIsProgram(made));
  printf("older errors %x\n", glGetError());
  eglMakeCurrent(display, NULL, NULL, context);
  eglDestroyContext(display, mine);
  free(text);
}

static void* in_thread(void* number) {
  char text[512];
  U vertex, fragment, made;
  int good = 0, i;
  void* mine;
  eglBindAPI(kOpenGl);
  mine = eglCreateContext(display, NULL, context, kVersion45);
  if (mine == NULL || !eglMakeCurrent(display, NULL, NULL, mine)) return NULL;
  for (i = 0; i < 8; ++i) {
    snprintf(text, sizeof text, "#version 450\nout vec4 c; void main() { c = vec4(%d.0 / 9.0, %s, 0, 1); }\n",
             (i + (int)(long)number) % 4, tint);
    vertex = shader(kVertex, "#version 450\nin vec4 at; void main() { gl_Position = at; }\n");
    fragment = shader(kFragment, text);
    made = glCreateProgram();
    glAttachShader(made, vertex);
    glAttachShader(made, fragment);
    glLinkProgram(made);
    glGetProgramiv(made, kLinked, &good);
    if (!good) return NULL;
    glDeleteShader(vertex);
    glDeleteShader(fragment);
    glDeleteProgram(made);
  }
  eglMakeCurrent(display, NULL, NULL, NULL);
  eglDestroyContext(display, mine);
  return &display;
}
static void threads(void) {
  pthread_t all[4];
  int i, good = 0;
  for (i = 0; i < 4; ++i) pthread_create(&all[i], NULL, in_thread, (void*)(long)i);
  for (i = 0; i < 4; ++i) {
    void* result = NULL;
    pthread_join(all[i], &result);
    good += result != NULL;
  }
  printf("threads %d\n", good);
}

static void forks(void) {
  int status = -1;
  pid_t child;
  fflush(stdout);
  child = fork();
  if (child == 0) _exit(7);
  waitpid(child, &status, 0);
  printf("child %d\n", WEXITSTATUS(status));
}

static void at_the_end(void) {
  char* text = fragment_text();
  const U made = attached(shader(kVertex, kVertexText), shader(kFragment, text));
  glLinkProgram(made);
  say_program("at the end", made);
  glDeleteProgram(made);
  free(text);
}

int main(int count, char** words) {
  const char* part;
  U texture[2] = {0}, buffer = 0, array = 0;
  if (count < 3) return 2;
  if (count > 3) tint = words[3];
  if (strchr(words[2], 'n') != NULL) { /* a program that never touches OpenGL */
    printf("%d %d\n", dlsym(RTLD_DEFAULT, "glLinkProgram") != NULL, dlsym(RTLD_DEFAULT, "glob") != NULL);
    return 0;
  }
  if (!start(words[1])) return 77;
  glGenTextures(1, texture);
  glBindTexture(kTexture, texture[0]);
  glTexImage2D(kTexture, 0, kRgba, kSize, kSize, 0, kRgba, kByte, NULL);
  glGenFramebuffers(1, &buffer);
  glBindFramebuffer(kFramebuffer, buffer);
  glFramebufferTexture2D(kFramebuffer, kColour, kTexture, texture[0], 0);
  glBindTexture(kTexture, 0);
  glGenVertexArrays(1, &array);
  glBindVertexArray(array);
  for (part = words[2]; *part != '\0'; ++part) {
    switch (*part) {
      case 'b':
        basic();
        break;
      case 's':
        shared();
        break;
      case 'f':
        failing();
        break;
      case 'w':
        warning();
        break;
      case 'p':
        pipelines();
        break;
      case 't':
        feedback();
        break;
      case 'c':
        compute();
        break;
      case 'o':
        own_binaries();
        break;
      case 'r':
        again();
        break;
      case 'v':
        changed();
        break;
      case 'g':
        again_in_a_pipeline();
        break;
      case 'x':
        one_call();
        break;
      case 'i':
        including();
        break;
      case 'a':
        older_objects();
        break;
      case 'h':
        threads();
        break;
      case 'k':
        forks();
        break;
      case 'e':
        atexit(at_the_end);
        break;
      default:
        return 2;
    }
  }
  printf("errors %x\n", glGetError());
  glFinish();
  return 0;
}
