#include "program/file_turns.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "cache/testing.hpp"

namespace larder::testing {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class FileTurnsTest : public ::testing::Test {
 protected:
  FileTurnsTest() { fs::create_directory(options_.driver_directory); }

  // Runs `body` in a process of its own.
  template <typename Body>
  pid_t child(Body body) {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(body());
    children_.push_back(pid);
    return pid;
  }
  // What a driver does: looks for its file, and makes it where there is none, a line for each time.
  void make(const char* name) const {
    const fs::path file = fs::path(options_.driver_directory) / name;
    if (fs::exists(file)) return;
    std::ofstream(made_, std::ios::app) << name << std::endl;
    std::this_thread::sleep_for(30ms);
    std::ofstream(file) << "made";
  }
  long made() const {
    std::ifstream lines(made_);
    return std::count(std::istreambuf_iterator<char>(lines), {}, '\n');
  }
  void wait_for_all() {
    for (const pid_t each : children_) {
      int status = -1;
      ::waitpid(each, &status, 0);
      EXPECT_EQ(status, 0);
    }
    children_.clear();
  }
  void wait_for_file(const char* name) const {
    while (!fs::exists(scratch_.path() + name)) std::this_thread::sleep_for(1ms);
  }

  ScratchDirectory scratch_;
  FileTurnsOptions options_{.driver_directory = scratch_.path() + "/driver",
                            .lock_directory = scratch_.path() + "/run"};
  std::string made_ = scratch_.path() + "/made";
  std::vector<pid_t> children_;
};

Key key(std::uint64_t number) {
  return {number, 1000 + 3 * number};
}

TEST_F(FileTurnsTest, SixtyFourProcessesHaveEachFileMadeOnce) {
  for (int i = 0; i < 64; ++i) {
    child([&] {
      const FileTurns turns(options_);
      for (const char* const name : {"one", "two", "three"}) {
        FileTurn turn = turns.take(key(static_cast<std::uint64_t>(name[1])));
        make(name);
        turn.finish();
      }
      return 0;
    });
  }
  wait_for_all();
  EXPECT_EQ(made(), 3);
}

TEST_F(FileTurnsTest, WhatIsMarkedIsNotWaitedFor) {
  const FileTurns turns(options_);
  FileTurn first = turns.take(key(1));
  EXPECT_TRUE(first.is_held());
  first.finish();
  EXPECT_FALSE(first.is_held());
  EXPECT_FALSE(turns.take(key(1)).is_held());
  EXPECT_TRUE(turns.take(key(2)).is_held());
  FileTurns::forget(options_.driver_directory);
  EXPECT_TRUE(turns.take(key(1)).is_held());
}

TEST_F(FileTurnsTest, ATurnThatIsNotFinishedPassesOn) {
  const FileTurns turns(options_);
  { const FileTurn given_up = turns.take(key(1)); }
  EXPECT_TRUE(turns.take(key(1)).is_held());
}

TEST_F(FileTurnsTest, ATurnIsMovedAndEndsOnce) {
  const FileTurns turns(options_);
  FileTurn first = turns.take(key(1));
  FileTurn second = std::move(first);
  EXPECT_FALSE(first.is_held());  // NOLINT(bugprone-use-after-move): what is left of it
  EXPECT_TRUE(second.is_held());
  first.finish();
  second = FileTurn();
  EXPECT_TRUE(turns.take(key(1)).is_held()) << "what was moved from marks nothing";
}

TEST_F(FileTurnsTest, AKilledHoldersTurnIsTakenByAnother) {
  const pid_t holder = child([&] {
    const FileTurns turns(options_);
    const FileTurn turn = turns.take(key(1));
    std::ofstream(scratch_.path() + "/holds") << "";
    ::pause();
    return 0;
  });
  wait_for_file("/holds");
  std::thread killer([&] {
    std::this_thread::sleep_for(50ms);
    ::kill(holder, SIGKILL);
  });
  const FileTurns turns(options_);
  const FileTurn turn = turns.take(key(1));
  killer.join();
  EXPECT_TRUE(turn.is_held());
  EXPECT_FALSE(turns.has_given_up());
  ::waitpid(holder, nullptr, 0);
}

TEST_F(FileTurnsTest, AHungHolderCostsTheBoundAndThatOnce) {
  const pid_t holder = child([&] {
    const FileTurns turns(options_);
    const FileTurn one = turns.take(key(1));
    const FileTurn two = turns.take(key(2));
    std::ofstream(scratch_.path() + "/holds") << "";
    ::raise(SIGSTOP);
    return 0;
  });
  wait_for_file("/holds");
  options_.bound = 300ms;
  const FileTurns turns(options_);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(turns.take(key(1)).is_held());
  const auto first = std::chrono::steady_clock::now();
  EXPECT_TRUE(turns.has_given_up());
  EXPECT_FALSE(turns.take(key(2)).is_held());
  EXPECT_FALSE(turns.take(key(3)).is_held());
  const auto rest = std::chrono::steady_clock::now() - first;
  EXPECT_GE(first - begin, 290ms);
  EXPECT_LT(first - begin, 10s);
  EXPECT_LT(rest, 290ms);
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
}

TEST_F(FileTurnsTest, AForkedChildDoesNotEndItsParentsTurn) {
  const FileTurns turns(options_);
  FileTurn mine = turns.take(key(1));
  ASSERT_TRUE(mine.is_held());
  child([&] {
    mine = FileTurn();
    return 0;
  });
  wait_for_all();
  options_.bound = 50ms;
  EXPECT_FALSE(FileTurns(options_).take(key(1)).is_held());
  mine = FileTurn();
  EXPECT_TRUE(FileTurns(options_).take(key(1)).is_held());
}

TEST_F(FileTurnsTest, WhereNothingCanBeHeldNobodyWaits) {
  for (const char* const place : {"/proc/none", "", "/etc/passwd"}) {
    options_.lock_directory = place[0] == '\0' ? options_.lock_directory : place;
    if (place[0] == '\0') options_.driver_directory = "/nowhere";
    EXPECT_FALSE(FileTurns(options_).take(key(1)).is_held()) << place;
  }
}

TEST_F(FileTurnsTest, DirectoriesHaveTheirOwnTurns) {
  FileTurnsOptions other = options_;
  other.driver_directory = scratch_.path() + "/other";
  fs::create_directory(other.driver_directory);
  const FileTurns first(options_);
  const FileTurns second(other);
  const FileTurn one = first.take(key(1));
  EXPECT_TRUE(one.is_held());
  EXPECT_TRUE(second.take(key(1)).is_held());
}

TEST_F(FileTurnsTest, MarksThatCannotBeTrustedOrReadAreNone) {
  const FileTurns turns(options_);
  const std::string marks = options_.driver_directory + "/larder-turns";
  turns.take(key(1)).finish();
  ASSERT_TRUE(fs::exists(marks));
  fs::resize_file(marks, 3);
  EXPECT_TRUE(turns.take(key(1)).is_held()) << "cut off";
  turns.take(key(1)).finish();
  ::chmod(marks.c_str(), 0666);
  EXPECT_TRUE(turns.take(key(1)).is_held()) << "others may write it";
  fs::remove(marks);
  fs::create_symlink("/etc/passwd", marks);
  FileTurn turn = turns.take(key(1));
  EXPECT_TRUE(turn.is_held()) << "a link";
  turn.finish();
  fs::remove(marks);
  fs::create_directory(marks);
  EXPECT_TRUE(turns.take(key(1)).is_held()) << "a folder";
}

}  // namespace
}  // namespace larder::testing
