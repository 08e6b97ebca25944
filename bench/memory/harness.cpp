#include "bench/memory/harness.hpp"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <ctime>
#include <fstream>
#include <iostream>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>

namespace larder::bench {
namespace {

std::int64_t nanoseconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

long preemptions() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

// How long the calling thread has been ready to run while its processor did something else; 0 where the
// kernel does not tell. A thread that slept for a lock and was woken is not preempted, but may still have to
// queue.
std::int64_t queued_ns() {
  thread_local const int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  char text[96] = {};
  if (file < 0 || pread(file, text, sizeof(text) - 1, 0) <= 0) return 0;
  long long ran = 0;
  long long queued = 0;
  return std::sscanf(text, "%lld %lld", &ran, &queued) == 2 ? queued : 0;
}

// What one thread saw of one chunk.
struct Span {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t cpu_ns = 0;
  std::int64_t queued_ns = 0;
  bool preempted = false;
};

struct Trial {
  std::size_t threads = 1;
  Shape shape;
  std::size_t warm_operations = 0;
  std::size_t operations = 0;
  std::size_t chunk = 1;  // operations between two looks at the clock
};

// Two threads that live as long as the process. Both exist even while only one works: a process with a single
// thread would get a C library without locked instructions, which is no cache that threads share.
class Workers {
 public:
  Workers(Bench& bench, const Stream& stream, std::size_t entries) : bench_(bench) {
    const auto cold_share = static_cast<std::uint32_t>(cold_keys_for(entries) / kThreadsMax);
    for (std::size_t i = 0; i < kThreadsMax; ++i) {
      cursors_[i].stream = stream.of_thread(i);
      cursors_[i].cold_first = static_cast<std::uint32_t>(entries + i * cold_share);
      cursors_[i].cold_count = cold_share;
      threads_[i] = std::thread([this, i] { serve(i); });
    }
  }
  ~Workers() {
    begin(Trial{}, true);
    for (std::thread& thread : threads_) thread.join();
  }

  void run(const Trial& trial) {
    begin(trial, false);
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return running_ == 0; });
  }

  // Of the last trial.
  const std::vector<Span>& spans(std::size_t thread) const { return spans_[thread]; }
  // Since the last call.
  std::uint64_t take_refills() {
    std::uint64_t refills = 0;
    for (Cursor& cursor : cursors_) refills += std::exchange(cursor.refills, 0);
    return refills;
  }
  std::uint64_t checksum() const { return cursors_[0].checksum + cursors_[1].checksum; }

 private:
  void begin(const Trial& trial, bool stop) {
    const std::lock_guard lock(mutex_);
    trial_ = trial;
    stop_ = stop;
    running_ = stop ? 0 : trial.threads;
    arrived_ = 0;
    ++generation_;
    wake_.notify_all();
  }

