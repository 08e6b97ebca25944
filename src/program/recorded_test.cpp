// Programs that files decide: closures recorded from the build, held against the files later.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "cache/testing.hpp"
#include "larder/difference.hpp"
#include "larder/program.hpp"
#include "program/closure_check.hpp"
#include "program/fake_api.hpp"
#include "program/file_hooks.hpp"
#include "program/file_recording.hpp"

extern "C" {
int file_asker_open(const char* path);
int file_asker_fopen(const char* path, const char* mode);
int file_asker_stat(const char* path);
int file_asker_list(const char* path);
int file_asker_fork();
}

namespace larder::testing {
namespace {

namespace fs = std::filesystem;
using Api = CountedApi<FakeApi>;
using Programs = ProgramCache<Api>;
constexpr FakeDevice kDevice{.number = 1, .of_class = 1};
constexpr std::string_view kIncludingSource = "kernel k\n#include \"a.h\"\n";

class RecordedTest : public ::testing::Test {
 protected:
  RecordedTest() : api_(std::make_shared<Api>(std::make_shared<FakeApi>())) {
    api_->inner->moods.file_reading = FileReading::recorded;
    EXPECT_EQ(hook_files(reinterpret_cast<const void*>(&file_asker_open)), "");
    fs::create_directories(at("early"));
    fs::create_directories(at("late"));
    // Looks for a.h in `early`, then in `late`, as compilers do, and reads what it includes in turn.
    api_->inner->moods.before_build = [this]() -> Result<void> {
      if (during_build) during_build();
      for (const char* folder : {"early/", "late/"}) {
        if (file_asker_stat(at(std::string(folder) + "a.h").c_str()) != 0) continue;
        file_asker_open(at(std::string(folder) + "a.h").c_str());
        const std::string content = read(std::string(folder) + "a.h");
        if (content.find("b.h") != std::string::npos) file_asker_fopen(at("late/b.h").c_str(), "r");
        if (content.find("no ") != std::string::npos) {
          Error error = to_error({-11, content});
          return fail(error.code, std::move(error.what));
        }
        return {};
      }
      Error error = to_error({-11, "a.h: no such file"});
      return fail(error.code, std::move(error.what));
    };
    write("late/a.h", "first");
  }

  std::string at(const std::string& name) const { return scratch_.path() + '/' + name; }
  // Long ago, so that its times prove something.
  void write(const std::string& name, const std::string& content, int days_ago = 1) const {
    std::ofstream(at(name)) << content;
    fs::last_write_time(at(name), fs::file_time_type::clock::now() - std::chrono::hours(24 * days_ago));
  }
  std::string read(const std::string& name) const {
    std::string content;
    std::getline(std::ifstream(at(name)), content, '\0');
    return content;
  }
  // In a process of its own, as it were.
  ProgramAnswer ask(std::string_view source = kIncludingSource, bool remember_failures = false) {
    Cache cache = Cache::open(options_in(scratch_));
    Programs programs(api_, &cache, {.remember_failures = remember_failures});
    ProgramAnswer answer;
    good_ = programs.get_or_build({&kDevice, 1}, {.text = source}, &answer).has_value();
    return answer;
  }

  ScratchDirectory scratch_;
  std::shared_ptr<Api> api_;
  std::function<void()> during_build;
  bool good_ = false;
};

TEST_F(RecordedTest, IsFoundAgainWhileNoFileChanges) {
  EXPECT_EQ(ask().outcome, Outcome::made);
  EXPECT_EQ(ask().outcome, Outcome::disk_hit);
  EXPECT_EQ(ask().outcome, Outcome::disk_hit);
  EXPECT_EQ(api_->builds, 1);
}

TEST_F(RecordedTest, IsMadeAnewWhenAHeaderChangesAndFoundAgainWhenItIsAsBefore) {
  ask();
  write("late/a.h", "second");
  EXPECT_EQ(ask().outcome, Outcome::made);
  EXPECT_EQ(ask().outcome, Outcome::disk_hit);
  write("late/a.h", "first");
  EXPECT_EQ(ask().outcome, Outcome::disk_hit);
  EXPECT_EQ(api_->builds, 2);
}

TEST_F(RecordedTest, SeesAnEditThatKeepsSizeAndModificationTime) {
  ask();
  struct stat before {};
  ASSERT_EQ(::stat(at("late/a.h").c_str(), &before), 0);
  std::ofstream(at("late/a.h")) << "tsrif";
  const timespec times[] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, at("late/a.h").c_str(), times, 0), 0);
  EXPECT_EQ(ask().outcome, Outcome::made);
}

