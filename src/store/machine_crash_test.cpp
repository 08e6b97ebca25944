// The real thing beside the simulated one: a file system shut down under its writers, and a process killed at
// every system call that it really makes.
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <csignal>

#include "store/store_test_kit.hpp"

namespace larder {
namespace {

// linux/ext4.h has these from Linux 6.4 on.
constexpr unsigned long kExt4Shutdown = _IOR('X', 125, std::uint32_t);
constexpr std::uint32_t kWithoutFlushingTheLog = 2;

// A store on an ext4 of its own, in a file.
class StorePowerCut : public StoreTest {
 protected:
  StorePowerCut() : image_(scratch_.path() + "/disk"), mount_(scratch_.path() + "/mount") {
    std::filesystem::create_directory(mount_);
    options_.root = mount_ + "/root";
  }
  ~StorePowerCut() override { ::umount2(mount_.c_str(), MNT_DETACH); }

  bool make_disk() {
    write_file(image_, "");
    std::filesystem::resize_file(image_, 16 << 20);
    return ::geteuid() == 0 && run("mkfs.ext4 -q -F " + image_) && mount_disk();
  }
  bool mount_disk() { return run("mount -o loop " + image_ + ' ' + mount_); }
  // From here on nothing reaches the disk, and what only memory knew is lost.
  bool cut_power() {
    const int fd = ::open(mount_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    std::uint32_t how = kWithoutFlushingTheLog;
    const bool is_cut = ::ioctl(fd, kExt4Shutdown, &how) == 0;
    ::close(fd);
    return is_cut;
  }
  bool start_again() { return ::umount(mount_.c_str()) == 0 && mount_disk(); }

  // Writers are at work, some of them durably, when power goes; what was acknowledged durably must be there
  // afterwards, and nothing torn may be served.
  void cut_and_check(int rounds);

  static constexpr const char* kWhySkipped = "takes root, mkfs.ext4, and loop devices that can be mounted";

 private:
  static bool run(const std::string& command) {
    return std::system(("PATH=$PATH:/sbin:/usr/sbin; " + command + " >/dev/null 2>&1").c_str()) == 0;
  }
  const std::string image_;
  const std::string mount_;
};

void StorePowerCut::cut_and_check(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const int first = round * 1000;
    const std::string heard = scratch_.path() + "/acknowledged";  // not on the disk that loses power
    write_file(heard, "");
    std::vector<pid_t> writers;
    for (const bool durable : {true, false}) {
      const pid_t child = fork_process();
      if (child == 0) {
        options_.durable = durable;
        auto store = Store::open(options_);
        if (!store) ::_exit(1);
        const int say = ::open(heard.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
        for (int i = 0; i < 400; ++i) {
          const int number = first + (durable ? i : 500 + i);
          const PutResult result = (*store)->put(recipe_for(number), as_bytes(product_of(number)));
          const std::string line = std::to_string(number) + '\n';
          if (durable && result && ::write(say, line.data(), line.size()) < 0) ::_exit(1);
          if (!result) break;  // power is gone
        }
        ::_exit(0);
      }
      writers.push_back(child);
    }
    while (read_file(heard).size() < static_cast<std::size_t>(20 + round * 7 % 150)) {
      if (::waitpid(writers.front(), nullptr, WNOHANG) != 0) break;
      std::this_thread::yield();
    }
    ASSERT_TRUE(cut_power());
    for (const pid_t child : writers) ::waitpid(child, nullptr, 0);
    ASSERT_TRUE(start_again());

    const auto store = open();
    ASSERT_TRUE(store) << "a disk that lost power must not lose the store";
    int torn = 0;
    for (int number = first; number < first + 1000; ++number) {
      const Lookup found = store->get(recipe_for(number));
      if (found) {
        ASSERT_EQ(found.entry.product.text(), product_of(number));
      }
      torn += !found && found.reason != Reason::absent ? 1 : 0;
    }
    RecordProperty("torn_and_caught", torn);
    std::ifstream acknowledged(heard);
    int durable_entries = 0;
    for (int number = 0; acknowledged >> number; ++durable_entries) {
      ASSERT_EQ(store->get(recipe_for(number)).entry.product.text(), product_of(number)) << "round " << round;
    }
    ASSERT_GT(durable_entries, 0);
    if (round % 10 == 9) std::filesystem::remove_all(options_.root);
  }
}

TEST_F(StorePowerCut, ServesNothingTornAndKeepsWhatIsDurable) {
  if (!make_disk()) GTEST_SKIP() << kWhySkipped;
  cut_and_check(3);
}

class StressStorePowerCut : public StorePowerCut {};

TEST_F(StressStorePowerCut, AHundredTimesServesNothingTornAndKeepsWhatIsDurable) {
  if (!make_disk()) GTEST_SKIP() << kWhySkipped;
  cut_and_check(100);
}

class StoreStepped : public StoreTest {
 protected:
  // Runs `body` in a child and kills it at the `at`-th stop, one before and one after each system call. False
  // when it came to its end before; nothing when this machine allows no tracing.
  static std::optional<bool> kill_at(int at, const std::function<void()>& body) {
    const pid_t child = fork_process();
    if (child == 0) {
      if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(99);
      ::raise(SIGSTOP);
      body();
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status)) return std::nullopt;
    for (int stop = 0;; ++stop) {
      if (stop == at) {
        ::kill(child, SIGKILL);
        ::waitpid(child, &status, 0);
        return true;
      }
      if (::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) != 0) std::abort();
      ::waitpid(child, &status, 0);
      if (WIFEXITED(status)) return false;
    }
  }
};

TEST_F(StoreStepped, PutIsKilledAtEverySystemCallAndLeavesTheOldStateOrTheNew) {
  const Recipe old = recipe_for("old");
  const Recipe fresh = recipe_for("new");
  open()->put(old, as_bytes("old product"));
  for (const bool durable : {false, true}) {
    options_.durable = durable;
    int lost = 0;
    int kept = 0;
    int at = 0;
    for (bool goes_on = true; goes_on; ++at) {
      ASSERT_LT(at, 400);
      const auto writer = open();
      const auto killed = kill_at(at, [&] { writer->put(fresh, as_bytes("new product")); });
      if (!killed) GTEST_SKIP() << "this machine allows no tracing (ptrace)";
      goes_on = *killed;
      const auto store = open();
      ASSERT_EQ(store->get(old).entry.product.text(), "old product");
      const Lookup found = store->get(fresh);
      if (found) {
        ASSERT_EQ(found.entry.product.text(), "new product");
      } else {
        ASSERT_EQ(found.reason, Reason::absent) << "a writer's death is no damage";
      }
      ++(found ? kept : lost);
      store->erase(fresh.key());
    }
    EXPECT_GT(at, 20);
    EXPECT_GT(lost, 10);
    EXPECT_GT(kept, 2);
  }
}

}  // namespace
}  // namespace larder
