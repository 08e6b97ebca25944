#include "program/adopted_driver.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "cache/testing.hpp"
#include "program/library_file.hpp"

namespace larder::testing {
namespace {

namespace fs = std::filesystem;

// A machine with what its test puts there: a real library under the name of a driver's.
class DriversTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* each : {"vendors", "mesa", "libraries"}) fs::create_directories(place(each));
  }
  std::string place(const std::string& name) const { return scratch_.path() + '/' + name; }
  std::string library(const std::string& name) const {
    fs::copy_file(find_library("libz.so.1").empty() ? find_library("libm.so.6") : find_library("libz.so.1"),
                  place(name), fs::copy_options::overwrite_existing);
    return place(name);
  }
  std::optional<FoundDriver> find(std::string_view name) const {
    const auto all =
        find_drivers({.vendors = place("vendors"), .mesa = place("mesa"), .libraries = place("libraries")});
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const FoundDriver& each) { return each.driver.name == name; });
    return found == all.end() ? std::nullopt : std::optional(*found);
  }
  void vendor(const std::string& file, const std::string& line) const {
    std::ofstream(place("vendors/" + file)) << line << '\n';
  }

  ScratchDirectory scratch_;
};

TEST_F(DriversTest, FindsPoclByTheLoadersList) {
  EXPECT_FALSE(find("pocl"));
  vendor("pocl.icd", library("libpocl.so.2"));
  const auto pocl = find("pocl");
  ASSERT_TRUE(pocl);
  EXPECT_EQ(pocl->why_not, "");
  EXPECT_EQ(pocl->driver.variable, "POCL_CACHE_DIR");
  EXPECT_NE(pocl->driver.identity.find("libpocl.so.2 "), std::string::npos) << pocl->driver.identity;
  const std::string_view code = "BC\xc0\xde and so on";
  EXPECT_TRUE(pocl->driver.is_worth_keeping("AB/HASH/program.bc", code));
  EXPECT_FALSE(pocl->driver.is_worth_keeping("AB/HASH/program.bc", "text"));
  EXPECT_FALSE(pocl->driver.is_worth_keeping("AB/HASH/last_accessed", ""));
  EXPECT_FALSE(pocl->driver.is_worth_keeping("tempfile_1", code));
  EXPECT_EQ(pocl->driver.program_of("AB/HASH/kernel/8-1-1/kernel.so"), "AB/HASH");
  EXPECT_EQ(pocl->driver.program_of("AB/HASH/program.bc"), "AB/HASH");
}

TEST_F(DriversTest, ADriverWhoseLibraryIsNoLibraryIsLeftAlone) {
  std::ofstream(place("libpocl.so.2")) << "a text";
  vendor("pocl.icd", place("libpocl.so.2"));
  const auto pocl = find("pocl");
  ASSERT_TRUE(pocl);
  EXPECT_NE(pocl->why_not, "");
}

TEST_F(DriversTest, KnowsWhatTheCompilersReadOfTheEnvironment) {
  vendor("pocl.icd", library("libpocl.so.2"));
  const std::string before = find("pocl")->driver.identity;
  ::setenv("POCL_AFFINITY", "1", 1);
  EXPECT_NE(find("pocl")->driver.identity, before);
  ::unsetenv("POCL_AFFINITY");
  ::setenv("POCL_DEBUG", "1", 1);
  EXPECT_EQ(find("pocl")->driver.identity, before);
  ::unsetenv("POCL_DEBUG");
}

TEST_F(DriversTest, FindsIntelsAndTellsItToKeepItsCache) {
  vendor("intel.icd", library("libigdrcl.so"));
  const auto neo = find("neo");
  ASSERT_TRUE(neo);
  EXPECT_EQ(neo->why_not, "");
  EXPECT_EQ(neo->driver.variable, "NEO_CACHE_DIR");
  EXPECT_EQ(neo->driver.also, std::vector<std::string>{"NEO_CACHE_PERSISTENT=1"});
  EXPECT_TRUE(neo->driver.is_worth_keeping("0123456789abcdef.cl_cache", "binary"));
  EXPECT_TRUE(neo->driver.is_worth_keeping("0123456789abcdef.l0_cache", "binary"));
  EXPECT_FALSE(neo->driver.is_worth_keeping("0123456789abcdef.cl_cache", ""));
  EXPECT_FALSE(neo->driver.is_worth_keeping("0123456789abcdef.tmp", "binary"));
  EXPECT_FALSE(neo->driver.is_worth_keeping("config.file", "binary"));
}

