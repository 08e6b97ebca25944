// Runs a program in a forked child for each line on its input and prints what it took. The parent never runs
// it, so the child's first run is a fresh process's: it takes memory, and faults on each page. Then the child
// forgets all results and runs again, as a process would that has been at work for a while: the median of
// five such runs, of one where a run takes long. A line: processor time and cycles of the first run, its
// minor faults, time and cycles of the later ones, result, real executions.
//
// Cycles are those of the processor's counter where the system lets it be read (perf_event_open), else
// processor time at the rate of its time-stamp counter. Usage: NAME [--once]; with --once it runs in this
// process and prints its result only.
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>

extern "C" long long larder_bench_program();

namespace {

struct Run {
  std::int64_t cpu_ns;
  std::uint64_t cycles;
  long long result;
};

struct Trial {
  Run first;
  Run later;
  std::int64_t faults;
  long long executed;
};

std::int64_t cpu_now() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

std::uint64_t stamp() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return static_cast<std::uint64_t>(cpu_now());
#endif
}

int open_counter() {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.config = PERF_COUNT_HW_CPU_CYCLES;
  attributes.exclude_kernel = 1;
  return static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
}

double cycles_per_ns = 1;

void measure_rate() {
  timespec now{};
  const auto wall_ns = [&now] {
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
  };
  const double begin_ns = wall_ns();
  const std::uint64_t begin = stamp();
  while (wall_ns() - begin_ns < 5e6) continue;
  cycles_per_ns = static_cast<double>(stamp() - begin) / (wall_ns() - begin_ns);
}

std::uint64_t count_of(int counter) {
  std::uint64_t count = 0;
  return counter >= 0 && read(counter, &count, sizeof count) == sizeof count ? count : 0;
}

}  // namespace

long long larder_bench_executed;

// Promised to be pure where it is declared: it counts, which changes no result.
extern "C" __attribute__((noinline)) int larder_bench_count(int) {
  ++larder_bench_executed;
  return 0;
}

// What builds by hand forget, and what the plugin's tables do.
extern "C" __attribute__((weak)) void larder_bench_forget();
extern "C" __attribute__((weak)) void larder_reuse_clear();

namespace {

Run run(int counter, std::int64_t clock_ns) {
  const std::int64_t begin_ns = cpu_now();
  const std::uint64_t begin = count_of(counter);
  const long long result = larder_bench_program();
  const std::uint64_t end = count_of(counter);
  const std::int64_t took = cpu_now() - begin_ns - clock_ns;
  const std::int64_t cpu_ns = took > 0 ? took : 1;
  const std::uint64_t cycles =
      end != begin ? end - begin : static_cast<std::uint64_t>(static_cast<double>(cpu_ns) * cycles_per_ns);
  return {cpu_ns, cycles, result};
}

Trial try_once() {
  const int counter = open_counter();
  (void)cpu_now();
  const std::int64_t before_clock = cpu_now();
  const std::int64_t clock_ns = cpu_now() - before_clock;
  rusage before{};
  rusage after{};
  getrusage(RUSAGE_SELF, &before);
  Trial trial{};
  trial.first = trial.later = run(counter, clock_ns);
  getrusage(RUSAGE_SELF, &after);
  trial.faults = after.ru_minflt - before.ru_minflt;
  trial.executed = larder_bench_executed;
  const bool is_short = trial.first.cpu_ns < 10'000'000;
  if (trial.first.cpu_ns > 200'000'000) return trial;  // a start is nothing beside that
  std::array<Run, 5> runs{};
  const std::size_t count = is_short ? runs.size() : 1;
  for (std::size_t i = 0; i < count; ++i) {
    if (larder_bench_forget != nullptr) larder_bench_forget();
    if (larder_reuse_clear != nullptr) larder_reuse_clear();
    runs[i] = run(counter, clock_ns);
    if (runs[i].result != trial.first.result) trial.first.result = -1;  // differs from every other build
  }
  std::sort(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(count),
            [](const Run& a, const Run& b) { return a.cpu_ns < b.cpu_ns; });
  trial.later = runs[count / 2];
  return trial;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--once") == 0) {
    const long long result = larder_bench_program();
    std::fprintf(stderr, "%lld %lld\n", result, larder_bench_executed);
    return 0;
  }
  measure_rate();
  char line[16];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    int ends[2];
    if (pipe(ends) != 0) return 2;
    const pid_t child = fork();
    if (child < 0) return 2;
    if (child == 0) {
      const Trial trial = try_once();
      _exit(write(ends[1], &trial, sizeof trial) == sizeof trial ? 0 : 1);
    }
    close(ends[1]);
    Trial trial{};
    const bool is_whole = read(ends[0], &trial, sizeof trial) == sizeof trial;
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (!is_whole || status != 0) {
      std::fprintf(stderr, "a trial ended with status %d\n", status);
      return 1;
    }
    std::fprintf(stderr, "%lld %llu %lld %lld %llu %lld %lld\n", static_cast<long long>(trial.first.cpu_ns),
                 static_cast<unsigned long long>(trial.first.cycles), static_cast<long long>(trial.faults),
                 static_cast<long long>(trial.later.cpu_ns),
                 static_cast<unsigned long long>(trial.later.cycles), trial.first.result, trial.executed);
  }
  return 0;
}
