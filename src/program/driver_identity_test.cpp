#include "larder/driver_identity.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "larder/difference.hpp"
#include "larder/opencl.hpp"
#include "program/opencl_test_kit.hpp"

namespace larder {
namespace {

TEST(LibraryIdentity, NamesTheLibraryAndWhatItDependsOn) {
  const std::string identity = library_identity(reinterpret_cast<const void*>(&std::fopen));
  EXPECT_EQ(identity, library_identity(reinterpret_cast<const void*>(&std::fopen)));
  EXPECT_NE(identity.find("libc.so.6 "), std::string::npos) << identity;
  EXPECT_EQ(identity.find("libstdc++"), std::string::npos) << identity;
  const std::string with_more = library_identity(reinterpret_cast<const void*>(&std::fopen),
                                                 std::array<std::string_view, 1>{"libstdc++"});
  EXPECT_NE(with_more.find("libstdc++"), std::string::npos) << with_more;
}

TEST(LibraryIdentity, IsUnknownForNoLibrary) {
  const int somewhere = 0;
  EXPECT_EQ(library_identity(&somewhere), "");
  EXPECT_EQ(library_identity(nullptr), "");
}

TEST(ProcessorIdentity, IsKnownAndStays) {
  EXPECT_NE(processor_identity(), "");
  EXPECT_EQ(processor_identity(), processor_identity());
}

TEST(EnvironmentIdentity, HoldsWhatIsReadAndNothingElse) {
  constexpr std::string_view kPrefixes[] = {"LARDERTEST_"};
  constexpr std::string_view kExcept[] = {"LARDERTEST_CACHE"};
  const auto identity = [&] { return environment_identity(kPrefixes, kExcept); };
  EXPECT_EQ(identity(), "");
  ::setenv("LARDERTEST_B", "2", 1);
  ::setenv("LARDERTEST_A", "1", 1);
  ::setenv("LARDERTEST_CACHE", "3", 1);
  ::setenv("XLARDERTEST_C", "4", 1);
  EXPECT_EQ(identity(), "LARDERTEST_A=1\nLARDERTEST_B=2\n");
  for (const char* name : {"LARDERTEST_A", "LARDERTEST_B", "LARDERTEST_CACHE", "XLARDERTEST_C"})
    ::unsetenv(name);
}

class PoclIdentity : public ::testing::Test {
 protected:
  void SetUp() override {
    place_ = testing::open_opencl("Portable Computing Language");
    if (!place_.why_not.empty()) GTEST_SKIP() << place_.why_not;
    api_ = *OpenclApi::open(place_.context);
  }
  DeviceIdentity identity() const { return api_->identity(place_.device); }
  static std::string fact(const DeviceIdentity& identity, std::string_view name) {
    for (const auto& [each, value] : identity.facts) {
      if (each == name) return value;
    }
    return "no such fact";
  }
  testing::OpenclPlace place_;
  std::shared_ptr<OpenclApi> api_;
};

TEST_F(PoclIdentity, HoldsBuildIdsAndTheProcessor) {
  const DeviceIdentity found = identity();
  EXPECT_EQ(found.why_not, "");
  EXPECT_EQ(found, identity());
  EXPECT_NE(fact(found, "driver-build").find("libpocl.so.2 "), std::string::npos)
      << fact(found, "driver-build");
  EXPECT_NE(fact(found, "driver-build").find("libLLVM"), std::string::npos) << fact(found, "driver-build");
  EXPECT_NE(fact(found, "processor"), "");
  EXPECT_NE(fact(found, "driver-version"), "");
}

TEST_F(PoclIdentity, ChangesWithWhatItsCompilerReads) {
  const DeviceIdentity before = identity();
  ::setenv("POCL_EXTRA_BUILD_FLAGS", "-DX", 1);
  const DeviceIdentity changed = identity();
  ::unsetenv("POCL_EXTRA_BUILD_FLAGS");
  EXPECT_NE(changed, before);
  EXPECT_EQ(fact(changed, "environment"), "POCL_EXTRA_BUILD_FLAGS=-DX\n");
}

TEST_F(PoclIdentity, StaysWhenWhatItDoesNotReadChanges) {
  const DeviceIdentity before = identity();
  ::setenv("LARDERTEST_UNREAD", "1", 1);
  ::setenv("OCLGRIND_UNREAD", "1", 1);
  const std::string place = ::getenv("POCL_CACHE_DIR");
  ::setenv("POCL_CACHE_DIR", "/elsewhere", 1);
  EXPECT_EQ(identity(), before);
  ::setenv("POCL_CACHE_DIR", place.c_str(), 1);
  ::unsetenv("LARDERTEST_UNREAD");
  ::unsetenv("OCLGRIND_UNREAD");
}

}  // namespace
}  // namespace larder
