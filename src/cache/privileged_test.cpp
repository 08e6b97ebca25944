// A process that has more rights than its user does not believe that user's environment: a set-user-id copy
// of this program, run as somebody else, says what it would use and touches nothing of it.
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "cache/testing.hpp"
#include "store/places.hpp"

namespace larder {
namespace {

constexpr const char* kProbe = "LARDER_TEST_PROBE";
constexpr uid_t kOwner = 65'533;
constexpr uid_t kCaller = 65'534;

// The probe runs before main and does not come back.
const bool is_probe = [] {
  const char* const answers = std::getenv(kProbe);
  if (answers == nullptr) return false;
  const auto root = default_store_root();
  std::printf("privileged %d\nroot %s\nlocks %s\n", ::getauxval(AT_SECURE) != 0 ? 1 : 0,
              root ? root->c_str() : "refused", default_lock_directory().c_str());
  {
    Cache cache = Cache::open();
    const auto made = cache.get_or_make(testing::recipe_of("a"), [] { return std::string("bytes"); });
    std::printf("made %d\n", made && made->bytes.text() == "bytes" ? 1 : 0);
    cache.flush(std::chrono::seconds(10));
  }
  std::fflush(stdout);
  ::_exit(0);
}();

class Privileged : public ::testing::Test {
 protected:
  // What a copy of this program with that mode answers when kCaller runs it in an environment that names a
  // place for everything.
  std::string ask(mode_t mode) {
    ::chmod(scratch_.path().c_str(), 0755);
    const std::string copy = scratch_.path() + "/probe";
    std::filesystem::copy_file("/proc/self/exe", copy, std::filesystem::copy_options::overwrite_existing);
    if (::chown(copy.c_str(), kOwner, kOwner) != 0 || ::chmod(copy.c_str(), mode) != 0) return "chown failed";
    std::filesystem::create_directories(trap_);
    ::chmod(trap_.c_str(), 0777);
    const std::string answer = scratch_.path() + "/answer";
    std::ofstream(answer).close();
    ::chmod(answer.c_str(), 0666);
    const pid_t child = ::fork();
    if (child == 0) {
      if (std::freopen(answer.c_str(), "w", stdout) == nullptr) ::_exit(96);
      ::setenv(kProbe, "1", 1);
      ::setenv("LARDER_DIR", (trap_ + "/dir").c_str(), 1);
      ::setenv("LARDER_LOG", (trap_ + "/log").c_str(), 1);
      ::setenv("XDG_CACHE_HOME", (trap_ + "/cache").c_str(), 1);
      ::setenv("XDG_RUNTIME_DIR", (trap_ + "/run").c_str(), 1);
      ::setenv("HOME", (trap_ + "/home").c_str(), 1);
      if (::setgid(kCaller) != 0 || ::setuid(kCaller) != 0) ::_exit(97);
      ::execl(copy.c_str(), copy.c_str(), nullptr);
      ::_exit(98);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    std::ifstream in(answer);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::size_t trapped() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(trap_), {}));
  }

  testing::ScratchDirectory scratch_;
  const std::string trap_ = scratch_.path() + "/trap";
};

TEST_F(Privileged, ProcessBelievesNothingOfItsCallersEnvironment) {
  if (::geteuid() != 0) GTEST_SKIP() << "making a set-user-id copy for another user takes root";
  const std::string plain = ask(0755);
  ASSERT_NE(plain.find("privileged 0\n"), std::string::npos) << plain;
  EXPECT_NE(plain.find("root " + trap_ + "/dir\n"), std::string::npos) << plain;
  EXPECT_NE(plain.find("made 1\n"), std::string::npos) << plain;
  EXPECT_GT(trapped(), 0u) << "without more rights the environment counts";
  std::filesystem::remove_all(trap_);

  const std::string answer = ask(04755);
  if (answer.find("privileged 0\n") != std::string::npos) {
    GTEST_SKIP() << "the temporary directory is on a file system without set-user-id";
  }
  EXPECT_NE(answer.find("root refused\n"), std::string::npos) << answer;
  EXPECT_EQ(answer.find(trap_), std::string::npos) << answer;
  EXPECT_NE(answer.find("made 1\n"), std::string::npos) << "it works, without a disk";
  EXPECT_EQ(trapped(), 0u);
}

}  // namespace
}  // namespace larder
