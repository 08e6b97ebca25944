#include "measure.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "store/store.hpp"

larder::Recipe recipe_of(const std::string& place, int number) {
  larder::Recipe recipe("bench");
  recipe.add("place", place).add("number", std::to_string(number));
  return recipe;
}

std::string product_of(std::size_t size, int number) {
  std::string product(size, '\0');
  std::uint64_t random = static_cast<std::uint64_t>(number) + 1;
  for (std::size_t i = 0; i + 8 <= size; i += 8) {
    random = random * 6364136223846793005 + 1442695040888963407;
    std::memcpy(product.data() + i, &random, 8);
  }
  return product;
}

double now_us() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

namespace {

// Of the processor, by this thread.
double worked_us() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

double median(std::vector<double>& values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

std::string place_of(std::size_t size) {
  return std::to_string(size);
}

// What children of a run share.
struct Shared {
  std::atomic<int> ready{0};
  std::atomic<int> made{0};
  std::atomic<int> failed{0};
  std::atomic<std::uint64_t> gets{0};
  std::atomic<std::uint64_t> puts{0};
};

Shared& shared() {
  static Shared* const one =
      ::new (::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
          Shared;
  return *one;
}

// Runs `body` in that many processes, all set off at once; returns how long until the last is done.
template <typename Body>
double in_processes(int processes, Body body) {
  std::vector<pid_t> children;
  shared();  // before the children are there, or each would have its own
  // They wait for the end of this pipe, which costs no processor time.
  int gate[2];
  if (::pipe(gate) != 0) std::abort();
  for (int i = 0; i < processes; ++i) {
    const pid_t child = ::fork();
    if (child < 0) std::abort();
    if (child == 0) {
      ::close(gate[1]);
      ++shared().ready;
      char none = 0;
      if (::read(gate[0], &none, 1) != 0) ::_exit(1);
      body(i);
      ::_exit(0);
    }
    children.push_back(child);
  }
  while (shared().ready < processes) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const double begin = now_us();
  ::close(gate[1]);
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) ++shared().failed;
  }
  ::close(gate[0]);
  return now_us() - begin;
}

}  // namespace

int fill(Peer& peer, const std::string& directory, std::size_t size, int count) {
  if (!peer.open(directory)) return 2;
  for (int i = 0; i < count; ++i) {
    if (!peer.put(recipe_of(place_of(size), i), product_of(size, i))) return 2;
  }
  return 0;
}

int fresh(Peer& peer, const std::string& directory, std::size_t size, int count, int first, int gets) {
  std::vector<larder::Recipe> recipes;
  for (int i = 0; i < gets; ++i) recipes.push_back(recipe_of(place_of(size), (first + i * 7) % count));
  now_us();
  const double begin = now_us();
  bool good = peer.open(directory);
  for (const larder::Recipe& recipe : recipes)
    good = good && peer.get(recipe) == static_cast<std::int64_t>(size);
  const double end = now_us();
  std::printf("{\"us\": %.3f}\n", end - begin);
  return good ? 0 : 2;
}

int hot(Peer& peer, const std::string& directory, std::size_t size, int count, int rounds) {
  if (!peer.open(directory)) return 2;
  std::vector<double> gets, misses, known_misses, puts, again;
  const auto present = [&](int i) { return recipe_of(place_of(size), i % count); };
  const auto fresh_one = [&](int i) { return recipe_of("new " + std::to_string(::getpid()), i); };
  // Each in a loop of its own, so that none pays for what another left in the processor's caches.
  const auto timed = [&](std::vector<double>& times, const larder::Recipe& recipe, const auto& call) {
    const double begin = now_us();
    const auto answer = call(recipe);
    times.push_back(now_us() - begin);
    return answer;
  };
  const auto get = [&](const larder::Recipe& recipe) { return peer.get(recipe); };
  for (int i = 0; i < rounds; ++i) {
    if (timed(gets, present(i), get) != static_cast<std::int64_t>(size)) return 2;
  }
  // At first nobody knows that it is not there; asked again the file system does.
  for (auto* times : {&misses, &known_misses}) {
    for (int i = 0; i < rounds; ++i) {
      if (timed(*times, fresh_one(i), get) >= 0) return 2;
    }
  }
  for (const bool is_new : {true, false}) {
    for (int i = 0; i < rounds; ++i) {
      const std::string product = product_of(size, i);
      const auto put = [&](const larder::Recipe& recipe) { return peer.put(recipe, product); };
      const larder::Recipe recipe = is_new ? fresh_one(i) : present(i);
      if (!timed(is_new ? puts : again, recipe, put)) return 2;
    }
  }
  std::printf(
      "{\"get\": %.3f, \"miss\": %.3f, \"known_miss\": %.3f, \"put\": %.3f, \"put_existing\": %.3f}\n",
      median(gets), median(misses), median(known_misses), median(puts), median(again));
  return 0;
}

