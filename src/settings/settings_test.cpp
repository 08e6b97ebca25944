#include "settings/settings.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <tuple>

namespace larder::settings {
namespace {

using namespace std::chrono_literals;

// A user's machine without any file.
class SettingsTest : public testing::Test {
 protected:
  SettingsTest() {
    here.environment["HOME"] = "/home/me";
    here.program = "app";
    here.uid = 4711;
    here.read_config = [this](const std::string& path) -> Result<std::optional<std::string>> {
      const auto found = files.find(path);
      if (found == files.end()) return std::optional<std::string>();
      return std::optional<std::string>(found->second);
    };
  }
  Settings settled() { return resolve(said, here); }

  const std::string user_file = "/home/me/.config/larder/config.toml";
  std::map<std::string, std::string> files;
  Surroundings here;
  Options said;
};
using Settle = SettingsTest;

TEST(SettingsTable, HasAParsableDefaultForEverySetting) {
  Options values;
  Options defaults;
  set_defaults(defaults);
  for (const Row& row : table()) {
    EXPECT_TRUE(is_said(row, defaults)) << row.name.view();
    EXPECT_EQ(value_text(row, defaults), row.fallback) << row.name.view();
    ASSERT_TRUE(set_value(row, row.fallback, values).has_value()) << row.name.view();
    EXPECT_TRUE(is_said(row, values)) << row.name.view();
    EXPECT_EQ(value_text(row, values), row.fallback)
        << row.name.view() << ": the default is not written in its shortest form";
  }
}

TEST(SettingsTable, GivesEverySettingOneNameFlagAndVariable) {
  std::set<std::string> flags, variables;
  for (const Row& row : table()) {
    EXPECT_TRUE(flags.insert(flag(row)).second) << row.name.view();
    EXPECT_TRUE(variables.insert(variable(row)).second) << row.name.view();
    EXPECT_FALSE(row.help.empty());
    EXPECT_NE(row.help.view().back(), '.') << row.name.view();
    EXPECT_EQ(find(row.name), &row);
    EXPECT_EQ(find_by_variable(variable(row)), &row);
    EXPECT_EQ(row.kind == Kind::choice, !row.choices.empty()) << row.name.view();
  }
  EXPECT_EQ(variable(*find("size-max")), "LARDER_SIZE_MAX");
  EXPECT_EQ(flag(*find("dir")), "--dir");
  for (const char* const none : {"", "LARDER_", "LARDER_size_max", "LARDER_SIZE-MAX", "LARDER_SIZE_MA",
                                 "LARDER_SIZE_MAXX", "SIZE_MAX", "XARDER_DIR"}) {
    EXPECT_EQ(find_by_variable(none), nullptr) << none;
  }
}

TEST(SettingsTable, NoTwoRowsShareAField) {
  for (const Row& one : table()) {
    Options values;
    Options scratch;
    ASSERT_TRUE(set_value(one, one.fallback, scratch).has_value());
    copy_value(one, scratch, values);
    for (const Row& other : table())
      EXPECT_EQ(is_said(other, values), &other == &one) << one.name.view() << other.name.view();
  }
}

TEST_F(Settle, KeepsTheSeedsDefaults) {
  const Settings settings = settled();
  EXPECT_EQ(*settings.values.size_max, 8ull << 30);
  EXPECT_EQ(*settings.values.age_max, 24h * 7);
  EXPECT_EQ(*settings.values.entry_size_min, 0u);
  EXPECT_EQ(*settings.values.entry_size_max, 1ull << 30);
  EXPECT_FALSE(*settings.values.persistent);
  EXPECT_TRUE(*settings.values.memory);
  EXPECT_TRUE(*settings.values.eviction);
  EXPECT_TRUE(settings.problems.empty());
  EXPECT_EQ(settings.source("size-max").origin, Origin::fallback);
}

TEST_F(Settle, LetsEveryRowOfTheSeedsTableBeSetByVariable) {
  here.environment["LARDER_DIR"] = "/data/cache";
  here.environment["LARDER_PERSISTENT"] = "1";
  here.environment["LARDER_MEMORY"] = "0";
  here.environment["LARDER_MEMORY_SIZE_MAX"] = "4096";
  here.environment["LARDER_EVICTION"] = "0";
  here.environment["LARDER_SIZE_MAX"] = "0";
  here.environment["LARDER_AGE_MAX"] = "0";
  here.environment["LARDER_ENTRY_SIZE_MIN"] = "100";
  here.environment["LARDER_ENTRY_SIZE_MAX"] = "1M";
  const Settings settings = settled();
  EXPECT_TRUE(settings.problems.empty());
  EXPECT_EQ(*settings.values.dir, "/data/cache");
  EXPECT_TRUE(*settings.values.persistent);
  EXPECT_FALSE(*settings.values.memory);
  EXPECT_EQ(*settings.values.memory_size_max, 4096u);
  EXPECT_FALSE(*settings.values.eviction);
  EXPECT_EQ(*settings.values.size_max, 0u);
  EXPECT_EQ(*settings.values.age_max, 0s);
  EXPECT_EQ(*settings.values.entry_size_min, 100u);
  EXPECT_EQ(*settings.values.entry_size_max, 1u << 20);
  EXPECT_EQ(settings.source("size-max").origin, Origin::environment);
  EXPECT_EQ(settings.source("size-max").place, "LARDER_SIZE_MAX");
}

TEST_F(Settle, LetsEveryRowOfTheSeedsTableBeSetByFile) {
  files[user_file] =
      "dir = '/data/cache'\npersistent = true\nmemory = false\nmemory-size-max = 4096\neviction = false\n"
      "size-max = 0\nage-max = \"0\"\nentry-size-min = 100\nentry-size-max = '1M'\n";
  const Settings settings = settled();
  EXPECT_TRUE(settings.problems.empty());
  EXPECT_EQ(*settings.values.dir, "/data/cache");
  EXPECT_TRUE(*settings.values.persistent);
  EXPECT_FALSE(*settings.values.memory);
  EXPECT_EQ(*settings.values.memory_size_max, 4096u);
  EXPECT_FALSE(*settings.values.eviction);
  EXPECT_EQ(*settings.values.size_max, 0u);
  EXPECT_EQ(*settings.values.age_max, 0s);
  EXPECT_EQ(*settings.values.entry_size_min, 100u);
  EXPECT_EQ(*settings.values.entry_size_max, 1u << 20);
  EXPECT_EQ(settings.source("size-max").origin, Origin::user_file);
}

TEST_F(Settle, PrefersOptionThenEnvironmentThenProjectThenUserThenSystem) {
  here.working_dir = "/home/me/src/app";
  const char* const system_file = "/etc/xdg/larder/config.toml";
  const char* const project_file = "/home/me/src/.larder.toml";
  const auto value = [&] { return settled().values.wait_max->count() / 1'000'000'000; };
  const auto origin = [&] { return settled().source("wait-max").origin; };
  EXPECT_EQ(value(), 60);
  files[system_file] = "wait-max = '1s'\n";
  EXPECT_EQ(value(), 1);
  EXPECT_EQ(origin(), Origin::system_file);
  files[user_file] = "wait-max = '2s'\n";
  EXPECT_EQ(value(), 2);
  EXPECT_EQ(origin(), Origin::user_file);
  files[project_file] = "wait-max = '3s'\n";
  EXPECT_EQ(value(), 3);
  EXPECT_EQ(origin(), Origin::project_file);
  here.environment["LARDER_WAIT_MAX"] = "4s";
  EXPECT_EQ(value(), 4);
  EXPECT_EQ(origin(), Origin::environment);
  said.wait_max = 5s;
  EXPECT_EQ(value(), 5);
  EXPECT_EQ(origin(), Origin::option);
  EXPECT_TRUE(settled().problems.empty());
}

TEST_F(Settle, DisablingFromOutsideWinsOverTheProgram) {
  said.disable = false;
  here.environment["LARDER_DISABLE"] = "1";
  const Settings settings = settled();
  EXPECT_TRUE(*settings.values.disable);
  EXPECT_EQ(settings.source("disable").origin, Origin::environment);
}

TEST_F(Settle, SaysFileLineWhatWhyAndWhatToDo) {
  files[user_file] = "# mine\nage-max = '7d'\nsize-max = '10Q'\n";
  const Settings settings = settled();
  ASSERT_EQ(settings.problems.size(), 1u);
  const Problem& problem = settings.problems[0];
  EXPECT_EQ(problem.where, user_file + ":3");
  EXPECT_EQ(problem.what, "size-max cannot be set so");
  EXPECT_EQ(problem.why, "`10Q` has the unknown unit `Q`");
  EXPECT_EQ(problem.advice, "write B, K, M, G, T or P, such as 10G");
  EXPECT_EQ(problem.text(), user_file +
                                ":3: size-max cannot be set so: `10Q` has the unknown unit `Q`; "
                                "write B, K, M, G, T or P, such as 10G");
  EXPECT_EQ(*settings.values.size_max, 8ull << 30);
  EXPECT_EQ(settings.source("age-max").place, user_file + ":2");
}

TEST_F(Settle, ABadValueLeavesTheNextSourceToDecide) {
  files[user_file] = "size-max = '1G'\n";
  here.environment["LARDER_SIZE_MAX"] = "much";
  const Settings settings = settled();
  EXPECT_EQ(*settings.values.size_max, 1ull << 30);
  ASSERT_EQ(settings.problems.size(), 1u);
  EXPECT_EQ(settings.problems[0].where, "LARDER_SIZE_MAX");
  EXPECT_EQ(settings.problems[0].origin, Origin::environment);
}

TEST_F(Settle, AsksWhetherAnotherNameWasMeant) {
  files[user_file] = "size_max = '1G'\n";
  here.environment["LARDER_PERSISTANT"] = "1";
  here.environment["LARDER_SOMEONE_ELSES"] = "1";
  const Settings settings = settled();
  ASSERT_EQ(settings.problems.size(), 2u);
  EXPECT_EQ(settings.problems[0].advice, "did you mean `size-max`?");
  EXPECT_EQ(settings.problems[1].advice, "did you mean `LARDER_PERSISTENT`?");
}

TEST_F(Settle, AsksWhetherAnotherChoiceWasMeant) {
  here.environment["LARDER_MODE"] = "verfiy";
  ASSERT_EQ(settled().problems.size(), 1u);
  EXPECT_EQ(settled().problems[0].advice, "did you mean `verify`?");
}

TEST_F(Settle, AFileThatIsNoConfigFileIsNotUsedAtAll) {
  files[user_file] = "age-max = '1d'\nsize-max = \n";
  const Settings settings = settled();
  ASSERT_EQ(settings.problems.size(), 1u);
  EXPECT_EQ(settings.problems[0].where, user_file + ":2");
  EXPECT_EQ(*settings.values.age_max, 24h * 7);
  EXPECT_TRUE(settings.files.empty());
}

TEST_F(Settle, AProjectFileCannotDecideWhatConcernsTrust) {
  here.face = Face::tool;
  here.working_dir = "/home/me/src/app";
  files["/home/me/src/app/.larder.toml"] =
      "dir = '/tmp/evil'\npersistent = true\nsize-max = 1\neviction = false\nlog = '/home/me/.bashrc'\n"
      "require-signature = false\nbundles = ['/tmp/evil.bundle']\nbundle-keys = ['/tmp/k']\npreload = "
      "false\n";
  const Settings settings = settled();
  EXPECT_EQ(settings.problems.size(), 8u);
  for (const Problem& problem : settings.problems) EXPECT_EQ(problem.origin, Origin::project_file);
  EXPECT_EQ(*settings.values.dir, "/home/me/.cache/larder");
  EXPECT_EQ(*settings.values.log, "");
  EXPECT_TRUE(*settings.values.eviction);
  EXPECT_FALSE(*settings.values.preload);
}

TEST_F(Settle, LooksForAProjectFileOnlyWhereItIsTold) {
  files["/home/me/src/.larder.toml"] = "preload = false\n";
  EXPECT_TRUE(*settled().values.preload);
  here.working_dir = "/home/me/src/deep/down";
  EXPECT_FALSE(*settled().values.preload);
  files.clear();
  files["/home/me/.larder.toml"] = "preload = false\n";
  EXPECT_TRUE(*settled().values.preload) << "the home directory is no project";
}

TEST_F(Settle, FindsTheXdgPlacesAndIgnoresRelativeOnes) {
  EXPECT_EQ(*settled().values.dir, "/home/me/.cache/larder");
  here.environment["XDG_CACHE_HOME"] = "/var/cache/me";
  here.environment["XDG_RUNTIME_DIR"] = "/run/user/1000";
  EXPECT_EQ(*settled().values.dir, "/var/cache/me/larder");
  EXPECT_EQ(*settled().values.runtime_dir, "/run/user/1000/larder");
  here.environment["XDG_CACHE_HOME"] = "cache";
  here.environment["XDG_RUNTIME_DIR"] = "run";
  EXPECT_EQ(*settled().values.dir, "/home/me/.cache/larder");
  EXPECT_EQ(*settled().values.runtime_dir, "/tmp/larder-4711");
}

TEST_F(Settle, WithoutAHomeTheDiskIsOffAndThatIsSaidOnce) {
  here.face = Face::tool;
  here.environment.erase("HOME");
  Settings settings = settled();
  EXPECT_FALSE(*settings.values.persistent);
  ASSERT_EQ(settings.problems.size(), 1u);
  EXPECT_EQ(settings.problems[0].advice, "set LARDER_DIR");
  here.environment["LARDER_DIR"] = "/data";
  settings = settled();
  EXPECT_TRUE(*settings.values.persistent);
  EXPECT_TRUE(settings.problems.empty());
  here.face = Face::library;
  here.environment.clear();
  EXPECT_TRUE(settled().problems.empty())
      << "a library that keeps nothing on disk has nothing to complain about";
}

TEST_F(Settle, TheDiskIsOnForTheToolAndWhereADirectoryIsNamed) {
  EXPECT_FALSE(*settled().values.persistent);
  here.face = Face::tool;
  EXPECT_TRUE(*settled().values.persistent);
  here.face = Face::library;
  said.dir = "/data";
  EXPECT_TRUE(*settled().values.persistent);
  EXPECT_EQ(settled().source("persistent").place, "dir is set");
  said.persistent = false;
  EXPECT_FALSE(*settled().values.persistent);
}

TEST_F(Settle, APrivilegedProcessTrustsOnlyItsProgram) {
  here.is_privileged = true;
  here.environment["LARDER_DIR"] = "/tmp/evil";
  here.environment["LARDER_PERSISTENT"] = "1";
  files[user_file] = "persistent = true\n";
  Settings settings = settled();
  EXPECT_FALSE(*settings.values.persistent);
  EXPECT_EQ(*settings.values.dir, "");
  said.persistent = true;
  settings = settled();
  EXPECT_FALSE(*settings.values.persistent);
  EXPECT_EQ(settings.problems.size(), 1u);
  said.dir = "/var/cache/daemon";
  settings = settled();
  EXPECT_TRUE(*settings.values.persistent);
  EXPECT_EQ(*settings.values.dir, "/var/cache/daemon");
}

TEST_F(Settle, ANamedConfigFileMustBeThere) {
  here.environment["LARDER_CONFIG"] = "/nowhere.toml";
  ASSERT_EQ(settled().problems.size(), 1u);
  here.environment["LARDER_CONFIG"] = "";
  files[user_file] = "preload = false\n";
  EXPECT_TRUE(*settled().values.preload) << "an empty LARDER_CONFIG reads no user file";
  here.environment["LARDER_CONFIG"] = "relative.toml";
  EXPECT_EQ(settled().problems.size(), 1u);
}

TEST_F(Settle, LimitsThatContradictEachOtherKeepNobodyFromStoring) {
  said.entry_size_min = 100;
  said.entry_size_max = 10;
  const Settings settings = settled();
  EXPECT_EQ(*settings.values.entry_size_min, 0u);
  EXPECT_EQ(settings.problems.size(), 1u);
}

TEST_F(Settle, ABundleThatAProgramNamesByARelativePathIsRefusedLikeAnybodys) {
  said.bundles = {"/sound.bundle", "relative.bundle"};
  const Settings settings = settled();
  ASSERT_EQ(settings.problems.size(), 1u);
  EXPECT_NE(settings.problems[0].text().find("`relative.bundle` is not absolute"), std::string::npos);
  EXPECT_TRUE(settings.values.bundles->empty());
}

TEST_F(Settle, WhatAProgramSaysIsCheckedToo) {
  said.dir = "relative";
  said.low_water = 300;
  said.age_max = -5s;
  const Settings settings = settled();
  EXPECT_EQ(settings.problems.size(), 3u);
  EXPECT_EQ(*settings.values.low_water, 95u);
  EXPECT_EQ(*settings.values.age_max, 24h * 7);
}

TEST_F(Settle, APathListComesAsAListOrWithColons) {
  files[user_file] = "bundles = ['/a', '/b']\n";
  EXPECT_EQ(*settled().values.bundles, (std::vector<std::string>{"/a", "/b"}));
  here.environment["LARDER_BUNDLES"] = "/c::/d";
  EXPECT_EQ(*settled().values.bundles, (std::vector<std::string>{"/c", "/d"}));
  said.bundles = {"/with:colon"};
  EXPECT_EQ(*settled().values.bundles, (std::vector<std::string>{"/with:colon"}));
}

TEST_F(Settle, TakesASettingBelowTheHeadingOfItsGroupOnly) {
  files[user_file] = "[disk]\nsize-max = '1G'\npreload = false\n[preloading]\npreload-time-max = '3s'\n";
  const Settings settings = settled();
  EXPECT_EQ(*settings.values.size_max, 1ull << 30);
  EXPECT_EQ(*settings.values.preload_time_max, 3s);
  EXPECT_TRUE(*settings.values.preload);
  ASSERT_EQ(settings.problems.size(), 1u);
  EXPECT_EQ(settings.problems[0].text(),
            user_file +
                ":3: preload is not used: it stands below [disk], where it does not belong; "
                "move it below [preloading], or above the first heading");
}

TEST_F(Settle, GoesOnAfterAFileThatBrokeAnotherParser) {
  files[user_file] = "size-max = '1G'\nf0i3e-max = [[[[[[[[[[[[[[}}}}}}}}}}}}}}}}[6[[0[[[[[[[[[[[s[[";
  const Settings settings = settled();
  ASSERT_EQ(settings.problems.size(), 1u);
  EXPECT_EQ(settings.problems[0].where, user_file + ":2");
  EXPECT_FALSE(settings.problems[0].why.empty());
  EXPECT_FALSE(settings.problems[0].advice.empty());
  EXPECT_EQ(*settings.values.size_max, 8ull << 30);
}

TEST_F(Settle, NeverThrowsOnTruncatedFiles) {
  const std::string whole =
      "size-max = '10G'\nbundles = [\n '/a', # one\n]\nage-max = \"\"\"7d\"\"\"\n[section]\nx = 1979-05-27\n";
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    files[user_file] = whole.substr(0, size);
    const Settings settings = settled();
    for (const Row& row : table()) EXPECT_TRUE(is_said(row, settings.values));
  }
}

TEST(SetOption, NamesTheSettingThatWasMeant) {
  Options options;
  ASSERT_TRUE(set_option(options, "size-max", "1G").has_value());
  EXPECT_EQ(*options.size_max, 1ull << 30);
  const auto wrong = set_option(options, "size-mix", "1G");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().code, Code::invalid_argument);
  EXPECT_EQ(wrong.error().what, "no setting is called `size-mix`; did you mean `size-max`?");
  EXPECT_FALSE(set_option(options, "size-max", "1 zillion").has_value());
  EXPECT_EQ(*options.size_max, 1ull << 30) << "a failed set leaves the value";
}

class ConfigFile : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/larder-settings-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern), nullptr);
    dir = pattern;
    path = dir + "/config.toml";
    std::ofstream(path) << "preload = false\n";
    ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  }
  void TearDown() override { std::filesystem::remove_all(dir); }
  std::string dir, path;
};

