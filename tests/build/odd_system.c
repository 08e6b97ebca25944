// Preloaded by build_test.sh: a machine under a load (LARDER_TEST_LOAD=99), a disk that has room for so many
// bytes more below .larder and is full then (LARDER_TEST_ROOM=100), or a clock that runs so many times as
// fast (LARDER_TEST_HASTE=100), and one that says of its memory what is in a file (LARDER_TEST_MEMORY=FILE).
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

int getloadavg(double loads[], int count) {
  const char* const load = getenv("LARDER_TEST_LOAD");
  for (int i = 0; i < count; ++i) loads[i] = load == NULL ? 0 : atof(load);
  return count;
}

int clock_gettime(clockid_t clock, struct timespec* time) {
  static struct timespec first;
  const char* const haste = getenv("LARDER_TEST_HASTE");
  const long result = syscall(SYS_clock_gettime, clock, time);
  if (haste == NULL || clock != CLOCK_MONOTONIC) return (int)result;
  if (first.tv_sec == 0) first = *time;
  const long long passed = (time->tv_sec - first.tv_sec) * 1000000000LL + time->tv_nsec - first.tv_nsec;
  const long long now = first.tv_nsec + passed * atoll(haste);
  time->tv_sec = first.tv_sec + now / 1000000000;
  time->tv_nsec = now % 1000000000;
  return (int)result;
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, int) : 0;
  va_end(rest);
  const char* const memory = getenv("LARDER_TEST_MEMORY");
  if (memory != NULL && strcmp(path, "/proc/meminfo") == 0) path = memory;
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
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