int storm(const PeerKind& kind, const std::string& directory, int processes) {
  constexpr auto kMaking = std::chrono::milliseconds(20);
  const std::string product = product_of(20'000, 1);
  const larder::Recipe recipe = recipe_of("storm", 1);
  const double took = in_processes(processes, [&](int) {
    const auto peer = kind.make();
    if (!peer->open(directory)) ::_exit(1);
    if (peer->get(recipe) >= 0 || peer->wait_for_turn(recipe) || peer->get(recipe) >= 0) {
      if (peer->get(recipe) < 0) ::_exit(1);
      return;
    }
    std::this_thread::sleep_for(kMaking);
    ++shared().made;
    if (!peer->put(recipe, product)) ::_exit(1);
    peer->end_turn();
  });
  std::printf("{\"ms_over_making\": %.3f, \"made\": %d, \"failed\": %d}\n", took / 1e3 - 20,
              shared().made.load(), shared().failed.load());
  return 0;
}

int hammer(const PeerKind& kind, const std::string& directory, int processes) {
  std::vector<std::string> products;
  for (int i = 0; i < 500; ++i) products.push_back(product_of(20'000, i));
  const double took = in_processes(processes, [&](int which) {
    const auto peer = kind.make();
    if (!peer->open(directory)) ::_exit(1);
    std::uint64_t random = static_cast<std::uint64_t>(which) + 1;
    std::uint64_t gets = 0, puts = 0;
    const double end = now_us() + 1e6;
    while (now_us() < end) {
      random = random * 6364136223846793005 + 1442695040888963407;
      const int number = static_cast<int>(random >> 33) % 500;
      const larder::Recipe recipe = recipe_of("hammer", number);
      if ((random >> 20) % 10 < 3) {
        if (!peer->put(recipe, products[static_cast<std::size_t>(number)])) ::_exit(1);
        ++puts;
      } else {
        const std::int64_t got = peer->get(recipe);
        if (got >= 0 && got != 20'000) ::_exit(1);
        ++gets;
      }
    }
    shared().gets += gets;
    shared().puts += puts;
  });
  std::printf("{\"gets_per_s\": %.0f, \"puts_per_s\": %.0f, \"failed\": %d}\n",
              static_cast<double>(shared().gets) / took * 1e6,
              static_cast<double>(shared().puts) / took * 1e6, shared().failed.load());
  return 0;
}

int evict(const std::string& directory, int count, bool realtime) {
  larder::StoreOptions options;
  options.root = directory;
  options.free_bytes_min = 0;
  options.bytes_max = 0;
  {
    auto store = larder::Store::open(options);
    if (!store) return 2;
    const std::string product = product_of(1000, 1);
    for (int i = 0; i < count; ++i) (*store)->put(recipe_of("evict", i), larder::as_bytes(product));
    while (!(*store)->upkeep(std::chrono::seconds(1)).is_done) continue;
  }
  rusage before{};
  ::getrusage(RUSAGE_SELF, &before);
  options.bytes_max = static_cast<std::uint64_t>(count) * 1000;  // the heads do not fit
  auto store = larder::Store::open(options);
  if (!store) return 2;
  // Only from here on: a process that is so for seconds is stopped for a while by the kernel.
  const sched_param first = {.sched_priority = 1};
  if (realtime && ::sched_setscheduler(0, SCHED_FIFO, &first) != 0) return 2;
  std::vector<double> pauses, works;
  std::uint64_t evicted = 0;
  for (bool is_done = false; !is_done && pauses.size() < 5000;) {
    const double begin = now_us(), work = worked_us();
    const larder::UpkeepReport report = (*store)->upkeep((*store)->options().step_max);
    pauses.push_back(now_us() - begin);
    works.push_back(worked_us() - work);
    evicted += report.evicted_entries;
    is_done = report.is_done;
  }
  rusage after{};
  ::getrusage(RUSAGE_SELF, &after);
  std::sort(pauses.begin(), pauses.end());
  std::sort(works.begin(), works.end());
  std::printf(
      "{\"steps\": %zu, \"evicted\": %lu, \"median_us\": %.0f, \"p99_us\": %.0f, \"longest_us\": %.0f, "
      "\"longest_processor_us\": %.0f, \"rss_growth_kb\": %ld}\n",
      pauses.size(), static_cast<unsigned long>(evicted), pauses[pauses.size() / 2],
      pauses[pauses.size() * 99 / 100], pauses.back(), works.back(), after.ru_maxrss - before.ru_maxrss);
  return 0;
}
