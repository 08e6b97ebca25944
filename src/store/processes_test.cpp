// Many at once: threads, processes, forks, and the turns that they take to make a product.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <atomic>
#include <csignal>

#include "store/places.hpp"
#include "store/store_test_kit.hpp"

namespace larder {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Counters that children share with their parent.
struct Shared {
  std::atomic<int> made{0};
  std::atomic<int> hits{0};
  std::atomic<int> wrong{0};
  std::atomic<int> other{0};
  std::atomic<int> ready{0};
  std::atomic<int> go{0};
  std::atomic<std::int64_t> longest_ns{0};
};

class StoreProcesses : public StoreTest {
 protected:
  StoreProcesses() {
    void* const memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    shared_ = ::new (memory) Shared;
  }
  ~StoreProcesses() override { ::munmap(shared_, sizeof(Shared)); }

  pid_t child(const std::function<int()>& body) {
    const pid_t pid = fork_process();
    if (pid == 0) ::_exit(body());
    return pid;
  }
  static int wait_for(pid_t pid) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  static std::int64_t now_ns() { return Clock::system().steady().count(); }

  // What the cache does on a miss.
  void get_or_make(Store& store, const Recipe& recipe, milliseconds making) {
    if (store.get(recipe)) {
      ++shared_->hits;
      return;
    }
    const MakeTurn turn = store.wait_for_turn(recipe.key(), making);
    if (turn.turn == Turn::published && store.get(recipe)) {
      ++shared_->hits;
      return;
    }
    ++shared_->made;
    std::this_thread::sleep_for(making);
    store.put(recipe, as_bytes("product"), {.cost = making, .log = {}, .attachment = {}});
  }

  // Eight processes get, put and evict for so long; the parent watches the sum.
  // `most_max`: what the store may hold at most at any time.
  void read_write_and_evict(seconds time, std::uint64_t most_max);

