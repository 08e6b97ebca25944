#include "build/seal.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "build/ingredients.hpp"
#include "build/write_file.hpp"

namespace larder::build {
namespace {

// Some files in a directory of their own, and the seal of them.
class BuildSealTest : public testing::Test {
 protected:
  BuildSealTest() {
    char name[] = "/tmp/larder-build-seal-XXXXXX";
    directory = ::mkdtemp(name);
    ::mkdir((directory + "/in").c_str(), 0777);
    ::mkdir((directory + "/bin").c_str(), 0777);
    for (int i = 0; i < 1000; ++i) {
      files.push_back(directory + (i % 3 == 0 ? "/in/" : "/") + std::to_string(i));
      EXPECT_TRUE(write_file(files.back(), std::to_string(i)));
    }
    files.push_back(directory + "/in");
    missing = directory + "/in/missing";
    ::setenv("LARDER_SEAL_TEST", "1", 1);
    asked.surroundings = {1, 2};
    asked.words = {"all", ""};
    asked.log = {3, 4, 5, 6};
  }
  ~BuildSealTest() override {
    ::unsetenv("LARDER_SEAL_TEST");
    EXPECT_EQ(::system(("rm -rf " + directory).c_str()), 0);
  }
  std::string seal() const {
    std::string written;
    SealMaker maker([&](std::string_view piece) { written += piece; }, asked,
                    {"LARDER_SEAL_TEST", "LARDER_SEAL_UNSET"},
                    {{"cat", find_program("cat")}, {program(), ""}});
    for (const std::string& file : files)
      maker.add(file, SealedKind::there, imprint(look_at(file.c_str()).print));
    maker.add(missing, SealedKind::missing, {});
    for (const std::string& file : fresh) maker.add(file, SealedKind::fresh, {});
    maker.finish();
    return written;
  }
  std::string program() const { return directory + "/bin/tool"; }

  std::string directory;
  std::vector<std::string> files;
  std::string missing;
  std::vector<std::string> fresh;
  Asked asked;
};

using BuildSeal = BuildSealTest;

TEST_F(BuildSeal, HoldsWhileNothingIsAnother) {
  const std::string bytes = seal();
  EXPECT_TRUE(is_unbroken(bytes, asked));
  EXPECT_TRUE(is_unbroken(bytes, asked));
}

TEST_F(BuildSeal, IsBrokenByAnyFileThatIsAnother) {
  const std::string listed = files.back();
  files.pop_back();  // it is another whenever names come and go in it
  for (std::size_t i = 0; i < files.size(); i += 111) {
    const std::string& file = files[i];
    const std::string aside = directory + "/aside";
    std::string bytes = seal();
    ASSERT_TRUE(is_unbroken(bytes, asked));
    ASSERT_EQ(::rename(file.c_str(), aside.c_str()), 0);
    EXPECT_FALSE(is_unbroken(bytes, asked)) << "deleted: " << file;
    bytes = seal();
    ASSERT_TRUE(is_unbroken(bytes, asked));
    ASSERT_TRUE(write_file(file, "?"));
    EXPECT_FALSE(is_unbroken(bytes, asked)) << "came: " << file;
    bytes = seal();
    ASSERT_TRUE(is_unbroken(bytes, asked));
    ASSERT_EQ(::rename(aside.c_str(), file.c_str()), 0);
    EXPECT_FALSE(is_unbroken(bytes, asked)) << "replaced: " << file;
    bytes = seal();
    ASSERT_TRUE(is_unbroken(bytes, asked));
    ASSERT_EQ(::chmod(file.c_str(), 0755), 0);
    EXPECT_FALSE(is_unbroken(bytes, asked)) << "may be executed: " << file;
  }
  files.push_back(listed);
  const std::string bytes = seal();
  ASSERT_TRUE(is_unbroken(bytes, asked));
  ASSERT_TRUE(write_file(directory + "/in/another", ""));
  EXPECT_FALSE(is_unbroken(bytes, asked)) << "a name came into a directory";
}

TEST_F(BuildSeal, IsBrokenByWhatWasMissingAndCame) {
  const std::string bytes = seal();
  ASSERT_TRUE(write_file(missing, ""));
  EXPECT_FALSE(is_unbroken(bytes, asked));
}

// So whoever watches them from then on misses nothing.
TEST_F(BuildSeal, TellsOfADirectoryBeforeItLooksThere) {
  for (const std::string& changed : {files[0], files[1], files[900], missing}) {
    const std::string bytes = seal();
    std::set<std::string, std::less<>> told;
    const auto unchanged = look_at_seal(bytes, asked, 0, [&](std::string_view in) { told.emplace(in); });
    ASSERT_TRUE(unchanged);
    EXPECT_TRUE(unchanged->holds());
    EXPECT_EQ(told, (std::set<std::string, std::less<>>{directory, directory + "/in"}));
    bool is_changed = false;
    const auto found = look_at_seal(bytes, asked, 2, [&](std::string_view in) {
      if (in != parent_of(changed) || is_changed) return;
      is_changed = true;
      EXPECT_TRUE(write_file(changed, "other"));
    });
    EXPECT_TRUE(is_changed);
    EXPECT_FALSE(found && found->holds()) << changed;
    (void)::unlink(missing.c_str());
  }
}

TEST_F(BuildSeal, TellsTheGroupsThatMayBeOthers) {
  fresh.push_back(directory + "/in/fresh");
  const std::string bytes = seal();
  EXPECT_FALSE(is_unbroken(bytes, asked)) << "a fresh file is looked at";
  ASSERT_TRUE(write_file(files[300], "?"));
  EXPECT_FALSE(look_at_seal(bytes, asked, 1)) << "two groups are others";
  const auto found = look_at_seal(bytes, asked, 2);
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->holds());
  EXPECT_EQ(found->variables.size(), 2u);
  EXPECT_EQ(found->programs.at("cat"), find_program("cat"));
  std::vector<std::string> others;
  std::size_t same = 0;
  for (const SealedFiles& group : found->files) {
    EXPECT_EQ(group.is_same, is_same_still(group));
    group.each([&](std::string_view path) {
      if (group.is_same) {
        ++same;
        EXPECT_EQ(path == missing, group.kind == SealedKind::missing);
      } else {
        others.emplace_back(path);
      }
    });
  }
  EXPECT_EQ(same + others.size(), files.size() + 2);
  EXPECT_EQ(others.size(), 256u + 1);
  EXPECT_NE(std::find(others.begin(), others.end(), files[300]), others.end());
  EXPECT_NE(std::find(others.begin(), others.end(), fresh[0]), others.end());
}

TEST_F(BuildSeal, SaysThatSomethingIsAnotherBeforeAllWasLookedAt) {
  fresh.push_back(directory + "/in/fresh");
  const std::string bytes = seal();
  for (const std::size_t changed : {std::size_t{0}, std::size_t{600}, files.size() - 2}) {
    ASSERT_TRUE(write_file(files[changed], "?"));
    const auto look = SealLook::begin(bytes, asked, 8);
    ASSERT_NE(look, nullptr);
    std::size_t written = 0;
    for (const SealedFiles& group : look->files()) written += group.count;
    EXPECT_EQ(written, files.size() + 2);
    EXPECT_TRUE(look->find_other());
    const auto found = look->finish();
    ASSERT_TRUE(found);
    for (const SealedFiles& group : found->files)
      EXPECT_EQ(group.is_same, is_same_still(group)) << group.paths.data();
  }
}

TEST_F(BuildSeal, IsLookedAtToItsEndWhereNothingIsAnother) {
  const std::string bytes = seal();
  const auto look = SealLook::begin(bytes, asked, 8);
  ASSERT_NE(look, nullptr);
  EXPECT_FALSE(look->find_other());
  const auto found = look->finish();
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->holds());
}

