/* A library that is loaded at run time, used by a thread and closed again before that thread ends: plug-ins
 * do so. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "larder/larder.h"

/* Only types come from the header: this program is not linked to the library. */
struct functions {
  larder_counters* (*create)(larder_error** error);
  void (*count)(larder_counters* counters, larder_outcome outcome, int64_t saved_ns);
  void (*destroy)(larder_counters* counters);
};

static struct functions larder;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool has_counted = false;
static bool is_closed = false;

static void tell(bool* what) {
  pthread_mutex_lock(&mutex);
  *what = true;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}

static void wait_for(const bool* what) {
  pthread_mutex_lock(&mutex);
  while (!*what) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
}

static void* count_and_outlive(void* counters) {
  larder.count(counters, LARDER_OUTCOME_MADE, 0);
  tell(&has_counted);
  wait_for(&is_closed);
  return NULL;
}

int main(int count, char** arguments) {
  const char* const path = count > 1 ? arguments[1] : "liblarder.so";
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  larder_counters* counters;
  pthread_t thread;
  pid_t child;
  int status = -1;
  CHECK(library != NULL);
  if (library == NULL) return 1;
  /* Through void**, since ISO C has no conversion from an object pointer to a function pointer. */
  *(void**)&larder.create = dlsym(library, "larder_counters_create");
  *(void**)&larder.count = dlsym(library, "larder_counters_count_outcome");
  *(void**)&larder.destroy = dlsym(library, "larder_counters_destroy");
  counters = larder.create(NULL);
  CHECK(counters != NULL);
  CHECK(pthread_create(&thread, NULL, count_and_outlive, counters) == 0);
  wait_for(&has_counted);
  larder.destroy(counters);
  CHECK(dlclose(library) == 0);
  child = fork(); /* fork handlers of a closed library must not run */
  if (child == 0) _exit(0);
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  tell(&is_closed);
  CHECK(pthread_join(thread, NULL) == 0);
  /* The thread held it: now nobody does, and the next to be closed takes it along. */
  library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  CHECK(library != NULL && dlclose(library) == 0);
  CHECK(dlopen(path, RTLD_NOW | RTLD_NOLOAD) == NULL);
  status = -1;
  child = fork(); /* nor those of one that is gone */
  if (child == 0) _exit(0);
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  return failures != 0;
}
