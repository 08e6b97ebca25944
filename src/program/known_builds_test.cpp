#include "program/known_builds.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "cache/testing.hpp"
#include "program/file_recording.hpp"
#include "program/library_file.hpp"

namespace larder::testing {
namespace {

namespace fs = std::filesystem;

class KnownBuildsTest : public ::testing::Test {
 protected:
  void SetUp() override { copy_from("libm.so.6"); }
  void copy_from(const char* library) const {
    const std::string unfinished = library_ + ".new";
    fs::copy_file(find_library(library), unfinished, fs::copy_options::overwrite_existing);
    fs::rename(unfinished, library_);
  }
  // Until what was written last is old enough for its stamp to prove something.
  static void rest() { std::this_thread::sleep_for(std::chrono::nanoseconds(kRacyNs)); }
  std::string ask(const std::string& library) {
    KnownBuilds builds(&cache_);
    std::string identity = builds.identity_of(library, "");
    builds.keep();
    return identity;
  }
  std::string ask() { return ask(library_); }
  // Whether the next start would be told without reading any library: somebody wrote something else there.
  bool is_remembered() { return is_remembered(library_); }
  bool is_remembered(const std::string& library) {
    const Recipe recipe("library-builds");
    auto kept = cache_.get(recipe);
    if (!kept) return false;
    std::string text(kept->bytes.text());
    const std::size_t at = text.find("\nI ");
    text.insert(at + 3, "remembered ");
    cache_.put(recipe, Bytes(text), {.cost = {}, .log = {}, .texts = {}, .replace = true});
    const bool is_told = KnownBuilds(&cache_).identity_of(library, "").starts_with("remembered ");
    cache_.put(recipe, std::move(kept->bytes), {.cost = {}, .log = {}, .texts = {}, .replace = true});
    return is_told;
  }

  ScratchDirectory scratch_;
  const std::string library_ = scratch_.path() + "/libdriver.so";
  Cache cache_ = Cache::open(options_in(scratch_));
};

TEST_F(KnownBuildsTest, AreThoseOfTheFiles) {
  const std::string library = find_library("libm.so.6");
  EXPECT_EQ(ask(library), library_file_identity(library, ""));
  EXPECT_TRUE(is_remembered(library));
  EXPECT_EQ(ask(library), library_file_identity(library, ""));
  EXPECT_EQ(KnownBuilds().identity_of(library, ""), library_file_identity(library, ""));
}

TEST_F(KnownBuildsTest, AreReadAnewWhenALibraryIsAnother) {
  rest();
  const std::string before = ask();
  ASSERT_TRUE(is_remembered());
  copy_from("libc.so.6");
  EXPECT_FALSE(is_remembered());
  EXPECT_EQ(ask(), library_file_identity(library_, ""));
  EXPECT_NE(ask(), before);
}

TEST_F(KnownBuildsTest, AreReadAnewWhenAFolderThatWasLookedIntoChanges) {
  rest();
  ask();
  ASSERT_TRUE(is_remembered());
  std::ofstream(scratch_.path() + "/libc.so.6") << "found earlier than the system's";
  EXPECT_FALSE(is_remembered());
}

TEST_F(KnownBuildsTest, AreNotRememberedWhileAWriteMayStillGoUnseen) {
  ask();
  EXPECT_FALSE(is_remembered());
}

TEST_F(KnownBuildsTest, OfNoLibraryAreNone) {
  std::ofstream(library_) << "a text";
  EXPECT_EQ(ask(), "");
  EXPECT_EQ(KnownBuilds(&cache_).identity_of(scratch_.path() + "/none.so", ""), "");
}

TEST_F(KnownBuildsTest, AreReadAnewWhereWhatIsKeptIsNoneOfTheirs) {
  const Recipe recipe("library-builds");
  for (const char* text :
       {"", "larder builds 2", "larder builds 1\nI line\n", "larder builds 1\nB a\nS 1 2 x",
        "larder builds 1\nB a\nQ", "larder builds 1\n\n"}) {
    cache_.put(recipe, Bytes(std::string(text)), {.cost = {}, .log = {}, .texts = {}, .replace = true});
    EXPECT_EQ(KnownBuilds(&cache_).identity_of(library_, ""), library_file_identity(library_, "")) << text;
  }
}

}  // namespace
}  // namespace larder::testing
