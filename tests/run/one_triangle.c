/* A program that knows nothing of larder: it draws with two shaders into a buffer of its own, by OpenGL ES
   without a screen, and says what colour came out. It links no OpenGL: 77 where there is none. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

typedef void* (*get_proc)(const char*);
static void* egl;
static get_proc find;

static void* need(const char* name) {
  void* function = dlsym(egl, name);
  return function != NULL ? function : find(name);
}
#define CALL(result, name, ...) ((result(*)(__VA_ARGS__))need(name))

enum {
  kPlatformSurfaceless = 0x31DD,
  kEs = 0x30A0,
  kNone = 0x3038,
  kVersion = 0x3098,
  kTexture = 0x0DE1,
  kRgba = 0x1908,
  kByte = 0x1401,
  kFloat = 0x1406,
  kVertexShader = 0x8B31,
  kFragmentShader = 0x8B30,
  kFramebuffer = 0x8D40,
  kColour = 0x8CE0,
  kTriangles = 4,
  kLinked = 0x8B82,
  kSize = 16
};

static unsigned shader(unsigned kind, const char* text) {
  unsigned made = CALL(unsigned, "glCreateShader", unsigned)(kind);
  CALL(void, "glShaderSource", unsigned, int, const char**, const int*)(made, 1, &text, NULL);
  CALL(void, "glCompileShader", unsigned)(made);
  return made;
}

int main(void) {
  static const float corners[] = {-1, -1, 3, -1, -1, 3};
  const int es3[] = {kVersion, 3, kNone};
  unsigned char pixels[kSize * kSize * 4];
  unsigned long sum = 0;
  unsigned texture = 0, buffer = 0, program;
  int linked = 0, i;
  void *display, *context;
  egl = dlopen("libEGL.so.1", RTLD_NOW);
  if (egl == NULL) return 77;
  find = (get_proc)dlsym(egl, "eglGetProcAddress");
  if (find == NULL || find("eglGetPlatformDisplayEXT") == NULL) return 77;
  display =
      CALL(void*, "eglGetPlatformDisplayEXT", unsigned, void*, const int*)(kPlatformSurfaceless, NULL, NULL);
  if (display == NULL || !CALL(unsigned, "eglInitialize", void*, int*, int*)(display, NULL, NULL)) return 77;
  CALL(unsigned, "eglBindAPI", unsigned)(kEs);
  context = CALL(void*, "eglCreateContext", void*, void*, void*, const int*)(display, NULL, NULL, es3);
  if (context == NULL ||
      !CALL(unsigned, "eglMakeCurrent", void*, void*, void*, void*)(display, NULL, NULL, context))
    return 77;

  CALL(void, "glGenTextures", int, unsigned*)(1, &texture);
  CALL(void, "glBindTexture", unsigned, unsigned)(kTexture, texture);
  CALL(void, "glTexImage2D", unsigned, int, int, int, int, int, unsigned, unsigned, const void*)
  (kTexture, 0, kRgba, kSize, kSize, 0, kRgba, kByte, NULL);
  CALL(void, "glGenFramebuffers", int, unsigned*)(1, &buffer);
  CALL(void, "glBindFramebuffer", unsigned, unsigned)(kFramebuffer, buffer);
  CALL(void, "glFramebufferTexture2D", unsigned, unsigned, unsigned, unsigned, int)
  (kFramebuffer, kColour, kTexture, texture, 0);

  program = CALL(unsigned, "glCreateProgram", void)();
  CALL(void, "glAttachShader", unsigned, unsigned)
  (program, shader(kVertexShader,
                   "attribute vec2 at; varying vec2 place;\n"
                   "void main() { place = at; gl_Position = vec4(at, 0.0, 1.0); }\n"));
  CALL(void, "glAttachShader", unsigned, unsigned)
  (program, shader(kFragmentShader,
                   "precision mediump float; varying vec2 place;\n"
                   "void main() { vec4 c = vec4(0.0);\n"
                   "  for (int i = 0; i < 8; ++i) c += vec4(abs(sin(place.x * float(i))), "
                   "cos(place.y), 0.25, 1.0) * 0.125;\n"
                   "  gl_FragColor = c; }\n"));
  CALL(void, "glBindAttribLocation", unsigned, unsigned, const char*)(program, 0, "at");
  CALL(void, "glLinkProgram", unsigned)(program);
  CALL(void, "glGetProgramiv", unsigned, unsigned, int*)(program, kLinked, &linked);
  if (!linked) return 1;
  CALL(void, "glUseProgram", unsigned)(program);
  CALL(void, "glVertexAttribPointer", unsigned, int, unsigned, unsigned char, int, const void*)
  (0, 2, kFloat, 0, 0, corners);
  CALL(void, "glEnableVertexAttribArray", unsigned)(0);
  CALL(void, "glViewport", int, int, int, int)(0, 0, kSize, kSize);
  CALL(void, "glDrawArrays", unsigned, int, int)(kTriangles, 0, 3);
  CALL(void, "glReadPixels", int, int, int, int, unsigned, unsigned, void*)
  (0, 0, kSize, kSize, kRgba, kByte, pixels);
  for (i = 0; i < (int)sizeof pixels; ++i) sum += (unsigned long)(i + 1) * pixels[i];
  printf("%lu\n", sum);
  /* Mesa writes its files on a thread of its own, and waits for it only when it is taken down in order. */
  CALL(unsigned, "eglMakeCurrent", void*, void*, void*, void*)(display, NULL, NULL, NULL);
  CALL(unsigned, "eglDestroyContext", void*, void*)(display, context);
  CALL(unsigned, "eglTerminate", void*)(display);
  return sum == 0 ? 1 : 0;
}