TEST_F(RecordedTest, AFileThatWouldNowBeFoundEarlierIsAMiss) {
  ask();
  write("early/a.h", "first");
  EXPECT_EQ(ask().outcome, Outcome::made);
  EXPECT_EQ(ask().outcome, Outcome::disk_hit);
  fs::remove(at("early/a.h"));
  EXPECT_EQ(ask().outcome, Outcome::disk_hit);
  EXPECT_EQ(api_->builds, 2);
}

TEST_F(RecordedTest, AHeaderThatIncludesMoreBringsItsOwnClosure) {
  ask();
  write("late/b.h", "one");
  write("late/a.h", "with b.h");
  EXPECT_EQ(ask().outcome, Outcome::made);
  write("late/b.h", "two");
  EXPECT_EQ(ask().outcome, Outcome::made);
  EXPECT_EQ(ask().outcome, Outcome::disk_hit);
  write("late/b.h", "one");
  EXPECT_EQ(ask().outcome, Outcome::disk_hit);
  write("late/a.h", "first");
  EXPECT_EQ(ask().outcome, Outcome::disk_hit);
  EXPECT_EQ(api_->builds, 3);
}

TEST_F(RecordedTest, TimesOfHeadersDecideNothing) {
  ask();
  write("late/a.h", "first", 3);
  EXPECT_EQ(ask().outcome, Outcome::disk_hit);
  fs::rename(at("late/a.h"), at("late/moved"));
  fs::copy_file(at("late/moved"), at("late/a.h"));
  EXPECT_EQ(ask().outcome, Outcome::disk_hit);
  EXPECT_EQ(api_->builds, 1);
}

std::vector<std::string> names_of_changes(const Recipe& before, const Recipe& after) {
  std::vector<std::string> names;
  for (const auto& each : difference(before, after).changes) names.emplace_back(each.name());
  return names;
}

TEST_F(RecordedTest, WhyNamesTheHeaderThatWasEditedAndTheOneThatIsNew) {
  const auto recipe = [&] {
    FileRecording recording;
    (void)api_->inner->moods.before_build();
    return recipe_of(recipe_of("base"), recording.finish());
  };
  const Recipe before = recipe();
  write("late/a.h", "other!");
  EXPECT_EQ(names_of_changes(before, recipe()), std::vector<std::string>{"file " + at("late/a.h")});
}

TEST_F(RecordedTest, WhatIsNewAtAPathThatWasLookedForIsNamed) {
  FileRecording recording;
  (void)api_->inner->moods.before_build();
  const SeenFiles seen = recording.finish();
  const format::FileClosures closures = closures_of(seen);
  const Recipe base = recipe_of("base");
  ASSERT_EQ(ClosureCheck(closures).recipe(base, 0), recipe_of(base, seen));
  write("early/a.h", "new");
  const auto now = ClosureCheck(closures).recipe(base, 0);
  ASSERT_TRUE(now);
  EXPECT_EQ(names_of_changes(recipe_of(base, seen), *now),
            std::vector<std::string>{"found " + at("early/a.h")});
}

