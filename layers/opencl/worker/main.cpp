// larder_opencl_worker FOLDER: builds what the OpenCL layer has left in FOLDER once more and keeps its
// binaries, when the program is over whose run that was; then the folder is gone. Started by `larder run`,
// which does not wait for it. It runs when nothing else wants to, for five minutes at most. A driver that
// ends with a fault takes one process of it along and one program, which is not tried again.
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "layers/opencl/worker/making.hpp"

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::minutes kAllMax{5};
constexpr unsigned kOneMaxSeconds = 60;
constexpr rlim_t kMemoryMax = rlim_t{4} << 30;
constexpr int kNicest = 19;

// What the program that was run has open is not to be held any longer.
void let_go() {
  const int null = ::open("/dev/null", O_RDWR);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, fd);
  ::close_range(STDERR_FILENO + 1, ~0u, 0);
}

void stand_back() {
  const sched_param none{};
  ::sched_setscheduler(0, SCHED_IDLE, &none);
  static_cast<void>(::nice(kNicest));
}

[[noreturn]] void work(const std::string& folder) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};
  const rlimit memory{kMemoryMax, kMemoryMax};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::setrlimit(RLIMIT_DATA, &memory);
  try {
    while (larder::layer::make_one(folder, [] { ::alarm(kOneMaxSeconds); })) ::alarm(0);
  } catch (...) {  // the rest is built as ever at the next start
  }
  ::_exit(0);  // and no driver's exit handlers
}

// True when it ended by itself, and not with a fault.
bool wait_for(pid_t child, Clock::time_point until) {
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (Clock::now() > until) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      return true;
    }
    ::poll(nullptr, 0, 20);
  }
  return WIFEXITED(status);
}

}  // namespace

int main(int count, char** words) try {
  const std::string folder = count == 2 ? words[1] : "";
  if (!folder.starts_with('/')) return 2;
  let_go();
  stand_back();
  for (const char* const name : {"OPENCL_LAYERS", "LARDER_RUN_REPORT"}) ::unsetenv(name);
  const Clock::time_point until = Clock::now() + kAllMax;
  // Each fault costs a wish: this ends.
  while (larder::layer::has_wishes(folder)) {
    const pid_t child = ::fork();
    if (child == 0) work(folder);
    if (child < 0 || wait_for(child, until)) break;
  }
  std::error_code none;
  fs::remove_all(folder, none);
  return 0;
} catch (...) {
  return 2;
}