  void serve(std::size_t me) {
    std::uint64_t seen = 0;
    for (;;) {
      Trial trial;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return generation_ != seen; });
        seen = generation_;
        if (stop_) return;
        trial = trial_;
      }
      if (me >= trial.threads) continue;
      settle(me, trial.threads);
      work(me, trial);
      set_realtime(false);
      const std::lock_guard lock(mutex_);
      if (--running_ == 0) idle_.notify_all();
    }
  }

  // Two threads get a processor each; one may go wherever there is room. On a busy machine
  // LARDER_BENCH_REALTIME keeps strangers from the processor while a trial runs, where the process may ask
  // for that.
  static void settle(std::size_t me, std::size_t threads) {
    cpu_set_t processors;
    CPU_ZERO(&processors);
    for (std::size_t i = 0; i < static_cast<std::size_t>(CPU_SETSIZE); ++i) {
      if (threads == 1 || i == me) CPU_SET(i, &processors);
    }
    pthread_setaffinity_np(pthread_self(), sizeof(processors), &processors);
    set_realtime(true);
  }
  static void set_realtime(bool on) {
    if (std::getenv("LARDER_BENCH_REALTIME") == nullptr) return;
    sched_param priority{};
    priority.sched_priority = on ? 1 : 0;
    pthread_setschedparam(pthread_self(), on ? SCHED_FIFO : SCHED_OTHER, &priority);
  }

  void work(std::size_t me, const Trial& trial) {
    bench_.pass(trial.shape, cursors_[me], trial.warm_operations);
    std::vector<Span>& spans = spans_[me];
    spans.assign(trial.operations / trial.chunk, {});
    for (std::size_t i = 0; i < spans.size(); ++i) {
      meet(trial.threads, 2 * i + 1);
      Span& span = spans[i];
      const long before = preemptions();
      const std::int64_t queued_before = queued_ns();
      meet(trial.threads, 2 * i + 2);  // those looks took unequally long
      span.begin_ns = nanoseconds(CLOCK_MONOTONIC);
      const std::int64_t cpu_begin = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
      bench_.pass(trial.shape, cursors_[me], trial.chunk);
      span.cpu_ns = nanoseconds(CLOCK_THREAD_CPUTIME_ID) - cpu_begin;
      span.end_ns = nanoseconds(CLOCK_MONOTONIC);
      span.queued_ns = queued_ns() - queued_before;
      span.preempted = preemptions() != before;
    }
  }

  // Returns when all threads of the trial have come here `times` times; spins, so that all leave at once.
  void meet(std::size_t threads, std::size_t times) {
    if (threads == 1) return;
    arrived_.fetch_add(1);
    for (int spins = 0; arrived_.load(std::memory_order_acquire) < threads * times; ++spins) {
      if (spins % 1024 == 1023) std::this_thread::yield();
    }
  }

  Bench& bench_;
  std::array<Cursor, kThreadsMax> cursors_;
  std::array<std::vector<Span>, kThreadsMax> spans_;
  std::array<std::thread, kThreadsMax> threads_;
  alignas(128) std::atomic<std::size_t> arrived_{0};
  alignas(128) std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  Trial trial_;
  std::uint64_t generation_ = 0;
  std::size_t running_ = 0;
  bool stop_ = false;
};

// What a chunk cost, or nothing when it tells nothing: one thread's processor time; of two, the wall time of
// the slower, because waiting for a lock is part of the price. A chunk in which a thread was preempted,
// queued for its processor behind a stranger, or began while the other was not running, does not count.
std::optional<std::int64_t> cost_ns(const Span& span) {
  if (span.preempted) return std::nullopt;
  return span.cpu_ns;
}
std::optional<std::int64_t> cost_ns(const Span& a, const Span& b) {
  if (a.preempted || b.preempted) return std::nullopt;
  const std::int64_t slower = std::max(a.end_ns - a.begin_ns, b.end_ns - b.begin_ns);
  if (std::max(a.queued_ns, b.queued_ns) * 20 > slower) return std::nullopt;
  if (std::abs(a.begin_ns - b.begin_ns) * 20 > slower) return std::nullopt;
  return slower;
}

void report(const Trial& trial, Workers& workers) {
  std::int64_t total_ns = 0;
  std::size_t accepted = 0;
  const std::size_t chunks = workers.spans(0).size();
  for (std::size_t i = 0; i < chunks; ++i) {
    const std::optional<std::int64_t> cost =
        trial.threads == 1 ? cost_ns(workers.spans(0)[i]) : cost_ns(workers.spans(0)[i], workers.spans(1)[i]);
    if (!cost) continue;
    total_ns += *cost;
    ++accepted;
  }
  const double ns =
      accepted == 0 ? 0 : static_cast<double>(total_ns) / static_cast<double>(accepted * trial.chunk);
  const double asked = static_cast<double>((trial.warm_operations + trial.operations) * trial.threads);
  std::printf("{\"ns\": %.3f, \"chunks\": %zu, \"accepted\": %zu, \"refills\": %.6f}\n", ns, chunks, accepted,
              static_cast<double>(workers.take_refills()) / asked);
  std::fflush(stdout);
}

