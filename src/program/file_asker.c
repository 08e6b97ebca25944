// A library that asks for files, as a compiler does: for the test of what larder hears of it.
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int file_asker_open(const char* path) {
  const int fd = open(path, O_RDONLY);
  if (fd < 0) return -1;
  close(fd);
  return 0;
}
EXPORT int file_asker_fopen(const char* path, const char* mode) {
  FILE* const file = fopen(path, mode);
  if (file == NULL) return -1;
  fclose(file);
  return 0;
}
EXPORT int file_asker_stat(const char* path) {
  struct stat status;
  return stat(path, &status);
}
EXPORT int file_asker_list(const char* path) {
  DIR* const folder = opendir(path);
  if (folder == NULL) return -1;
  closedir(folder);
  return 0;
}
EXPORT int file_asker_fork(void) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  int status = 0;
  return waitpid(child, &status, 0) == child ? 0 : -1;
}
