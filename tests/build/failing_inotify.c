// Preloaded by watch_test.sh: an inotify that there is none of (LARDER_TEST_INOTIFY=none), or that grants no
// watch.
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is(const char* kind) {
  const char* const wanted = getenv("LARDER_TEST_INOTIFY");
  return wanted != NULL && strcmp(wanted, kind) == 0;
}

int inotify_init1(int flags) {
  if (is("none")) {
    errno = EMFILE;
    return -1;
  }
  return (int)syscall(SYS_inotify_init1, flags);
}

int inotify_add_watch(int fd, const char* path, uint32_t mask) {
  if (is("few")) {
    errno = ENOSPC;
    return -1;
  }
  return (int)syscall(SYS_inotify_add_watch, fd, path, mask);
}
