/* A program whose start is a compile: it hands a kernel, as source, to a real compiler and loads what comes
   out. With --cache FILE the compiled kernel is kept in that one file, and the next start needs no compiler.
   Without it the program touches no file.

     one_file_cache [--cache FILE] [--module FILE] [--write-module FILE] [--steps N]
                    [--stages N]

   --module loads a kernel that was compiled before, so that there is nothing to compile: what a start with a
   cache is measured against (bench/cache_file). --write-module writes such a file. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "larder/larder.h"

extern char** environ;

enum { kCells = 200000 };
static int stages = 72; /* how much there is to compile */
#define COMPILER "cc"
static const char* const kOptions = "-O3 -march=native -funroll-loops -shared -fPIC";

/* A stage of the kernel; a GPU program would be such a string, too. */
static const char* const kStage =
    "static void stage_%d(const double* restrict in, double* restrict out, long n) {\n"
    "  for (long i = 2; i + 2 < n; ++i) {\n"
    "    double a = in[i - 2] * 0.%d + in[i - 1] * 0.1, b = in[i + 1] * 0.2 - in[i + 2] * 0.%d;\n"
    "    double c = a * b + in[i] * 0.5, d = c > 0.3 ? c * c : c * 0.9;\n"
    "    for (int k = 0; k < 4; ++k) d = d * 0.5 + (d > a ? b : a) * 0.1 + 0.0%d;\n"
    "    out[i] = d;\n"
    "  }\n"
    "}\n";

typedef void (*kernel_function)(double* a, double* b, long cells);

struct program {
  char* source;
  char compiler[256]; /* which compiler it is: decides the product */
  kernel_function kernel;
};

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void die(const char* what) {
  fprintf(stderr, "one_file_cache: %s: %s\n", what, strerror(errno));
  exit(2);
}

static char* write_source(void) {
  char* text = NULL;
  size_t size = 0;
  int i;
  FILE* out = open_memstream(&text, &size);
  if (out == NULL) die("memory");
  for (i = 0; i < stages; ++i) fprintf(out, kStage, i, i % 4 + 1, i % 3 + 1, i % 9 + 1);
  fprintf(out, "void kernel(double* a, double* b, long n) {\n");
  for (i = 0; i < stages; ++i) fprintf(out, "  stage_%d(%s, n);\n", i, i % 2 == 0 ? "a, b" : "b, a");
  fprintf(out, "}\n");
  fclose(out);
  return text;
}

/* Runs a command with its output going to `out`; true when it succeeded. */
static bool run(char* const arguments[], int in, int out) {
  posix_spawn_file_actions_t actions;
  pid_t child;
  int status = -1;
  posix_spawn_file_actions_init(&actions);
  if (in >= 0) posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  if (posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ) != 0) return false;
  posix_spawn_file_actions_destroy(&actions);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int memory_file(const char* name) {
  const int fd = memfd_create(name, MFD_CLOEXEC);
  if (fd < 0) die("memfd_create");
  return fd;
}

/* The compiler's name for itself: another compiler is another product. */
static void identify_compiler(struct program* program) {
  char* const arguments[] = {COMPILER, "--version", NULL};
  const int fd = memory_file("version");
  ssize_t size;
  if (!run(arguments, -1, fd)) die("the compiler " COMPILER);
  size = pread(fd, program->compiler, sizeof program->compiler - 1, 0);
  program->compiler[size > 0 ? size : 0] = '\0';
  close(fd);
}

/* The dear part. */
static larder_bytes* compile(const struct program* program) {
  const int in = memory_file("source");
  const int out = memory_file("module");
  char path[64];
  char command[256];
  struct stat status;
  larder_view view;
  void* bytes;
  larder_bytes* module = NULL;
  if (write(in, program->source, strlen(program->source)) != (ssize_t)strlen(program->source)) die("write");
  lseek(in, 0, SEEK_SET);
  snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), out);
  snprintf(command, sizeof command, "CCACHE_DISABLE=1 exec " COMPILER " %s -x c - -o %s", kOptions, path);
  {
    char* const arguments[] = {"sh", "-c", command, NULL};
    if (!run(arguments, in, STDERR_FILENO)) die("compiling the kernel");
  }
  if (fstat(out, &status) != 0 || status.st_size == 0) die("the compiled kernel");
  bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, out, 0);
  if (bytes == MAP_FAILED) die("mmap");
  view.data = bytes;
  view.size = (size_t)status.st_size;
  module = larder_bytes_create(view, NULL);
  munmap(bytes, (size_t)status.st_size);
  close(in);
  close(out);
  return module;
}

