/* Preloaded in front of a program: writes down which files its driver moves to their places, a line each, and
   stops the whole program before one whose path ends with HANG_AT. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int ends_with(const char* text, const char* end) {
  const size_t length = strlen(text);
  const size_t of_end = strlen(end);
  return length >= of_end && strcmp(text + length - of_end, end) == 0;
}

int rename(const char* from, const char* to) {
  int (*const real)(const char*, const char*) = (int (*)(const char*, const char*))dlsym(RTLD_NEXT, "rename");
  const char* const list = getenv("COUNTED_RENAMES");
  const char* const hang_at = getenv("HANG_AT");
  int code;
  if (hang_at != NULL && ends_with(to, hang_at)) raise(SIGSTOP);
  code = real(from, to);
  if (code == 0 && list != NULL && (ends_with(to, ".so") || ends_with(to, "program.bc"))) {
    char line[4096];
    const int size = snprintf(line, sizeof line, "%s\n", to);
    const int fd = open(list, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0 && write(fd, line, (size_t)size) < 0) code = 0; /* the list is shorter, and the test fails */
    if (fd >= 0) close(fd);
  }
  return code;
}