struct Memory {
  std::size_t heap_bytes = 0;
  std::size_t resident_bytes = 0;
};

Memory memory_now() {
  const struct mallinfo2 info = mallinfo2();
  std::size_t pages = 0;
  std::ifstream statm("/proc/self/statm");
  statm >> pages >> pages;
  return {info.uordblks + info.hblkhd, pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE))};
}

double per(std::size_t after, std::size_t before, std::size_t count) {
  return (static_cast<double>(after) - static_cast<double>(before)) / static_cast<double>(count);
}

void serve_trials(Bench& bench, const Stream& stream, std::size_t entries) {
  Workers workers(bench, stream, entries);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command, chain, traffic;
    Trial trial;
    words >> command >> trial.threads >> chain >> traffic >> trial.warm_operations >> trial.operations >>
        trial.chunk;
    if (!words || command != "trial" || trial.threads < 1 || trial.threads > kThreadsMax ||
        trial.chunk == 0) {
      std::fprintf(stderr,
                   "expected: trial THREADS overlapped|dependent hits|inserts WARM OPERATIONS CHUNK\n");
      std::exit(2);
    }
    trial.shape = {chain == "dependent", traffic == "inserts"};
    workers.run(trial);
    report(trial, workers);
  }
  if (workers.checksum() != 0) {
    std::fprintf(stderr, "a value changed\n");
    std::exit(3);
  }
}

}  // namespace

int run_design(const std::string& design, const std::vector<Form>& forms, int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--list") {
    for (const Form& form : forms) {
      std::printf("%s\t%s\t%s%s\n", design.c_str(), form.key.c_str(), form.hold.c_str(),
                  form.is_batched ? "\tbatched" : "");
    }
    return 0;
  }
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s --list | KEY HOLD ENTRIES STREAM\n", argv[0]);
    return 2;
  }
  const auto wanted = std::find_if(forms.begin(), forms.end(), [&](const Form& form) {
    return form.key == argv[1] && form.hold == argv[2];
  });
  if (wanted == forms.end()) {
    std::fprintf(stderr, "%s has no form %s %s\n", argv[0], argv[1], argv[2]);
    return 2;
  }
  const std::size_t entries = std::strtoull(argv[3], nullptr, 10);
  const Stream stream(argv[4]);

  const Memory at_start = memory_now();
  const std::unique_ptr<Bench> bench = wanted->open(entries);
  const Memory empty = memory_now();
  bench->make_keys();
  const Memory keyed = memory_now();
  bench->fill();
  const Memory full = memory_now();
  const std::size_t held = bench->size();
  if (bench->check() != entries) {
    std::fprintf(stderr, "%s lost popular keys while it was filled to its capacity\n", argv[0]);
    return 3;
  }
  // What the empty table reserved belongs to its entries; what a key needs is counted apart.
  const std::size_t reserved_heap = empty.heap_bytes - std::min(empty.heap_bytes, at_start.heap_bytes);
  const std::size_t reserved_resident =
      empty.resident_bytes - std::min(empty.resident_bytes, at_start.resident_bytes);
  const std::size_t keys = entries + cold_keys_for(entries);
  std::printf(
      "{\"held\": %zu, \"heap_bytes_per_entry\": %.1f, \"resident_bytes_per_entry\": %.1f, "
      "\"heap_bytes_per_key\": %.1f, \"resident_bytes_per_key\": %.1f}\n",
      held, per(full.heap_bytes + reserved_heap, keyed.heap_bytes, held),
      per(full.resident_bytes + reserved_resident, keyed.resident_bytes, held),
      per(keyed.heap_bytes, empty.heap_bytes, keys), per(keyed.resident_bytes, empty.resident_bytes, keys));
  std::fflush(stdout);
  serve_trials(*bench, stream, entries);
  return 0;
}

}  // namespace larder::bench