static bool load_path(struct program* program, const char* path) {
  void* const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) return false;
  *(void**)&program->kernel = dlsym(handle, "kernel");
  return program->kernel != NULL;
}

/* What a driver does with a binary: takes it or refuses it. */
static bool load_module(larder_view module, void* context) {
  struct program* program = context;
  char path[64];
  const int fd = memory_file("module");
  bool is_loaded;
  if (write(fd, module.data, module.size) != (ssize_t)module.size) die("write");
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  is_loaded = load_path(program, path);
  close(fd);
  return is_loaded;
}

static larder_made make_module(larder_bytes** module, void* context) {
  *module = compile(context);
  if (*module == NULL || !load_module(larder_bytes_view(*module), context)) return LARDER_MADE_FAILED;
  return LARDER_MADE;
}

static void start_with_cache(struct program* program, const char* path) {
  larder_error* error = NULL;
  larder_cache_file_answer answer;
  larder_recipe* recipe = larder_recipe_create(larder_text("example-kernel"), NULL);
  larder_cache_file* file = larder_cache_file_open(larder_text(path), &error);
  if (recipe == NULL || file == NULL ||
      !larder_recipe_add(recipe, larder_text("source"), larder_text(program->source), NULL) ||
      !larder_recipe_add(recipe, larder_text("options"), larder_text(kOptions), NULL) ||
      !larder_recipe_add(recipe, larder_text("compiler"), larder_text(program->compiler), NULL)) {
    fprintf(stderr, "one_file_cache: %s\n", error != NULL ? larder_error_message(error) : "memory");
    exit(2);
  }
  if (!larder_cache_file_get_or_make(file, recipe, load_module, make_module, program, &answer, &error)) {
    fprintf(stderr, "one_file_cache: %s\n", larder_error_message(error));
    exit(2);
  }
  if (answer.outcome == LARDER_OUTCOME_DISK_HIT) {
    printf("cache: hit, %.2f s of compiling saved\n", (double)answer.cost_ns * 1e-9);
  } else {
    printf("cache: made in %.2f s, because %s\n", (double)answer.cost_ns * 1e-9,
           larder_reason_name(answer.reason));
    if (answer.not_kept != LARDER_REASON_NONE) {
      printf("cache: not kept, because %s: %s\n", larder_reason_name(answer.not_kept),
             larder_cache_file_detail(file));
    }
  }
  larder_cache_file_destroy(file);
  larder_recipe_destroy(recipe);
}

static void start_without_cache(struct program* program, const char* write_to) {
  larder_bytes* const module = compile(program);
  const larder_view view = larder_bytes_view(module);
  if (!load_module(view, program)) die("loading the kernel");
  if (write_to != NULL) {
    const int fd = open(write_to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, view.data, view.size) != (ssize_t)view.size) die(write_to);
    close(fd);
  }
  larder_bytes_destroy(module);
}

/* The work that the program is for. */
static double simulate(const struct program* program, int steps) {
  double* const a = malloc(sizeof(double) * kCells);
  double* const b = malloc(sizeof(double) * kCells);
  double sum = 0;
  int i;
  if (a == NULL || b == NULL) die("memory");
  for (i = 0; i < kCells; ++i) a[i] = b[i] = (double)(i % 1000) * 1e-3;
  for (i = 0; i < steps; ++i) program->kernel(a, b, kCells);
  for (i = 0; i < kCells; ++i) sum += a[i];
  free(a);
  free(b);
  return sum;
}

int main(int argc, char** argv) {
  const double begun = seconds();
  const char* cache = NULL;
  const char* module = NULL;
  const char* write_to = NULL;
  int steps = 4;
  struct program program;
  int i;
  double ready;
  for (i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--cache") == 0) cache = argv[i + 1];
    if (strcmp(argv[i], "--module") == 0) module = argv[i + 1];
    if (strcmp(argv[i], "--write-module") == 0) write_to = argv[i + 1];
    if (strcmp(argv[i], "--steps") == 0) steps = atoi(argv[i + 1]);
    if (strcmp(argv[i], "--stages") == 0) stages = atoi(argv[i + 1]);
  }
  memset(&program, 0, sizeof program);
  program.source = write_source();
  identify_compiler(&program);
  if (module != NULL) {
    if (!load_path(&program, module)) die(module);
  } else if (cache != NULL) {
    start_with_cache(&program, cache);
  } else {
    start_without_cache(&program, write_to);
  }
  ready = seconds();
  printf("started in %.4f s\n", ready - begun);
  printf("result %.6f\n", simulate(&program, steps));
  free(program.source);
  return 0;
}
