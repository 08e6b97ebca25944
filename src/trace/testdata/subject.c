/* Does one thing with files, in a way that shells do not. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static int read_file(const char* path) {
  char byte;
  const int fd = open(path, O_RDONLY);
  if (fd < 0) return 1;
  const int failed = read(fd, &byte, 1) < 0;
  close(fd);
  return failed;
}

static void* read_in_thread(void* path) {
  return (void*)(long)read_file(path);
}

static int wait_for(pid_t pid) {
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return 1;
  return status != 0;
}

static int threads(char** paths) {
  pthread_t ids[64];
  int count = 0, failed = 0;
  for (; paths[count] != NULL && count < 64; ++count)
    if (pthread_create(&ids[count], NULL, read_in_thread, paths[count]) != 0) return 1;
  while (count-- > 0) {
    void* result;
    pthread_join(ids[count], &result);
    failed |= result != NULL;
  }
  return failed;
}

static int in_vfork(char* path) {
  const pid_t pid = vfork();
  if (pid == 0) {
    execl("/bin/cat", "cat", path, (char*)NULL);
    _exit(127);
  }
  return wait_for(pid);
}

static int in_spawn(char* path) {
  pid_t pid = -1;
  char* words[] = {"cat", path, NULL};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  const int error = posix_spawnp(&pid, "cat", &actions, NULL, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  return error != 0 ? 1 : wait_for(pid);
}

/* Through descriptors of directories, and after leaving one of them. */
/* Looks at `path`, and reads it in the directory. */
static int leave_by_fd(const char* directory, const char* path) {
  const int looked = access(path, F_OK);
  const int fd = open(directory, O_RDONLY | O_DIRECTORY);
  if (fd < 0 || fchdir(fd) != 0) return 1;
  close(fd);
  return looked != 0 || read_file(path);
}

static int relative(const char* directory, const char* name, const char* to) {
  const int fd = open(directory, O_PATH | O_DIRECTORY);
  if (fd < 0) return 1;
  const int in = openat(fd, name, O_RDONLY);
  if (in < 0) return 2;
  if (fchdir(fd) != 0) return 3;
  return renameat(AT_FDCWD, name, fd, to) != 0;
}

static int how(const char* path) {
  struct {
    unsigned long long flags, mode, resolve;
  } told = {O_WRONLY | O_CREAT | O_TRUNC, 0600, 0};
  return syscall(437 /* openat2 */, AT_FDCWD, path, &told, sizeof told) < 0;
}

/* A name that begins at the very end of a page, with nothing readable behind the next. */
static int at_page_end(const char* path) {
  char* pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED || mprotect(pages + 2 * 4096, 4096, PROT_NONE) != 0) return 1;
  char* text = pages + 2 * 4096 - strlen(path) - 1;
  strcpy(text, path);
  return read_file(text);
}

static int by_fd(const char* path) {
  const int fd = open(path, O_RDONLY);
  return fd < 0 || fchmod(fd, 0600) != 0;
}

static int through_proc(const char* path) {
  char name[64];
  const int fd = open(path, O_PATH);
  if (fd < 0) return 1;
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  return read_file(name);
}

static int as_32_bit(void) {
#ifdef __x86_64__
  long got;
  __asm__ volatile("int $0x80" : "=a"(got) : "a"(20 /* getpid */) : "memory", "r8", "r9", "r10", "r11");
  (void)got;
#endif
  return 0;
}

static int speak(const char* path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  (void)!connect(fd, (struct sockaddr*)&address, sizeof address);
  return 0;
}

/* What a tracer within one gets. */
static int nested(void) {
  struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {1, code};
  const long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
  return fd >= 0 ? 1 : 0;
}

/* Leaves a process behind that ends when a byte comes from `from`, and has by then read `path` and written
 * it to `to`. It holds nothing of what its parent had open. */
static int leave(const char* from, const char* path, const char* to) {
  const pid_t pid = fork();
  if (pid < 0) return 1;
  if (pid > 0) return 0;
  setsid();
  const int gate = open(from, O_RDONLY);
  for (int fd = 0; fd < 3; ++fd) dup2(gate, fd);
  char byte;
  if (read(gate, &byte, 1) != 1) _exit(1);
  const int in = open(path, O_RDONLY);
  const int out = open(to, O_WRONLY);
  const ssize_t size = in < 0 ? -1 : read(in, &byte, 1);
  if (size == 1) (void)!write(out, &byte, 1);
  _exit(0);
}

/* Reads until it cannot any more. */
static int read_on(const char* path) {
  while (read_file(path) == 0) continue;
  return 3;
}

/* Looks a thousand times at what is open, and once by a path from the same place. */
static int look(const char* path) {
  struct stat status;
  const int fd = open(path, O_RDONLY | O_DIRECTORY);
  for (int i = 0; i < 1000; ++i)
    if (fstatat(fd, "", &status, AT_EMPTY_PATH) != 0) return 1;
  return fstatat(fd, "in", &status, 0) != 0;
}

/* Asks a thousand times for the text of a link. */
static int ask_link(const char* path) {
  char text[64];
  for (int i = 0; i < 1000; ++i)
    if (readlink(path, text, sizeof text) <= 0 || readlinkat(AT_FDCWD, path, text, sizeof text) <= 0)
      return 1;
  return read_file(path);
}

int main(int count, char** words) {
  const char* what = count > 1 ? words[1] : "";
  if (strcmp(what, "read") == 0) return read_file(words[2]);
  if (strcmp(what, "look") == 0) return look(words[2]);
  if (strcmp(what, "link") == 0) return ask_link(words[2]);
  if (strcmp(what, "threads") == 0) return threads(words + 2);
  if (strcmp(what, "vfork") == 0) return in_vfork(words[2]);
  if (strcmp(what, "spawn") == 0) return in_spawn(words[2]);
  if (strcmp(what, "relative") == 0) return relative(words[2], words[3], words[4]);
  if (strcmp(what, "by_fd") == 0) return leave_by_fd(words[2], words[3]);
  if (strcmp(what, "how") == 0) return how(words[2]);
  if (strcmp(what, "page") == 0) return at_page_end(words[2]);
  if (strcmp(what, "fd") == 0) return by_fd(words[2]);
  if (strcmp(what, "proc") == 0) return through_proc(words[2]);
  if (strcmp(what, "exchange") == 0)
    return syscall(SYS_renameat2, AT_FDCWD, words[2], AT_FDCWD, words[3], 2 /* RENAME_EXCHANGE */) != 0;
  if (strcmp(what, "int80") == 0) return as_32_bit();
  if (strcmp(what, "ring") == 0) return (int)(syscall(425 /* io_uring_setup */, 1, NULL) > 0);
  if (strcmp(what, "network") == 0) return socket(AF_INET, SOCK_DGRAM, 0) < 0;
  if (strcmp(what, "speak") == 0) return speak(words[2]);
  if (strcmp(what, "root") == 0) {
    (void)!chroot("/"); /* whether it may or not */
    return read_file(words[2]);
  }
  if (strcmp(what, "nested") == 0) return nested();
  if (strcmp(what, "leave") == 0) return leave(words[2], words[3], words[4]);
  if (strcmp(what, "on") == 0) return read_on(words[2]);
  if (strcmp(what, "privileges") == 0) return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 1;
  return 64;
}
