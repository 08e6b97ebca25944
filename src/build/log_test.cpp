#include "build/log.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "build/text_file.hpp"
#include "build/write_file.hpp"
#include "format/byte_reader.hpp"
#include "format/frame.hpp"

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
    history.trust(out, imprint({1, 2, 3, seed}));
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
  EXPECT_EQ(known->print, imprint({1, 2, 3, 3}));
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

// A log as the first version wrote it: of one step, with whole fingerprints.
std::string first_log() {
  using format::append_integer;
  std::string text;
  std::string header = "larder build log";
  append_integer(header, std::uint32_t{1});
  format::append_frame(text, header);
  std::string records;
  const auto add_path = [&](std::string_view path) {
    records += '\1';
    append_integer(records, static_cast<std::uint32_t>(path.size()));
    records += path;
  };
  const auto add_content = [&](std::uint32_t path, std::uint64_t seed) {
    records += '\2';
    append_integer(records, path);
    append_integer(records, number(seed).low);
    append_integer(records, number(seed).high);
  };
  add_path("o.c");
  add_content(0, 1);
  add_path("h.h");
  add_content(1, 7);
  add_path("o");
  add_content(2, 101);
  records += '\3';
  append_integer(records, std::uint32_t{2});
  for (const std::uint64_t word : {1, 2, 3, 4}) append_integer(records, word);
  records += '\4';
  append_integer(records, std::uint32_t{2});
  append_integer(records, number(1001).low);
  append_integer(records, number(1001).high);
  append_integer(records, std::uint32_t{5});
  records += '\0';
  for (const std::uint32_t word : {1, 1, 1, 1, 0, 1, 2}) append_integer(records, word);
  format::append_frame(text, records);
  return text;
}

TEST_F(BuildLog, OfTheFirstVersionIsReadAndWrittenAnew) {
  ASSERT_EQ(::mkdir(".larder", 0777), 0);
  ASSERT_TRUE(write_file(".larder/build.ninja.log", first_log()));
  for (unsigned round = 0; round < 2; ++round) {
    Manifest manifest;
    History history;
    Log log;
    log.open("build.ninja", manifest, history, false);
    EXPECT_EQ(log.trouble(), "");
    EXPECT_EQ(told(manifest, history, "o"), "o.c 1 h.h 101 1001");
    const History::Known* known = history.known(manifest.target("o"));
    ASSERT_NE(known, nullptr);
    EXPECT_EQ(known->print, imprint({1, 2, 3, 4}));
    EXPECT_EQ(history.known(manifest.target("o.c")), nullptr);
    keep(manifest, history, "p", 20);
  }
  const std::string text = *read_text_file(".larder/build.ninja.log");
  EXPECT_NE(text.substr(0, 64), first_log().substr(0, 64));
  Manifest manifest;
  History history;
  EXPECT_EQ(read_log(text, manifest, history), text.size());
  EXPECT_EQ(told(manifest, history, "o"), "o.c 1 h.h 101 1001");
  EXPECT_EQ(told(manifest, history, "p"), "p.c 20 h.h 120 1020");
}

TEST_F(BuildLog, KeepsRunsOfManyFiles) {
  for (const std::uint32_t count : {1u, 253u, 254u, 255u, 256u, 1000u}) {
    Manifest manifest;
    History history;
    std::vector<ContentId> ids;
    for (std::uint32_t i = 0; i < 2 * count; ++i)
      ids.push_back(history.content(manifest.target(std::to_string(i)), number(i)));
    build::Run run;
    run.inputs = std::span(ids).first(2);
    run.declared = 1;
    run.discovered = std::span(ids).last(count);
    run.outputs = std::span(ids).subspan(1, 1);
    run.duration_ms = 7;
    history.keep(1, run);
    const auto kept = history.run(1);
    ASSERT_TRUE(kept);
    EXPECT_EQ(std::vector(kept->inputs.begin(), kept->inputs.end()), (std::vector<ContentId>{0, 1}));
    EXPECT_EQ(kept->declared, 1u);
    EXPECT_TRUE(std::equal(kept->discovered.begin(), kept->discovered.end(), ids.end() - count, ids.end()));
    EXPECT_EQ(std::vector(kept->outputs.begin(), kept->outputs.end()), (std::vector<ContentId>{1}));
    EXPECT_EQ(kept->duration_ms, 7u);
  }
}

TEST_F(BuildLog, KnowsEveryContentOfATargetByOneNumber) {
  Manifest manifest;
  History history;
  const TargetId target = manifest.target("a");
  std::vector<ContentId> ids;
  for (unsigned i = 0; i < 5; ++i) ids.push_back(history.content(target, number(i)));
  history.trust(ids[2], imprint({1, 2, 3, 4}));
  for (unsigned i = 0; i < 5; ++i) EXPECT_EQ(history.content(target, number(i)), ids[i]);
  EXPECT_EQ(history.content(target, number(5)), 5u);
  for (unsigned i = 0; i < 5; ++i) EXPECT_EQ(history.content(target, number(i)), ids[i]);
  EXPECT_EQ(history.content_count(), 6u);
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