TEST_F(RecordedTest, ReadsAFileOnlyWhenItsStampDoesNotProveItsContent) {
  FileRecording recording;
  (void)api_->inner->moods.before_build();
  SeenFiles seen = recording.finish();
  SeenFile& file = seen.files.at(at("late/a.h"));
  // Written a moment ago: its change time is too near to prove anything.
  EXPECT_EQ(file.stamp, format::FileStamp{});
  format::FileClosures closures = closures_of(seen);
  ClosureCheck first(closures);
  ASSERT_TRUE(first.recipe(recipe_of("base"), 0));
  file.stamp = file.opened;
  file.digest.fill(7);  // what only a check that does not read can believe
  closures = closures_of(seen);
  ClosureCheck second(closures);
  EXPECT_EQ(second.recipe(recipe_of("base"), 0), recipe_of(recipe_of("base"), seen));
  EXPECT_FALSE(second.has_news());
  EXPECT_TRUE(is_racy(file.opened, file.opened.ctime_ns + kRacyNs - 1));
  EXPECT_FALSE(is_racy(file.opened, std::max(file.opened.ctime_ns, file.opened.mtime_ns) + kRacyNs));
}

TEST_F(RecordedTest, WhatChangesDuringTheBuildIsNotKept) {
  during_build = [&] {
    file_asker_open(at("late/a.h").c_str());
    std::ofstream(at("late/a.h")) << "other";  // of the same size, at once
  };
  const ProgramAnswer answer = ask();
  EXPECT_EQ(answer.outcome, Outcome::bypassed);
  EXPECT_NE(answer.why_not.find("late/a.h was written while"), std::string::npos) << answer.why_not;
  during_build = [&] {
    file_asker_stat(at("comes").c_str());
    write("comes", "now");
    file_asker_stat(at("comes").c_str());
  };
  EXPECT_NE(ask().why_not.find("comes came, went or changed"), std::string::npos);
  during_build = {};
  EXPECT_EQ(ask().outcome, Outcome::made);
}

TEST_F(RecordedTest, WhatCannotBeKnownIsNotKeptAndSaysWhy) {
  const std::pair<std::function<void()>, std::string> kCases[] = {
      {[&] { file_asker_list(scratch_.path().c_str()); }, "lists the folder"},
      {[&] { file_asker_fopen(at("out").c_str(), "w"); }, "writes " + at("out")},
      {[&] { file_asker_fork(); }, "starts another process"},
      {[&] { file_asker_open("/dev/null"); }, "/dev/null is no file"},
      {[&] { file_asker_open("/proc/self/stat"); }, "/proc/self/stat is no file"},
      {[&] { file_asker_open(scratch_.path().c_str()); }, "lists the folder"},
  };
  for (const auto& [act, why] : kCases) {
    during_build = act;
    for (int i = 0; i < 2; ++i) {
      const ProgramAnswer answer = ask();
      EXPECT_EQ(answer.outcome, Outcome::bypassed) << why;
      EXPECT_EQ(answer.reason, Reason::uncacheable) << why;
      EXPECT_NE(answer.why_not.find(why), std::string::npos) << answer.why_not;
    }
  }
  EXPECT_EQ(api_->builds, 2 * 6);
}

TEST_F(RecordedTest, AHeaderWithTheTimeInItIsNotKept) {
  write("late/a.h", "built at __TIME__");
  EXPECT_NE(ask().why_not.find("late/a.h uses __TIME__"), std::string::npos);
}

TEST_F(RecordedTest, TellsThreadsOfTheCompilersOwnToEveryRecording) {
  FileRecording recording;
  std::thread([&] { file_asker_open(at("late/a.h").c_str()); }).join();
  EXPECT_EQ(recording.finish().files.count(at("late/a.h")), 1u);
}

TEST_F(RecordedTest, HearsNothingOfOtherLibraries) {
  FileRecording recording;
  struct stat status {};
  ::stat(at("late/a.h").c_str(), &status);
  EXPECT_TRUE(recording.finish().files.empty());
}

TEST_F(RecordedTest, ALiveProgramIsOfNoMoreUseWhenItsHeaderChanges) {
  for (const bool has_cache : {false, true}) {
    write("late/a.h", "first");
    api_->builds = 0;
    Cache cache = Cache::open();
    Programs programs(api_, has_cache ? &cache : nullptr);
    ProgramAnswer answer;
    ASSERT_TRUE(programs.get_or_build({&kDevice, 1}, {.text = kIncludingSource}));
    ASSERT_TRUE(programs.get_or_build({&kDevice, 1}, {.text = kIncludingSource}, &answer));
    EXPECT_EQ(answer.outcome, Outcome::memory_hit);
    write("late/a.h", "second");
    ASSERT_TRUE(programs.get_or_build({&kDevice, 1}, {.text = kIncludingSource}, &answer));
    EXPECT_EQ(answer.outcome, Outcome::made);
    EXPECT_EQ(api_->builds, 2);
  }
}

