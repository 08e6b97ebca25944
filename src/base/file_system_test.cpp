#include "base/file_system.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/faulty_file_system.hpp"
#include "base/file.hpp"

namespace larder {
namespace {

class FileSystemTest : public ::testing::Test {
 protected:
  FileSystemTest() {
    if (::mkdtemp(path_.data()) == nullptr) std::abort();
    directory_ = File(files_, files_.open_at(AT_FDCWD, path_.c_str(), O_RDONLY | O_DIRECTORY));
  }
  ~FileSystemTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  int write_text(FileSystem& files, const char* path, std::string text) {
    const File file(files, files.open_at(directory_.fd(), path, O_WRONLY | O_CREAT | O_TRUNC, 0600));
    const iovec part = {text.data(), text.size()};
    return file.is_open() ? static_cast<int>(files.write(file.fd(), &part, 1)) : file.fd();
  }

  std::string path_ = "/tmp/larder-test-XXXXXX";
  FileSystem& files_ = FileSystem::posix();
  File directory_;
};

TEST_F(FileSystemTest, AnswersWithMinusErrno) {
  struct stat status {};
  EXPECT_EQ(files_.open_at(directory_.fd(), "none", O_RDONLY), -ENOENT);
  EXPECT_EQ(files_.status_at(directory_.fd(), "none", status), -ENOENT);
  EXPECT_EQ(files_.unlink_at(directory_.fd(), "none"), -ENOENT);
  EXPECT_EQ(files_.status(-1, status), -EBADF);
  char byte = 0;
  EXPECT_EQ(files_.read_at(-1, &byte, 1, 0), -EBADF);
  int error = 0;
  EXPECT_EQ(files_.map(-1, 4096, error), nullptr);
  EXPECT_EQ(error, -EBADF);
}

TEST_F(FileSystemTest, SeesWhateverHasAName) {
  ASSERT_EQ(write_text(files_, "file", "x"), 1);
  ASSERT_EQ(files_.make_directory_at(directory_.fd(), "folder", 0700), 0);
  std::filesystem::create_symlink("nowhere", path_ + "/dangling");
  ASSERT_EQ(::mkfifo((path_ + "/pipe").c_str(), 0600), 0);
  for (const char* there : {"file", "folder", "dangling", "pipe"})
    EXPECT_EQ(files_.presence_at(directory_.fd(), there), 0) << there;
  EXPECT_EQ(files_.presence_at(directory_.fd(), "none"), -ENOENT);
  EXPECT_EQ(files_.presence_at(directory_.fd(), "file/none"), -ENOTDIR);
  EXPECT_EQ(files_.presence_at(-1, "none"), -EBADF);
}

TEST_F(FileSystemTest, OpensNothingBehindALink) {
  ASSERT_EQ(files_.make_directory_at(directory_.fd(), "real", 0700), 0);
  ASSERT_EQ(write_text(files_, "real/file", "x"), 1);
  std::filesystem::create_directory_symlink(path_ + "/real", path_ + "/link");
  const File plain(files_, files_.open_beneath(directory_.fd(), "real/file", O_RDONLY));
  if (plain.fd() == -ENOSYS) GTEST_SKIP() << "takes Linux 5.6";
  EXPECT_TRUE(plain.is_open());
  EXPECT_EQ(files_.open_beneath(directory_.fd(), "link/file", O_RDONLY), -ELOOP);
  EXPECT_EQ(files_.open_beneath(directory_.fd(), "../", O_RDONLY), -EXDEV);
}

TEST_F(FileSystemTest, SetsTimesBefore1970Too) {
  ASSERT_EQ(write_text(files_, "file", "x"), 1);
  const File file(files_, files_.open_at(directory_.fd(), "file", O_RDONLY));
  struct stat status {};
  ASSERT_EQ(files_.set_times(file.fd(), -1'500'000'000), 0);
  ASSERT_EQ(files_.status(file.fd(), status), 0);
  EXPECT_EQ(status.st_mtim.tv_sec, -2);
  EXPECT_EQ(status.st_mtim.tv_nsec, 500'000'000);
}

TEST_F(FileSystemTest, LocksForOneDescriptionAtATime) {
  ASSERT_EQ(write_text(files_, "file", "x"), 1);
  const File one(files_, files_.open_at(directory_.fd(), "file", O_RDWR));
  File two(files_, files_.open_at(directory_.fd(), "file", O_RDWR));
  EXPECT_EQ(files_.lock(one.fd(), FileLock::exclusive, 7), 0);
  EXPECT_EQ(files_.lock(two.fd(), FileLock::exclusive, 7), -EAGAIN);
  EXPECT_EQ(files_.lock(two.fd(), FileLock::exclusive, 8), 0) << "another byte is another lock";
  EXPECT_EQ(files_.lock(one.fd(), FileLock::none, 7), 0);
  EXPECT_EQ(files_.lock(two.fd(), FileLock::exclusive, 7), 0);
  two.close();
  EXPECT_EQ(files_.lock(one.fd(), FileLock::exclusive, 7), 0) << "closing lets go";
}

TEST_F(FileSystemTest, MovesADescriptorsFileInPlace) {
  ASSERT_EQ(write_text(files_, "one", "1"), 1);
  ASSERT_EQ(write_text(files_, "two", "2"), 1);
  const File one(files_, files_.open_at(directory_.fd(), "one", O_RDONLY));
  const File two(files_, files_.open_at(directory_.fd(), "two", O_RDONLY));
  ASSERT_EQ(files_.replace(two.fd(), one.fd()), one.fd());
  char byte = 0;
  ASSERT_EQ(files_.read_at(one.fd(), &byte, 1, 0), 1);
  EXPECT_EQ(byte, '2');
}

TEST_F(FileSystemTest, FailsTheCallItIsToldToAndNoOther) {
  FaultyFileSystem faulty;
  Fault fault;
  fault.at = 1;
  fault.error = EIO;
  fault.only = FileCall::status;
  faulty.set(fault);
  struct stat status {};
  EXPECT_EQ(faulty.status_at(directory_.fd(), ".", status), 0);
  EXPECT_EQ(faulty.close(faulty.open_at(directory_.fd(), ".", O_RDONLY, 0)), 0);
  EXPECT_EQ(faulty.status_at(directory_.fd(), ".", status), -EIO);
  EXPECT_EQ(faulty.status_at(directory_.fd(), ".", status), 0);
  EXPECT_EQ(faulty.calls(FileCall::status), 3u);
  fault.for_ever = true;
  faulty.set(fault);
  EXPECT_EQ(faulty.status_at(directory_.fd(), ".", status), 0);
  EXPECT_EQ(faulty.status_at(directory_.fd(), ".", status), -EIO);
  EXPECT_EQ(faulty.status_at(directory_.fd(), ".", status), -EIO);
  EXPECT_EQ(faulty.open_descriptors(), 0);
}

TEST_F(FileSystemTest, ClosesEvenWhenClosingFails) {
  FaultyFileSystem faulty;
  const int fd = faulty.open_at(directory_.fd(), ".", O_RDONLY, 0);
  faulty.lack(FileCall::close, EIO);
  EXPECT_EQ(faulty.close(fd), -EIO);
  EXPECT_EQ(::fcntl(fd, F_GETFD), -1);
}

TEST_F(FileSystemTest, NamesEveryCall) {
  for (std::size_t i = 0; i < kFileCallCount; ++i) EXPECT_FALSE(name(static_cast<FileCall>(i)).empty());
  EXPECT_EQ(name(FileCall::unmap), "unmap");
}

}  // namespace
}  // namespace larder