TEST_F(DriversTest, LeavesAloneWhatNobodyKnows) {
  vendor("other.icd", library("libother.so"));
  const auto all =
      find_drivers({.vendors = place("vendors"), .mesa = place("mesa"), .libraries = place("libraries")});
  EXPECT_TRUE(std::none_of(all.begin(), all.end(), [](const FoundDriver& each) {
    return each.driver.identity.find("libother") != std::string::npos;
  }));
}

TEST_F(DriversTest, LeavesNvidiasFilesToNvidiaAndSaysSo) {
  library("libraries/libcuda.so.1");
  const auto cuda = find("nvidia-cuda");
  ASSERT_TRUE(cuda);
  EXPECT_EQ(cuda->driver.variable, "CUDA_CACHE_PATH");
  EXPECT_NE(cuda->why_not.find("not known"), std::string::npos) << cuda->why_not;
  EXPECT_EQ(cuda->driver.is_worth_keeping, nullptr);
}

TEST_F(DriversTest, TakesMesasLayoutOfManyFilesAndRecordsOfItsOthers) {
  library("mesa/swrast_dri.so");
  const auto mesa = find("mesa");
  ASSERT_TRUE(mesa);
  EXPECT_EQ(mesa->why_not, "");
  EXPECT_NE(mesa->driver.identity.find("swrast_dri.so "), std::string::npos);
  const std::string name = "mesa_shader_cache/3f/0479fc6d5f857439c42ff42f79b0ad19b7a1ce";
  EXPECT_TRUE(mesa->driver.is_worth_keeping(name, "a shader"));
  EXPECT_FALSE(mesa->driver.is_worth_keeping(name, ""));
  EXPECT_FALSE(mesa->driver.is_worth_keeping(name + ".tmp", "half of"));
  EXPECT_FALSE(mesa->driver.is_worth_keeping("mesa_shader_cache/index", "keys"));
  EXPECT_FALSE(mesa->driver.is_worth_keeping("mesa_shader_cache_sf/foz_cache.foz", "shaders"));
  EXPECT_FALSE(mesa->driver.is_worth_keeping("mesa_shader_cache_db/mesa_cache.db", "shaders"));
  EXPECT_FALSE(mesa->driver.may_keep("mesa_shader_cache/index"));
  ASSERT_NE(mesa->driver.records, nullptr);
  const std::string key = "3f0479fc6d5f857439c42ff42f79b0ad19b7a1ce";
  EXPECT_TRUE(mesa->driver.records->is_record("mesa_shader_cache_sf/build/llvmpipe/" + key));
  EXPECT_TRUE(mesa->driver.records->is_record("mesa_shader_cache_db/" + key));
  EXPECT_FALSE(mesa->driver.records->is_record("mesa_shader_cache_db/part/" + key));
  EXPECT_FALSE(mesa->driver.records->is_record(name));
  EXPECT_EQ(mesa->driver.program_of(name), name);
  EXPECT_EQ(mesa->driver.program_of("mesa_shader_cache_db/mesa_cache.db"), "mesa_shader_cache_db");
  for (const char* layout : {"MESA_DISK_CACHE_SINGLE_FILE", "MESA_DISK_CACHE_DATABASE"}) {
    ::setenv(layout, "1", 1);
    EXPECT_EQ(find("mesa")->why_not, "") << layout;
    EXPECT_NE(find("mesa")->driver.identity, mesa->driver.identity) << layout;
    ::unsetenv(layout);
  }
  for (const char* other : {"MESA_DISK_CACHE_READ_ONLY_FOZ_DBS", "MESA_SHADER_CACHE_DISABLE"}) {
    ::setenv(other, "1", 1);
    EXPECT_NE(find("mesa")->why_not.find(other), std::string::npos) << find("mesa")->why_not;
    ::unsetenv(other);
  }
}

}  // namespace
}  // namespace larder::testing
