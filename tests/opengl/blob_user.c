/* Links two programs by an EGL that keeps blobs, and says how many of them were compiled: `blob_user
   none|before|after`. With `before` and `after` it keeps blobs itself, from before or from between its
   programs. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef unsigned U;
typedef void* (*get_proc)(const char*);
static get_proc find;
#define CALL(result, name, ...) ((result(*)(__VA_ARGS__))find(name))

static int own_sets, own_gets;
static void own_set(const void* key, long key_size, const void* value, long value_size) {
  (void)key, (void)key_size, (void)value, (void)value_size;
  ++own_sets;
}
static long own_get(const void* key, long key_size, void* value, long value_size) {
  (void)key, (void)key_size, (void)value, (void)value_size;
  ++own_gets;
  return 0;
}

static U shader(U kind, const char* text) {
  const U made = CALL(U, "glCreateShader", U)(kind);
  CALL(void, "glShaderSource", U, int, const char**, const int*)(made, 1, &text, NULL);
  CALL(void, "glCompileShader", U)(made);
  return made;
}
static int link_one(const char* text) {
  const U made = CALL(U, "glCreateProgram", void)();
  int good = 0;
  CALL(void, "glAttachShader", U, U)(made, shader(0x8B31, "a vertex shader"));
  CALL(void, "glAttachShader", U, U)(made, shader(0x8B30, text));
  CALL(void, "glLinkProgram", U)(made);
  CALL(void, "glGetProgramiv", U, U, int*)(made, 0x8B82, &good);
  return good;
}

int main(int count, char** words) {
  void* egl = dlopen("libEGL.so.1", RTLD_NOW);
  void *display, *context;
  int good;
  if (count != 2 || egl == NULL) return 2;
  find = (get_proc)dlsym(egl, "eglGetProcAddress");
#define EGL(result, name, ...) ((result(*)(__VA_ARGS__))dlsym(egl, name))
  display = EGL(void*, "eglGetPlatformDisplay", U, void*, const long*)(1, NULL, NULL);
  context = EGL(void*, "eglCreateContext", void*, void*, void*, const int*)(display, NULL, NULL, NULL);
  EGL(U, "eglMakeCurrent", void*, void*, void*, void*)(display, NULL, NULL, context);
#define KEEP                                                                                       \
  CALL(void, "eglSetBlobCacheFuncsANDROID", void*, void (*)(const void*, long, const void*, long), \
       long (*)(const void*, long, void*, long))                                                   \
  (display, own_set, own_get)
  if (strcmp(words[1], "before") == 0) KEEP;
  good = link_one("the first");
  if (strcmp(words[1], "after") == 0) KEEP;
  good += link_one("the second");
  if (strcmp(words[1], "none") != 0) KEEP; /* twice is an error */
  printf("%d good, %d compiled, %d from blobs, own: %d asked %d kept, error %x\n", good,
         CALL(int, "fakeCount", int)(0), CALL(int, "fakeCount", int)(1), own_gets, own_sets,
         (U)EGL(int, "eglGetError", void)());
  return 0;
}