TEST_F(BuildSeal, NeedNotBeLookedAtToItsEnd) {
  fresh.push_back(directory + "/in/fresh");
  const std::string bytes = seal();
  for (int i = 0; i < 50; ++i) {
    const auto look = SealLook::begin(bytes, asked, 8);
    ASSERT_NE(look, nullptr);
    if (i % 2 == 0) {
      EXPECT_TRUE(look->find_other());
    }
  }
  EXPECT_EQ(SealLook::begin(bytes.substr(1), asked, 8), nullptr);
}

TEST_F(BuildSeal, IsBrokenByAnotherQuestion) {
  const std::string bytes = seal();
  Asked other = asked;
  other.words = {"all"};
  EXPECT_FALSE(is_unbroken(bytes, other));
  other = asked;
  other.words[1] = "x";
  EXPECT_FALSE(is_unbroken(bytes, other));
  other = asked;
  other.surroundings.high = 3;
  EXPECT_FALSE(is_unbroken(bytes, other));
  other = asked;
  other.log.size = 7;
  EXPECT_FALSE(is_unbroken(bytes, other));
  EXPECT_TRUE(is_unbroken(bytes, asked));
}

TEST_F(BuildSeal, IsBrokenByVariablesThatCommandsName) {
  const std::string bytes = seal();
  ::setenv("LARDER_SEAL_TEST", "2", 1);
  EXPECT_FALSE(is_unbroken(bytes, asked));
  ::setenv("LARDER_SEAL_TEST", "1", 1);
  EXPECT_TRUE(is_unbroken(bytes, asked));
  ::setenv("LARDER_SEAL_UNSET", "", 1);
  EXPECT_FALSE(is_unbroken(bytes, asked));
  ::unsetenv("LARDER_SEAL_UNSET");
}

TEST_F(BuildSeal, IsBrokenByAProgramThatIsFoundElsewhere) {
  const std::string bytes = seal();
  ASSERT_TRUE(write_file(program(), "#!/bin/sh\n"));
  EXPECT_TRUE(is_unbroken(bytes, asked)) << "it is no program";
  ASSERT_EQ(::chmod(program().c_str(), 0755), 0);
  EXPECT_FALSE(is_unbroken(bytes, asked));
}

TEST_F(BuildSeal, IsNoneWithAnyBitFlippedOrAnyByteCut) {
  files.resize(3);
  const std::string bytes = seal();
  ASSERT_TRUE(is_unbroken(bytes, asked));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(is_unbroken(bytes.substr(0, size), asked)) << size;
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(is_unbroken(flipped, asked)) << bit;
  }
}

}  // namespace
}  // namespace larder::build
