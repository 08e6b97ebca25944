// Preloaded by build_test.sh: a machine under a load (LARDER_TEST_LOAD=99), or a disk that has room for so
// many bytes more below .larder and is full then (LARDER_TEST_ROOM=100).
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

int getloadavg(double loads[], int count) {
  const char* const load = getenv("LARDER_TEST_LOAD");
  for (int i = 0; i < count; ++i) loads[i] = load == NULL ? 0 : atof(load);
  return count;
}

static int is_kept(int fd) {
  char link[64];
  char path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0) return 0;
  path[size] = '\0';
  return strstr(path, "/.larder/") != NULL;
}

// How many of `size` bytes there is room for; -1: none, and errno.
static ssize_t granted(int fd, size_t size) {
  static ssize_t left = -1;
  const char* const room = getenv("LARDER_TEST_ROOM");
  if (room == NULL || size == 0 || !is_kept(fd)) return (ssize_t)size;
  if (left < 0) left = atol(room);
  if (left == 0) {
    errno = ENOSPC;
    return -1;
  }
  const ssize_t part = (size_t)left < size ? left : (ssize_t)size;
  left -= part;
  return part;
}

ssize_t write(int fd, const void* bytes, size_t size) {
  const ssize_t part = granted(fd, size);
  return part < 0 ? -1 : syscall(SYS_write, fd, bytes, (size_t)part);
}

ssize_t pwrite(int fd, const void* bytes, size_t size, off_t at) {
  const ssize_t part = granted(fd, size);
  return part < 0 ? -1 : syscall(SYS_pwrite64, fd, bytes, (size_t)part, at);
}
