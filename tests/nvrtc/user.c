// A program that uses NVRTC as its users do and knows nothing of larder. Compiled by nvrtc_test.sh twice:
// linked to libnvrtc, or, with -DLOADED, loading the one that LIBRARY names. Usage: user MODE SOURCE
// OUTPUT [OPTION...] What the compiler gave goes to OUTPUT; the exit code is nvrtcCompileProgram's.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void* Program;
#define FUNCTIONS(DO)                                                                   \
  DO(int, nvrtcVersion, (int*, int*))                                                   \
  DO(int, nvrtcCreateProgram,                                                           \
     (Program*, const char*, const char*, int, const char* const*, const char* const*)) \
  DO(int, nvrtcDestroyProgram, (Program*))                                              \
  DO(int, nvrtcCompileProgram, (Program, int, const char* const*))                      \
  DO(int, nvrtcGetPTXSize, (Program, size_t*))                                          \
  DO(int, nvrtcGetPTX, (Program, char*))                                                \
  DO(int, nvrtcGetCUBINSize, (Program, size_t*))                                        \
  DO(int, nvrtcGetCUBIN, (Program, char*))                                              \
  DO(int, nvrtcGetLTOIRSize, (Program, size_t*))                                        \
  DO(int, nvrtcGetLTOIR, (Program, char*))                                              \
  DO(int, nvrtcGetProgramLogSize, (Program, size_t*))                                   \
  DO(int, nvrtcGetProgramLog, (Program, char*))                                         \
  DO(int, nvrtcAddNameExpression, (Program, const char*))                               \
  DO(int, nvrtcGetLoweredName, (Program, const char*, const char**))

#ifdef LOADED
#define DECLARE(result, name, types) static result(*name) types;
#else
#define DECLARE(result, name, types) extern result name types;
#endif
FUNCTIONS(DECLARE)

static void* library;
static void load(void) {
#ifdef LOADED
  library = dlopen(getenv("LIBRARY"), RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(99);
  }
#define FIND(result, name, types) *(void**)&name = dlsym(library, #name);
  FUNCTIONS(FIND)
#endif
}

static char* read_file(const char* path) {
  FILE* const file = fopen(path, "rb");
  if (file == NULL) exit(98);
  char* const text = calloc(1, 1 << 20);
  if (fread(text, 1, (1 << 20) - 1, file) == 0) exit(98);
  fclose(file);
  return text;
}

static void put(FILE* to, const char* what, Program program, int (*size_of)(Program, size_t*),
                int (*get)(Program, char*)) {
  size_t size = 777;
  int code = size_of(program, &size);
  char* const bytes = calloc(1, size + 1);
  const int got = get(program, bytes);
  fprintf(to, "%s %d %d %zu\n", what, code, got, size);
  fwrite(bytes, 1, size, to);
  free(bytes);
}

static const char* source;
static const char* const* options;
static int option_count;

static int compile(const char* output) {
  FILE* const to = fopen(output, "wb");
  const char* const headers[] = {"#define FROM_MEMORY 11\n"};
  const char* const names[] = {"memory.h"};
  const char* const expression = getenv("EXPRESSION");
  Program program = NULL;
  fprintf(to, "create %d\n", nvrtcCreateProgram(&program, source, "user.cu", 1, headers, names));
  if (expression != NULL) fprintf(to, "add %d\n", nvrtcAddNameExpression(program, expression));
  const int code = nvrtcCompileProgram(program, option_count, options);
  fprintf(to, "compile %d\n", code);
  put(to, "log", program, nvrtcGetProgramLogSize, nvrtcGetProgramLog);
  put(to, "ptx", program, nvrtcGetPTXSize, nvrtcGetPTX);
  put(to, "cubin", program, nvrtcGetCUBINSize, nvrtcGetCUBIN);
  put(to, "lto", program, nvrtcGetLTOIRSize, nvrtcGetLTOIR);
  const char* lowered = NULL;
  if (expression != NULL) {
    fprintf(to, "lowered %d", nvrtcGetLoweredName(program, expression, &lowered));
    fprintf(to, " %s\n", lowered == NULL ? "-" : lowered);
  }
  fprintf(to, "other %d\n", nvrtcGetLoweredName(program, "nobody_asked", &lowered));
  fprintf(to, "late %d\n", nvrtcAddNameExpression(program, "nobody_asked"));
  fprintf(to, "null %d %d\n", nvrtcGetPTXSize(program, NULL), nvrtcCompileProgram(NULL, 0, NULL));
  fprintf(to, "destroy %d %d\n", nvrtcDestroyProgram(&program), nvrtcDestroyProgram(&program));
  fclose(to);
  return code;
}

static void* compile_one(void* output) {
  compile(output);
  return NULL;
}

int main(int count, char** words) {
  if (count < 4) return 97;
  const char* const mode = words[1];
  char* const output = words[3];
  source = read_file(words[2]);
  options = (const char* const*)words + 4;
  option_count = count - 4;
  load();
  if (strcmp(mode, "threads") == 0) {
    pthread_t threads[8];
    char names[8][256];
    for (int i = 0; i < 8; ++i) {
      snprintf(names[i], sizeof names[i], "%s.%d", output, i);
      pthread_create(&threads[i], NULL, compile_one, names[i]);
    }
    for (int i = 0; i < 8; ++i) pthread_join(threads[i], NULL);
  }
  if (strcmp(mode, "fork") == 0) {
    int status = 0;
    if (compile(output) != 0) return 96;
    if (fork() == 0) _exit(compile(output));
    wait(&status);
    return WEXITSTATUS(status);
  }
  if (strcmp(mode, "reload") == 0) {
    for (int i = 0; i < 3; ++i) {
      compile(output);
      if (library != NULL) dlclose(library);
      load();
    }
  }
#ifdef LOADED
  if (strcmp(mode, "both") == 0) {  // another libnvrtc beside the first, the first again, and both at once
    int (*const destroy)(Program*) = nvrtcDestroyProgram;
    Program kept = NULL;
    if (nvrtcCreateProgram(&kept, source, "kept.cu", 0, NULL, NULL) != 0 || compile(output) != 0) return 95;
    char other[256];
    snprintf(other, sizeof other, "%s.other", output);
    setenv("LIBRARY", getenv("OTHER_LIBRARY"), 1);
    load();
    if (nvrtcDestroyProgram == destroy) return 94;
    if (compile(other) != 0) return 93;
    return destroy(&kept);
  }
#endif
  return compile(output);
}
