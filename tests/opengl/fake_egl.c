/* An EGL with an OpenGL behind it that offers no program binaries and keeps its blobs by
   EGL_ANDROID_blob_cache, as drivers of phones do. Linking asks for a blob of the shaders' sources, and gives
   one when it had to compile. What it did is told by fakeCount: 0 compilations, 1 programs from blobs. Built
   as libEGL.so.1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*set_blob)(const void*, long, const void*, long);
typedef long (*get_blob)(const void*, long, void*, long);
typedef void (*proc)(void);
typedef unsigned U;

static set_blob set;
static get_blob get;
static int counts[2], error = 0x3000;
static char display_object, context_object;
static void* current;
static char sources[64][256];
static U attachments[64][2], linked[64], next = 1;

void* eglGetPlatformDisplay(U kind, void* native, const long* attributes) {
  (void)kind, (void)native, (void)attributes;
  return &display_object;
}
U eglInitialize(void* display, int* major, int* minor) {
  return (void)major, (void)minor, display != NULL;
}
U eglBindAPI(U api) {
  return api != 0;
}
void* eglCreateContext(void* display, void* config, void* share, const int* attributes) {
  (void)display, (void)config, (void)share, (void)attributes;
  return &context_object;
}
U eglMakeCurrent(void* display, void* draw, void* read, void* context) {
  (void)display, (void)draw, (void)read;
  current = context;
  return 1;
}
void* eglGetCurrentContext(void) {
  return current;
}
void* eglGetCurrentDisplay(void) {
  return current == NULL ? NULL : &display_object;
}
const char* eglQueryString(void* display, int name) {
  (void)display;
  return name == 0x3055 ? "EGL_KHR_one EGL_ANDROID_blob_cache EGL_KHR_two" : "fake";
}
int eglGetError(void) {
  const int now = error;
  error = 0x3000;
  return now;
}
static void set_functions(void* display, set_blob to_set, get_blob to_get) {
  if (display != &display_object || to_set == NULL || to_get == NULL || set != NULL) {
    error = 0x300C;
    return;
  }
  set = to_set;
  get = to_get;
}

static const unsigned char* get_string(U name) {
  return (const unsigned char*)(name == 0x1F02 ? "OpenGL ES 2.0 fake" : name == 0x1F03 ? "" : "fake");
}
static void get_integer(U name, int* value) {
  (void)name, *value = 0;
}
static U no_error(void) {
  return 0;
}
static unsigned char is_object(U name) {
  return name != 0 && name < next;
}
static U create(U kind) {
  return (void)kind, next++;
}
static U create_program(void) {
  return next++;
}
static void nothing(U name) {
  (void)name;
}
static void source(U shader, int count, const char* const* strings, const int* lengths) {
  (void)count, (void)lengths;
  snprintf(sources[shader], sizeof sources[shader], "%s", strings[0]);
}
static void shader_number(U shader, U what, int* value) {
  (void)shader, *value = what == 0x8B81;
}
static void log_of(U object, int size, int* length, char* log) {
  (void)object;
  if (size > 0) *log = '\0';
  if (length != NULL) *length = 0;
}
static void attach(U program, U shader) {
  attachments[program][attachments[program][0] != 0] = shader;
}
static void attached(U program, int size, int* count, U* shaders) {
  int i;
  for (*count = i = 0; i < 2 && i < size; ++i) {
    if (attachments[program][i] != 0) shaders[(*count)++] = attachments[program][i];
  }
}
static void detach(U program, U shader) {
  (void)program, (void)shader;
}
static void bind_attribute(U program, U location, const char* name) {
  (void)program, (void)location, (void)name;
}
static void program_number(U program, U what, int* value) {
  *value = what == 0x8B82 ? (int)linked[program] : what == 0x8B85 ? 2 : 0;
}
static void link_program(U program) {
  char key[600], blob[600], expected[600];
  const int size =
      snprintf(key, sizeof key, "%s|%s", sources[attachments[program][0]], sources[attachments[program][1]]);
  snprintf(expected, sizeof expected, "code of %s", key);
  linked[program] = 1;
  if (get != NULL) {
    /* First too little room, as a driver may. */
    long length = get(key, size, blob, 1);
    if (length > 0 && length < (long)sizeof blob) length = get(key, size, blob, sizeof blob);
    if (length == (long)strlen(expected) && memcmp(blob, expected, (size_t)length) == 0) {
      ++counts[1];
      return;
    }
  }
  ++counts[0];
  if (set != NULL) set(key, size, expected, (long)strlen(expected));
}
static int count_of(int which) {
  return counts[which];
}

proc eglGetProcAddress(const char* name) {
  static const struct {
    const char* name;
    proc function;
  } all[] = {{"glGetString", (proc)get_string},
             {"glGetIntegerv", (proc)get_integer},
             {"glGetError", (proc)no_error},
             {"glIsShader", (proc)is_object},
             {"glIsProgram", (proc)is_object},
             {"glCreateShader", (proc)create},
             {"glCreateProgram", (proc)create_program},
             {"glDeleteShader", (proc)nothing},
             {"glDeleteProgram", (proc)nothing},
             {"glCompileShader", (proc)nothing},
             {"glValidateProgram", (proc)nothing},
             {"glShaderSource", (proc)source},
             {"glGetShaderiv", (proc)shader_number},
             {"glGetShaderInfoLog", (proc)log_of},
             {"glGetProgramInfoLog", (proc)log_of},
             {"glAttachShader", (proc)attach},
             {"glGetAttachedShaders", (proc)attached},
             {"glDetachShader", (proc)detach},
             {"glBindAttribLocation", (proc)bind_attribute},
             {"glGetProgramiv", (proc)program_number},
             {"glLinkProgram", (proc)link_program},
             {"eglSetBlobCacheFuncsANDROID", (proc)set_functions},
             {"fakeCount", (proc)count_of}};
  size_t i;
  for (i = 0; i < sizeof all / sizeof *all; ++i) {
    if (strcmp(all[i].name, name) == 0) return all[i].function;
  }
  return NULL;
}
