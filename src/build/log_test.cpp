#include "build/log.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "build/text_file.hpp"
#include "build/write_file.hpp"

namespace larder::build {
namespace {

Digest number(std::uint64_t n) {
  return {n, ~n};
}

// A directory of its own to work in.
class BuildLogTest : public testing::Test {
 protected:
  BuildLogTest() {
    char name[] = "/tmp/larder-build-log-XXXXXX";
    directory = ::mkdtemp(name);
    before = ::getcwd(nullptr, 0);
    EXPECT_EQ(::chdir(directory.c_str()), 0);
  }
  ~BuildLogTest() override {
    EXPECT_EQ(::chdir(before), 0);
    ::free(before);
    EXPECT_EQ(::system(("rm -rf " + directory).c_str()), 0);
  }
  static void keep(Manifest& manifest, History& history, const std::string& output, std::uint64_t seed) {
    const ContentId in = history.content(manifest.target(output + ".c"), number(seed));
    const ContentId header = history.content(manifest.target("h.h"), number(7));
    const ContentId out = history.content(manifest.target(output), number(seed + 100));
    build::Run run;
    run.command = number(seed + 1000);
    run.inputs = std::span(&in, 1);
    run.declared = 1;
    run.discovered = std::span(&header, 1);
    run.outputs = std::span(&out, 1);
    run.duration_ms = 5;
    history.keep(manifest.target(output), run);
    history.trust(out, {1, 2, 3, seed});
  }
  // What a whole log, or a part of one, says of an output.
  static std::string told(Manifest& manifest, const History& history, const std::string& output) {
    const auto run = history.run(manifest.target(output));
    if (!run) return "nothing";
    return std::string(manifest.path(history[run->inputs[0]].target)) + ' ' +
           std::to_string(history[run->inputs[0]].digest.low) + ' ' +
           std::string(manifest.path(history[run->discovered[0]].target)) + ' ' +
           std::to_string(history[run->outputs[0]].digest.low) + ' ' + std::to_string(run->command.low);
  }
  std::string directory;
  char* before;
};

using BuildLog = BuildLogTest;

TEST_F(BuildLog, KeepsRunsAndFingerprints) {
  {
    Manifest manifest;
    History history;
    Log log;
    log.open("build.ninja", manifest, history, false);
    keep(manifest, history, "a.o", 1);
    keep(manifest, history, "b.o", 2);
    keep(manifest, history, "a.o", 3);
    keep(manifest, history, "gone.o", 4);
    history.forget(manifest.target("gone.o"));
    EXPECT_EQ(log.trouble(), "");
  }
  Manifest manifest;
  manifest.target("other");
  History history;
  Log log;
  log.open("build.ninja", manifest, history, true);
  EXPECT_EQ(told(manifest, history, "a.o"), "a.o.c 3 h.h 103 1003");
  EXPECT_EQ(told(manifest, history, "b.o"), "b.o.c 2 h.h 102 1002");
  EXPECT_EQ(told(manifest, history, "gone.o"), "nothing");
  const History::Known* known = history.known(manifest.target("a.o"));
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(known->print, (Fingerprint{1, 2, 3, 3}));
  EXPECT_EQ(history[known->content].digest.low, 103u);
}

TEST_F(BuildLog, CutAtAnyByteLosesStepsAndNothingElse) {
  {
    Manifest manifest;
    History history;
    Log log;
    log.open("build.ninja", manifest, history, false);
    for (unsigned i = 0; i < 4; ++i) {
      keep(manifest, history, "o" + std::to_string(i), 10 + i);
      log.flush();
    }
  }
  const std::string path = ".larder/build.ninja.log";
  const std::string whole = *read_text_file(path);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    ASSERT_TRUE(write_file(path, whole.substr(0, size)));
    {
      Manifest manifest;
      History history;
      Log log;
      log.open("build.ninja", manifest, history, false);
      bool has_ended = false;
      for (unsigned i = 0; i < 4; ++i) {
        const std::string is = told(manifest, history, "o" + std::to_string(i));
        has_ended = has_ended || is == "nothing";
        const std::string n = std::to_string(10 + i);
        ASSERT_EQ(is, has_ended ? "nothing" : "o" + std::to_string(i) + ".c " + n + " h.h 1" + n + " 10" + n)
            << size;
      }
      keep(manifest, history, "new", 50);
    }
    Manifest manifest;
    History history;
    Log log;
    log.open("build.ninja", manifest, history, true);
    ASSERT_EQ(told(manifest, history, "new"), "new.c 50 h.h 150 1050") << size;
  }
}

TEST_F(BuildLog, AnyFlippedBitLosesStepsAndNothingElse) {
  {
    Manifest manifest;
    History history;
    Log log;
    log.open("build.ninja", manifest, history, false);
    keep(manifest, history, "o0", 10);
    log.flush();
    keep(manifest, history, "o1", 11);
  }
  const std::string path = ".larder/build.ninja.log";
  const std::string whole = *read_text_file(path);
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string text = whole;
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << bit % 8));
    Manifest manifest;
    History history;
    (void)read_log(text, manifest, history);
    for (unsigned i = 0; i < 2; ++i) {
      const std::string is = told(manifest, history, "o" + std::to_string(i));
      const std::string n = std::to_string(10 + i);
      if (is != "nothing") {
        ASSERT_EQ(is, "o" + std::to_string(i) + ".c " + n + " h.h 1" + n + " 10" + n) << bit;
      }
    }
  }
}

TEST_F(BuildLog, IsWrittenAnewWhenMostOfItIsOld) {
  for (unsigned round = 0; round < 3; ++round) {
    Manifest manifest;
    History history;
    Log log;
    log.open("build.ninja", manifest, history, false);
    for (unsigned i = 0; i < 2000; ++i) keep(manifest, history, "o", i);
  }
  Manifest manifest;
  History history;
  {
    Log log;
    log.open("build.ninja", manifest, history, false);
  }
  EXPECT_LT(read_text_file(".larder/build.ninja.log")->size(), 2000u);
  EXPECT_EQ(told(manifest, history, "o"), "o.c 1999 h.h 2099 2999");
}

TEST_F(BuildLog, ThatCannotBeWrittenIsSaidAndHurtsNobody) {
  ASSERT_TRUE(write_file(".larder", "no directory"));
  Manifest manifest;
  History history;
  Log log;
  log.open("build.ninja", manifest, history, false);
  keep(manifest, history, "o", 1);
  EXPECT_NE(log.trouble(), "");
  EXPECT_EQ(told(manifest, history, "o"), "o.c 1 h.h 101 1001");
}

TEST(Content, TrustsAFingerprintOnlyBehindTheClock) {
  const Fingerprint print{1'000'000'001, 900, 1, 1};
  EXPECT_FALSE(is_settled(print, 1'000'000'001));
  EXPECT_TRUE(is_settled(print, 1'000'000'002));
  EXPECT_FALSE(is_settled({5, 1'000'000'001, 1, 1}, 1'000'000'001));
  EXPECT_FALSE(is_settled({2'000'000'000, 900, 1, 1}, 4'000'000'000));
  EXPECT_TRUE(is_settled({2'000'000'000, 900, 1, 1}, 5'000'000'001));
}

}  // namespace
}  // namespace larder::build