  Shared* shared_;
};

TEST_F(StoreProcesses, SixtyFourAtOnceMakeAProductOnce) {
  open();
  const Recipe recipe = recipe_for("everybody's");
  std::vector<pid_t> children;
  for (int i = 0; i < 64; ++i) {
    children.push_back(child([&] {
      ++shared_->ready;
      while (shared_->go == 0) std::this_thread::sleep_for(milliseconds(1));
      auto store = Store::open(options_);
      if (!store) return 1;
      get_or_make(**store, recipe, milliseconds(100));
      return 0;
    }));
  }
  while (shared_->ready < 64) std::this_thread::sleep_for(milliseconds(1));
  shared_->go = 1;
  for (const pid_t pid : children) EXPECT_EQ(wait_for(pid), 0);
  EXPECT_EQ(shared_->made, 1);
  EXPECT_EQ(shared_->hits, 63);
}

TEST_F(StoreProcesses, TakeOverFromOneThatDied) {
  const auto store = open();
  const Recipe recipe = recipe_for("a");
  const pid_t holder = child([&] {
    const MakeTurn turn = store->wait_for_turn(recipe.key(), seconds(10));
    shared_->ready = turn.turn == Turn::mine ? 1 : 2;
    ::pause();
    return 0;
  });
  while (shared_->ready == 0) std::this_thread::sleep_for(milliseconds(1));
  ASSERT_EQ(shared_->ready, 1);
  std::thread killer([&] {
    std::this_thread::sleep_for(milliseconds(50));
    shared_->longest_ns = now_ns();
    ::kill(holder, SIGKILL);
  });
  const MakeTurn turn = store->wait_for_turn(recipe.key(), seconds(10));
  const std::int64_t took_over = now_ns();
  killer.join();
  wait_for(holder);
  EXPECT_EQ(turn.turn, Turn::mine);
  // At its next look, however busy the machine is; not at the end of its bound, which is 30 s away.
  EXPECT_LT(took_over - shared_->longest_ns, 5'000'000'000);
}

TEST_F(StoreProcesses, DoNotWaitForEverForOneThatHangs) {
  const auto store = open();
  const Recipe recipe = recipe_for("a");
  const pid_t holder = child([&] {
    const MakeTurn turn = store->wait_for_turn(recipe.key(), milliseconds(1));
    shared_->ready = 1;
    ::raise(SIGSTOP);
    return turn.turn == Turn::mine ? 0 : 1;
  });
  while (shared_->ready == 0) std::this_thread::sleep_for(milliseconds(1));
  const std::int64_t begin = now_ns();
  const MakeTurn turn = store->wait_for_turn(recipe.key(), milliseconds(1));
  EXPECT_EQ(turn.turn, Turn::timed_out);
  EXPECT_GE(now_ns() - begin, 190'000'000);
  EXPECT_LT(now_ns() - begin, 2'000'000'000);
  ::kill(holder, SIGKILL);
  wait_for(holder);
}

TEST_F(StoreProcesses, LetGoOfATurnAlthoughAForkedChildLivesOn) {
  const auto store = open();
  const Recipe recipe = recipe_for("a");
  auto mine = std::make_unique<MakeTurn>(store->wait_for_turn(recipe.key(), seconds(10)));
  ASSERT_EQ(mine->turn, Turn::mine);
  const pid_t sharer = child([&] {
    mine.reset();  // the child's copy is not the turn
    shared_->ready = 1;
    ::pause();
    return 0;
  });
  while (shared_->ready == 0) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(store->wait_for_turn(recipe.key(), milliseconds(1)).turn, Turn::timed_out);
  mine.reset();
  EXPECT_EQ(store->wait_for_turn(recipe.key(), milliseconds(1)).turn, Turn::mine);
  ::kill(sharer, SIGKILL);
  wait_for(sharer);
}

TEST_F(StoreProcesses, AreToldWhenTheEntryAppearsBeforeTheLockIsFree) {
  const auto store = open();
  const Recipe recipe = recipe_for("a");
  const MakeTurn mine = store->wait_for_turn(recipe.key());
  ASSERT_EQ(mine.turn, Turn::mine);
  std::thread maker([&] {
    std::this_thread::sleep_for(milliseconds(30));
    store->put(recipe, as_bytes("product"));
  });
  EXPECT_EQ(store->wait_for_turn(recipe.key(), seconds(5)).turn, Turn::published);
  maker.join();
}

TEST_F(StoreProcesses, DoNotWaitForEachOthersKeys) {
  const auto store = open();
  const MakeTurn one = store->wait_for_turn(recipe_for("one").key());
  const MakeTurn two = store->wait_for_turn(recipe_for("two").key());
  EXPECT_EQ(one.turn, Turn::mine);
  EXPECT_EQ(two.turn, Turn::mine);
  EXPECT_EQ(mode_of(options_.lock_directory), static_cast<mode_t>(S_IFDIR | 0700));
}

TEST_F(StoreProcesses, MakeWithoutATurnWhereLocksHaveNoSafePlace) {
  std::filesystem::create_directory(options_.lock_directory);
  ::chmod(options_.lock_directory.c_str(), 0777);
  EXPECT_EQ(open()->wait_for_turn(recipe_for("a").key()).turn, Turn::unavailable);
  std::filesystem::remove(options_.lock_directory);
  std::filesystem::create_directory_symlink("/tmp", options_.lock_directory);
  EXPECT_EQ(open()->wait_for_turn(recipe_for("a").key()).turn, Turn::unavailable);
}

constexpr std::uint64_t kCap = 1'000'000;

void StoreProcesses::read_write_and_evict(seconds time, std::uint64_t most_max) {
  options_.bytes_max = kCap;
  open();
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    children.push_back(child([&, i] {
      auto store = Store::open(options_);
      if (!store) return 1;
      std::uint64_t random = static_cast<std::uint64_t>(i) + 1;
      const std::int64_t end = now_ns() + Nanoseconds(time).count();
      while (now_ns() < end) {
        random = random * 6364136223846793005 + 1442695040888963407;
        const int number = static_cast<int>(random >> 33) % 400;
        const std::string product(1000 + static_cast<std::size_t>(number) * 20,
                                  static_cast<char>('a' + number % 26));
        const Lookup found = (*store)->get(recipe_for(number));
        if (found && found.entry.product.text() == product) ++shared_->hits;
        if (found && found.entry.product.text() != product) ++shared_->wrong;
        if (!found && found.reason != Reason::absent) ++shared_->other;
        if (!found)
          (*store)->put(recipe_for(number), as_bytes(product),
                        {.cost = milliseconds(number), .log = {}, .attachment = {}});
      }
      return 0;
    }));
  }
  std::uint64_t most = 0;
  while (shared_->ready == 0) {
    std::uint64_t now = 0;
    // At rest, or what one of them removes and another writes meanwhile would both be counted.
    for (const pid_t pid : children) ::kill(pid, SIGSTOP);
    for (const auto& entry : std::filesystem::directory_iterator(version_path())) {
      if (!entry.is_directory()) continue;
      std::error_code error;
      for (std::filesystem::directory_iterator at(entry, error), end; !error && at != end;
           at.increment(error)) {
        if (at->path().filename().string().size() != 30) continue;
        const std::uintmax_t size = at->file_size(error);
        if (!error) now += size;
        error.clear();
      }
    }
    for (const pid_t pid : children) ::kill(pid, SIGCONT);
    most = std::max(most, now);
    if (::waitpid(children.back(), nullptr, WNOHANG) != 0) break;
    std::this_thread::sleep_for(milliseconds(20));
  }
  children.pop_back();
  for (const pid_t pid : children) EXPECT_EQ(wait_for(pid), 0);
  EXPECT_EQ(shared_->wrong, 0);
  EXPECT_EQ(shared_->other, 0);
  EXPECT_GT(shared_->hits, 100);
  EXPECT_LE(most, most_max);
  RecordProperty("most_bytes", static_cast<int>(most));
}

TEST_F(StoreProcesses, ReadWriteAndEvictTogether) {
  read_write_and_evict(seconds(1), kCap + kCap / 20);
}

class StressStoreProcesses : public StoreProcesses {};

TEST_F(StressStoreProcesses, ReadWriteAndEvictAMinuteLongWithinTheCap) {
  read_write_and_evict(seconds(60), kCap + kCap / 20);
}

TEST_F(StoreProcesses, ShareOneStoreAmongThreads) {
  options_.bytes_max = 300'000;
  options_.touch_after = Nanoseconds{0};
  const auto store = open();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 150; ++round) {
        const int number = (round * 13 + i * 7) % 120;
        const std::string product(static_cast<std::size_t>(number) * 50,
                                  static_cast<char>('a' + number % 26));
        const Lookup found = store->get(recipe_for(number), {.may_map = round % 2 == 0});
        if (found && found.entry.product.text() != product) ++wrong;
        if (!found) store->put(recipe_for(number), as_bytes(product));
        if (round % 40 == 0) store->upkeep(milliseconds(1), true);
        if (round % 30 == 0) store->erase(recipe_for(number).key());
        if (round % 50 == 0) store->usage();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(StoreProcesses, GoOnAfterAForkInTheMiddleOfOthersWork) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "GCC 12's AddressSanitizer may lock its allocator for ever in a busy process's child";
#endif
  const auto store = open();
  store->put(recipe_for(0), as_bytes("product"));
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      for (int number = i * 1000; !is_over; ++number) {
        store->put(recipe_for(number), as_bytes("product"));
        store->upkeep(milliseconds(1));
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    const pid_t pid = child([&, i] {
      ::alarm(20);
      const Recipe mine = recipe_for("child " + std::to_string(i));
      if (store->put(mine, as_bytes("child's")).state != PutState::stored) return 1;
      if (store->get(mine).entry.product.text() != "child's") return 2;
      return store->get(recipe_for(0)) ? 0 : 3;
    });
    EXPECT_EQ(wait_for(pid), 0);
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(store->get(recipe_for("child " + std::to_string(i))));
}

TEST_F(StoreProcesses, MissWhenThereAreNoDescriptorsLeft) {
  EXPECT_EQ(wait_for(child([&] {
              auto store = Store::open(options_);
              if (!store) return 1;
              (*store)->put(recipe_for("a"), as_bytes("product"));
              rlimit none{};
              ::getrlimit(RLIMIT_NOFILE, &none);
              none.rlim_cur = 0;
              ::setrlimit(RLIMIT_NOFILE, &none);
              if ((*store)->get(recipe_for("a")).reason != Reason::out_of_resources) return 2;
              if ((*store)->put(recipe_for("b"), as_bytes("x")).reason != Reason::out_of_resources) return 3;
              if ((*store)->wait_for_turn(recipe_for("b").key()).turn != Turn::unavailable) return 4;
              none.rlim_cur = 64;
              ::setrlimit(RLIMIT_NOFILE, &none);
              return (*store)->get(recipe_for("a")) ? 0 : 5;
            })),
            0);
}

class Places : public StoreProcesses {
 protected:
  // What `ask` says in a process with this environment.
  std::string with(const std::vector<std::pair<const char*, const char*>>& environment,
                   const std::function<std::string()>& ask) {
    const std::string answer = scratch_.path() + "/answer";
    EXPECT_EQ(wait_for(child([&] {
                for (const char* name : {"LARDER_DIR", "XDG_CACHE_HOME", "HOME", "XDG_RUNTIME_DIR"})
                  ::unsetenv(name);
                for (const auto& [name, value] : environment) ::setenv(name, value, 1);
                write_file(answer, ask());
                return 0;
              })),
              0);
    return read_file(answer);
  }
  static std::string root() {
    const auto found = default_store_root();
    return found ? *found : "error: " + found.error().what;
  }
};

TEST_F(Places, OfTheStoreFollowTheEnvironment) {
  EXPECT_EQ(with({{"LARDER_DIR", "/x"}, {"XDG_CACHE_HOME", "/y"}, {"HOME", "/z"}}, root), "/x");
  EXPECT_EQ(with({{"XDG_CACHE_HOME", "/y"}, {"HOME", "/z"}}, root), "/y/larder");
  EXPECT_EQ(with({{"HOME", "/z"}}, root), "/z/.cache/larder");
}

TEST_F(Places, AreNeverRelative) {
  EXPECT_EQ(with({{"LARDER_DIR", "x"}, {"XDG_CACHE_HOME", "y"}, {"HOME", "/z"}}, root), "/z/.cache/larder");
  EXPECT_EQ(with({{"XDG_CACHE_HOME", ""}, {"HOME", "/z"}}, root), "/z/.cache/larder");
}

TEST_F(Places, AreRefusedToAUserWithoutAHome) {
  if (::geteuid() != 0) GTEST_SKIP() << "becoming a user without an entry takes root";
  ::chmod(scratch_.path().c_str(), 0777);
  const std::string answer =
      with({}, [] { return ::setuid(1'000'123) == 0 ? root() : std::string("setuid failed"); });
  EXPECT_EQ(answer.substr(0, 7), "error: ");
  EXPECT_NE(answer.find("LARDER_DIR"), std::string::npos);
}

TEST_F(Places, OfLocksArePerUser) {
  EXPECT_EQ(with({{"XDG_RUNTIME_DIR", "/run/x"}}, default_lock_directory), "/run/x/larder");
  const std::string user = std::to_string(::geteuid());
  const std::string fallback = with({{"XDG_RUNTIME_DIR", "relative"}}, default_lock_directory);
  EXPECT_TRUE(fallback == "/run/user/" + user + "/larder" || fallback == "/tmp/larder-" + user) << fallback;
}

}  // namespace
}  // namespace larder
