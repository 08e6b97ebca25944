/* Links COUNT programs that differ, by OpenGL without a screen, and draws with each when told to: `client
   COUNT link|draw`. Says on its only line the processor time of linking and of drawing in milliseconds, and a
   sum over the pictures. 77: no OpenGL here. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

typedef void* (*get_proc)(const char*);
static get_proc find;
#define CALL(result, name, ...) ((result(*)(__VA_ARGS__))find(name))
enum {
  kSurfaceless = 0x31DD,
  kOpenGl = 0x30A2,
  kNone = 0x3038,
  kMajor = 0x3098,
  kMinor = 0x30FB,
  kVertex = 0x8B31,
  kFragment = 0x8B30,
  kCompiled = 0x8B81,
  kLinked = 0x8B82,
  kTexture = 0x0DE1,
  kRgba = 0x1908,
  kByte = 0x1401,
  kFramebuffer = 0x8D40,
  kColour = 0x8CE0,
  kTriangles = 4,
  kSize = 32
};

static double now(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
}

static unsigned shader(unsigned kind, const char* text) {
  const unsigned made = CALL(unsigned, "glCreateShader", unsigned)(kind);
  int good = 0;
  CALL(void, "glShaderSource", unsigned, int, const char**, const int*)(made, 1, &text, NULL);
  CALL(void, "glCompileShader", unsigned)(made);
  CALL(void, "glGetShaderiv", unsigned, unsigned, int*)(made, kCompiled, &good);
  if (!good) exit(1);
  return made;
}

int main(int count, char** words) {
  static const int version[] = {kMajor, 3, kMinor, 3, kNone};
  const int programs = count > 1 ? atoi(words[1]) : 100;
  const int draws = count > 2 && strcmp(words[2], "draw") == 0;
  unsigned* made = calloc((size_t)programs, sizeof *made);
  unsigned texture = 0, buffer = 0, array = 0;
  unsigned long sum = 0;
  double begin, linked, drawn;
  int i, j;
  void *display, *context;
  void* const egl = dlopen("libEGL.so.1", RTLD_NOW);
  if (egl == NULL || made == NULL) return 77;
  find = (get_proc)dlsym(egl, "eglGetProcAddress");
  display = CALL(void*, "eglGetPlatformDisplayEXT", unsigned, void*, const int*)(kSurfaceless, NULL, NULL);
  if (display == NULL || !CALL(unsigned, "eglInitialize", void*, int*, int*)(display, NULL, NULL)) return 77;
  CALL(unsigned, "eglBindAPI", unsigned)(kOpenGl);
  context = CALL(void*, "eglCreateContext", void*, void*, void*, const int*)(display, NULL, NULL, version);
  if (context == NULL ||
      !CALL(unsigned, "eglMakeCurrent", void*, void*, void*, void*)(display, NULL, NULL, context))
    return 77;
  begin = now();
  for (i = 0; i < programs; ++i) {
    char vertex[512], fragment[1024];
    int good = 0;
    snprintf(vertex, sizeof vertex,
             "#version 330\nout vec2 place; void main() { vec2 at = vec2((gl_VertexID << 1) & 2, gl_VertexID "
             "& 2);\n"
             "place = at + %d.0; gl_Position = vec4(at * 2.0 - 1.0, 0.0, 1.0); }\n",
             i);
    snprintf(fragment, sizeof fragment,
             "#version 330\nin vec2 place; out vec4 colour; uniform float step;\n"
             "float noise(vec2 p) { return fract(sin(dot(p, vec2(12.9898 + %d.0, 78.233))) * 43758.5453); }\n"
             "void main() { vec4 sum = vec4(0.0);\n"
             "  for (int i = 0; i < 12; ++i) { float w = noise(place * float(i) + step);\n"
             "    sum += vec4(w, sin(w * 3.0), cos(w + place.x), 1.0) * 0.08; }\n"
             "  colour = mix(sum, vec4(place, 0.5, 1.0), smoothstep(0.2, 0.8, sum.x)); }\n",
             i);
    made[i] = CALL(unsigned, "glCreateProgram", void)();
    CALL(void, "glAttachShader", unsigned, unsigned)(made[i], shader(kVertex, vertex));
    CALL(void, "glAttachShader", unsigned, unsigned)(made[i], shader(kFragment, fragment));
    CALL(void, "glLinkProgram", unsigned)(made[i]);
    CALL(void, "glGetProgramiv", unsigned, unsigned, int*)(made[i], kLinked, &good);
    if (!good) return 1;
  }
  linked = now();
  if (draws) {
    unsigned char pixels[kSize * kSize * 4];
    CALL(void, "glGenTextures", int, unsigned*)(1, &texture);
    CALL(void, "glBindTexture", unsigned, unsigned)(kTexture, texture);
    CALL(void, "glTexImage2D", unsigned, int, int, int, int, int, unsigned, unsigned, const void*)
    (kTexture, 0, kRgba, kSize, kSize, 0, kRgba, kByte, NULL);
    CALL(void, "glGenFramebuffers", int, unsigned*)(1, &buffer);
    CALL(void, "glBindFramebuffer", unsigned, unsigned)(kFramebuffer, buffer);
    CALL(void, "glFramebufferTexture2D", unsigned, unsigned, unsigned, unsigned, int)
    (kFramebuffer, kColour, kTexture, texture, 0);
    CALL(void, "glGenVertexArrays", int, unsigned*)(1, &array);
    CALL(void, "glBindVertexArray", unsigned)(array);
    CALL(void, "glViewport", int, int, int, int)(0, 0, kSize, kSize);
    for (i = 0; i < programs; ++i) {
      CALL(void, "glUseProgram", unsigned)(made[i]);
      CALL(void, "glDrawArrays", unsigned, int, int)(kTriangles, 0, 3);
      CALL(void, "glReadPixels", int, int, int, int, unsigned, unsigned, void*)
      (0, 0, kSize, kSize, kRgba, kByte, pixels);
      for (j = 0; j < (int)sizeof pixels; ++j) sum += (unsigned long)(j + 1) * pixels[j];
    }
  }
  drawn = now();
  printf("%.1f %.1f %lu\n", linked - begin, drawn - linked, sum);
  CALL(unsigned, "eglMakeCurrent", void*, void*, void*, void*)(display, NULL, NULL, NULL);
  CALL(unsigned, "eglDestroyContext", void*, void*)(display, context);
  CALL(unsigned, "eglTerminate", void*)(display);
  return 0;
}
