#include "base/fork.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace larder {
namespace {

std::string* calls = nullptr;

void upper_prepare() noexcept {
  *calls += "U";
}
void upper_parent() noexcept {
  *calls += "u";
}
void upper_child() noexcept {
  *calls += "v";
}
void lower_prepare() noexcept {
  *calls += "L";
}
void lower_parent() noexcept {
  *calls += "l";
}
void lower_child() noexcept {
  *calls += "m";
}

TEST(Fork, RunsHandlersDownTheFloorsBeforeAndUpAfter) {
  std::string seen;
  calls = &seen;
  at_fork(3, {upper_prepare, upper_parent, upper_child});
  at_fork(1, {lower_prepare, lower_parent, lower_child});
  at_fork(3, {upper_prepare, upper_parent, upper_child});  // the second time changes nothing
  const pid_t child = fork();
  if (child == 0) _exit(seen == "ULmv" ? 0 : 1);
  ASSERT_GT(child, 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(seen, "ULlu");
  calls = new std::string;  // forks of later tests in this process still run the handlers
}

}  // namespace
}  // namespace larder