TEST_F(RecordedTest, ACompilersNoIsForgottenWhenTheHeaderThatItMissedComes) {
  fs::remove(at("late/a.h"));
  for (int i = 0; i < 2; ++i) {
    ask(kIncludingSource, true);
    EXPECT_FALSE(good_);
  }
  EXPECT_EQ(api_->builds, 1);
  write("late/a.h", "first");
  ask(kIncludingSource, true);
  EXPECT_TRUE(good_);
}

TEST_F(RecordedTest, ManyClosuresOfOneProgramStayBounded) {
  for (int i = 0; i < 2 * static_cast<int>(format::kClosuresMax); ++i) {
    during_build = [&, i] { file_asker_stat(at("probe-" + std::to_string(i)).c_str()); };
    write("late/a.h", "version " + std::to_string(i));
    EXPECT_EQ(ask().outcome, Outcome::made);
    EXPECT_EQ(ask().outcome, Outcome::disk_hit);
  }
  write("late/a.h", "version 0");
  EXPECT_EQ(ask().outcome, Outcome::made);
}

TEST_F(RecordedTest, ARefusedBinaryIsRemovedAndMadeAnew) {
  ask();
  api_->spoils_binaries = true;
  const ProgramAnswer answer = ask();
  EXPECT_EQ(answer.outcome, Outcome::made);
  EXPECT_EQ(answer.reason, Reason::refused);
  api_->spoils_binaries = false;
  EXPECT_EQ(ask().outcome, Outcome::disk_hit);
}

TEST_F(RecordedTest, OneFileUnderTwoNamesIsNotTwoFiles) {
  write("late/b.h", "first");
  during_build = [&] { file_asker_open(at("late/b.h").c_str()); };
  ask();
  fs::remove(at("late/b.h"));
  fs::create_hard_link(at("late/a.h"), at("late/b.h"));
  EXPECT_EQ(ask().outcome, Outcome::made);
}

bool is_of_the_driver(std::string_view rest) {
  return rest.starts_with("tempfile_");
}

TEST_F(RecordedTest, WhatADriverDoesWithFilesOfItsOwnDecidesNothing) {
  FileRecording recording;
  EXPECT_FALSE(FileRecording::has_heard());
  FileRecording::leave_out(at("early"), is_of_the_driver);
  file_asker_fopen(at("early/tempfile_1").c_str(), "w");
  file_asker_open(at("early/tempfile_1").c_str());
  EXPECT_FALSE(FileRecording::has_heard());
  // What only looks like it is a header like any other.
  file_asker_open(at("early/x.h").c_str());
  file_asker_open((at("early") + "2/tempfile_1").c_str());
  EXPECT_TRUE(FileRecording::has_heard());
  const SeenFiles seen = recording.finish();
  EXPECT_EQ(seen.why_not, "");
  EXPECT_EQ(seen.files.size(), 2u);
}

TEST_F(RecordedTest, WritingBesideADriversOwnFilesForbidsKeeping) {
  FileRecording recording;
  FileRecording::leave_out(at("early"), is_of_the_driver);
  file_asker_fopen(at("early/other").c_str(), "w");
  EXPECT_NE(recording.finish().why_not.find("writes"), std::string::npos);
}

TEST_F(RecordedTest, NothingIsHeardDuringAPause) {
  FileRecording recording;
  {
    const FileRecording::Pause pause;
    const FileRecording::Pause within;
    file_asker_fork();
    file_asker_open(at("late/a.h").c_str());
  }
  EXPECT_FALSE(FileRecording::has_heard());
  file_asker_open(at("late/a.h").c_str());
  const SeenFiles seen = recording.finish();
  EXPECT_EQ(seen.why_not, "");
  EXPECT_EQ(seen.files.size(), 1u);
}

}  // namespace
}  // namespace larder::testing
