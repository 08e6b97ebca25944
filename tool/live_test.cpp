// The commands on a store that other processes use at the same time.
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "tool/store_tool_test_kit.hpp"

namespace larder::tool {
namespace {

using Parsed = nlohmann::json;

class LiveStore : public StoreToolTest {
 protected:
  static constexpr int kRecipes = 60;

  struct Shared {
    std::atomic<bool> is_over{false};
    std::atomic<std::uint64_t> puts{0};
    std::atomic<std::uint64_t> hits{0};
  };

  LiveStore() {
    void* const memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    shared_ = ::new (memory) Shared;
  }
  ~LiveStore() override {
    end();
    ::munmap(shared_, sizeof(Shared));
  }

  static std::string product_of(int number) {
    return std::string(static_cast<std::size_t>(100 + number * 500), static_cast<char>('a' + number % 26));
  }
  // A process that puts, gets and erases until end(); it fails when a hit is not what was put.
  void begin(int processes) {
    for (int which = 0; which < processes; ++which) {
      const pid_t child = ::fork();
      if (child < 0) std::abort();
      if (child == 0) ::_exit(use(which));
      children_.push_back(child);
    }
    while (shared_->puts < 10 || shared_->hits < 10) ::sched_yield();
  }
  // How many of them failed.
  int end() {
    shared_->is_over = true;
    int failed = 0;
    for (const pid_t child : children_) {
      int status = 0;
      ::waitpid(child, &status, 0);
      failed += WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
    }
    children_.clear();
    return failed;
  }
  Parsed asked(std::vector<std::string> words) {
    words.emplace_back("--json");
    EXPECT_EQ(larder(words), kDone) << words.front() << ": " << out << err;
    return Parsed::parse(out);
  }

  Shared* shared_;

 private:
  int use(int which) const {
    const auto store = open();
    for (int i = which; !shared_->is_over; ++i) {
      const int number = i * 7 % kRecipes;
      const Recipe one = recipe(std::to_string(number));
      if (i % 11 == 0) store->erase(one.key());
      if (const Lookup found = store->get(one)) {
        if (found.entry.product.text() != product_of(number)) return 1;
        ++shared_->hits;
      } else {
        if (found.reason != Reason::absent) return 2;  // nothing is ever damaged, nor half there
        store->put(one, as_bytes(product_of(number)));
        ++shared_->puts;
      }
    }
    return 0;
  }
  std::vector<pid_t> children_;
};

TEST_F(LiveStore, IsVerifiedCollectedAndClearedSafelyWhileOthersUseIt) {
  begin(3);
  for (int round = 0; round < 12; ++round) {
    const Parsed verified = asked({"verify"});
    EXPECT_EQ(verified["checked"], verified["sound"]);
    EXPECT_TRUE(verified["damaged"].empty()) << out;
    EXPECT_LE(verified["checked"], kRecipes);
    const Parsed removed = asked({"verify", "--remove"});
    EXPECT_TRUE(removed["damaged"].empty()) << out;
    asked({"gc"});
    const Parsed cleared = asked({"clear", "--all"});
    EXPECT_LE(cleared["gone_entries"], kRecipes);
  }
  EXPECT_EQ(end(), 0) << "a hit was wrong, or a miss had another reason than absence";
}

TEST_F(LiveStore, IsCountedAlikeByAllCommandsWhenTheOthersHaveEnded) {
  begin(3);
  for (int round = 0; round < 4; ++round) {
    asked({"clear", "--kind", "test-kind"});
    asked({"gc"});
  }
  EXPECT_EQ(end(), 0);
  asked({"gc"});
  const Parsed listed = asked({"ls"});
  std::uint64_t bytes = 0;
  for (const Parsed& row : listed["entries"]) bytes += row["file_bytes"].get<std::uint64_t>();
  const Parsed counted = asked({"stats"});
  EXPECT_EQ(counted["entries"], listed["entries"].size());
  EXPECT_EQ(counted["bytes"], bytes);
  EXPECT_EQ(asked({"verify"})["checked"], listed["entries"].size());
  const Parsed cleared = asked({"clear", "--all"});
  EXPECT_EQ(cleared["gone_entries"], listed["entries"].size());
  EXPECT_EQ(cleared["gone_bytes"], bytes);
  EXPECT_EQ(cleared["entries"], 0);
}

}  // namespace
}  // namespace larder::tool
