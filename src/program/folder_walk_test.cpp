#include "program/folder_walk.hpp"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace larder {
namespace {

namespace fs = std::filesystem;

class FolderWalks : public ::testing::Test {
 protected:
  FolderWalks() {
    std::string name = fs::temp_directory_path() / "larder-walk-XXXXXX";
    root_ = ::mkdtemp(name.data());
    fs::create_directories(root_ / "a/b/c");
    fs::create_directories(root_ / "ab");
    for (const char* const file : {"one.h", "a/one.h", "a/b/one.h", "a/b/c/one.h", "a/b/two.h", "ab/one.h"})
      std::ofstream(root_ / file) << file;
    fs::create_directory_symlink("a/b", root_ / "link");
    fs::create_directory_symlink("round", root_ / "round");
  }
  ~FolderWalks() override { fs::remove_all(root_); }

  std::vector<std::string> paths() const {
    std::vector<std::string> all{"/", "/etc", "none.h", "./none/one.h"};
    for (const char* const below : {"one.h",
                                    "a",
                                    "a/",
                                    "a/one.h",
                                    "a/b/one.h",
                                    "a/b/c/one.h",
                                    "a/b/two.h",
                                    "a/b/none.h",
                                    "ab/one.h",
                                    "a/c/one.h",
                                    "a/c/d/one.h",
                                    "a/c/d/e/two.h",
                                    "a//b/one.h",
                                    "a/b/../one.h",
                                    "a/b/c/../../../ab/one.h",
                                    "link/one.h",
                                    "link/../one.h",
                                    "link/c/one.h",
                                    "round/one.h",
                                    "round/a/one.h",
                                    "one.h/one.h",
                                    "one.h/a/one.h",
                                    "a/./b/one.h"})
      all.push_back(root_.string() + '/' + below);
    return all;
  }
  static void expect_as_stat(FolderWalk& walk, const std::string& path) {
    struct stat expected {};
    struct stat found {};
    const int error = ::stat(path.c_str(), &expected) == 0 ? 0 : errno;
    ASSERT_EQ(walk.status(path, found), error) << path;
    if (error != 0) return;
    EXPECT_EQ(found.st_ino, expected.st_ino) << path;
    EXPECT_EQ(found.st_dev, expected.st_dev) << path;
    const int fd = walk.open(path);
    struct stat opened {};
    ASSERT_GE(fd, 0) << path;
    EXPECT_EQ(::fstat(fd, &opened), 0);
    EXPECT_EQ(opened.st_ino, expected.st_ino) << path;
    ::close(fd);
  }

  fs::path root_;
};

TEST_F(FolderWalks, AnswersWhatStatAndOpenAnswerInAnyOrder) {
  std::mt19937 random(7);
  std::vector<std::string> all = paths();
  for (int round = 0; round < 200; ++round) {
    FolderWalk walk;
    std::shuffle(all.begin(), all.end(), random);
    for (const std::string& path : all) expect_as_stat(walk, path);
  }
}

TEST_F(FolderWalks, SeesWhatComesAndGoesInAFolderThatItKnows) {
  FolderWalk walk;
  expect_as_stat(walk, root_ / "a/b/new.h");
  std::ofstream(root_ / "a/b/new.h") << "new";
  expect_as_stat(walk, root_ / "a/b/new.h");
  fs::remove(root_ / "a/b/two.h");
  expect_as_stat(walk, root_ / "a/b/two.h");
}

TEST_F(FolderWalks, HoldsFewDescriptorsHoweverDeepAPathIsAndNoneAfterwards) {
  fs::path deep = root_;
  std::vector<std::string> all;
  for (int i = 0; i < 60; ++i) {
    deep /= "d";
    fs::create_directory(deep);
    std::ofstream(deep / "one.h") << i;
    all.push_back(deep / "one.h");
  }
  const auto count = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = count();
  {
    FolderWalk walk;
    for (const std::string& path : all) expect_as_stat(walk, path);
    EXPECT_LE(count(), before + 24);
  }
  EXPECT_EQ(count(), before);
}

TEST_F(FolderWalks, NeedsNoDescriptorToLook) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{0, limit.rlim_max};
  FolderWalk walk;
  struct stat found {};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const int there = walk.status((root_ / "a/b/one.h").string(), found);
  const int absent = walk.status((root_ / "a/c/one.h").string(), found);
  const int fd = walk.open((root_ / "a/b/one.h").string());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(there, 0);
  EXPECT_EQ(absent, ENOENT);
  EXPECT_EQ(fd, -EMFILE);
}

}  // namespace
}  // namespace larder