TEST_F(ConfigFile, IsReadWhenItIsTheUsers) {
  const auto text = read_config_file(path);
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(text->value(), "preload = false\n");
  EXPECT_FALSE(read_config_file(dir + "/none").value().has_value());
}

TEST_F(ConfigFile, IsRefusedWhenEverybodyMayWriteIt) {
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  EXPECT_EQ(read_config_file(path).error().code, Code::refused);
}

TEST_F(ConfigFile, IsRefusedWhenItBelongsToSomebodyElse) {
  if (::chown(path.c_str(), 4711, 4711) != 0) GTEST_SKIP() << "only root can give files away";
  EXPECT_EQ(read_config_file(path).error().code, Code::refused);
}

TEST_F(ConfigFile, NeverBlocksOnAFifoNorReadsADirectory) {
  const std::string fifo = dir + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(read_config_file(fifo).error().code, Code::refused);
  EXPECT_EQ(read_config_file(dir).error().code, Code::refused);
}

TEST_F(ConfigFile, IsRefusedWhenItIsHuge) {
  std::ofstream(path) << std::string(kConfigSizeMax + 1, '#');
  EXPECT_EQ(read_config_file(path).error().code, Code::refused);
}

TEST_F(Settle, SaysWhatToWriteForAWordWithoutQuotes) {
  const std::tuple<std::string, std::string> cases[] = {{"memory = on", "write true"},
                                                        {"memory = no", "write false"},
                                                        {"memory = maybe", "write true or false"},
                                                        {"size-max = 10G", "write size-max = \"10G\""},
                                                        {"program = on", "write program = \"on\""}};
  for (const auto& [text, advice] : cases) {
    files[user_file] = text;
    const Settings settings = settled();
    ASSERT_EQ(settings.problems.size(), 1u) << text;
    EXPECT_EQ(settings.problems[0].advice, advice) << text;
  }
}

TEST_F(Settle, SaysNothingAtLengthWhateverAFileHolds) {
  const std::string much(900'000, 'a');
  for (const std::string& text :
       {much, much + " = ", much + " = \"x\"", much + " = \"x\"\n" + much + " = \"x\"", "memory = " + much,
        "[" + much + "]\nmemory = true", "[" + much + "]\n[" + much + "]", "[" + much, "dir = [" + much,
        "program = \"" + much}) {
    files[user_file] = text;
    here.environment["LARDER_" + much] = "x";
    for (const Problem& problem : settled().problems) EXPECT_LT(problem.text().size(), 1000u);
  }
}

}  // namespace
}  // namespace larder::settings
