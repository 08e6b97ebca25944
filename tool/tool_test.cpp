#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tool/columns.hpp"
#include "tool/help.hpp"
#include "tool/json.hpp"
#include "tool/progress.hpp"
#include "tool/tool_test_kit.hpp"

namespace larder::tool {
namespace {

using Tool = ToolTest;
using Parsed = nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing::Test;

std::string content(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST_F(Tool, WithoutACommandSaysWhatThereIsOnStderr) {
  EXPECT_EQ(larder({}), kError);
  EXPECT_EQ(out, "");
  EXPECT_NE(err.find("Commands"), std::string::npos);
  EXPECT_EQ(larder({"--help"}), kDone);
  EXPECT_NE(out.find("Commands"), std::string::npos);
  EXPECT_EQ(err, "");
}

TEST_F(Tool, EveryCommandExplainsItself) {
  std::set<std::string_view> names;
  for (const Command* command : commands()) {
    EXPECT_TRUE(names.insert(command->name).second);
    ASSERT_NE(command->run, nullptr) << command->name;
    const std::string name(command->name);
    EXPECT_EQ(larder({"help", name}), kDone);
    const std::string page = out;
    EXPECT_EQ(larder({name, "--help"}), kDone);
    EXPECT_EQ(out, page);
    EXPECT_NE(out.find("larder " + name), std::string::npos);
    EXPECT_EQ(larder({name, "-h"}), kDone) << err;
    for (const Argument& argument : command->arguments) {
      EXPECT_NE(page.find(argument.name), std::string::npos) << name << ' ' << argument.name;
    }
  }
}

TEST_F(Tool, TyposGetTheWordThatWasMeant) {
  EXPECT_EQ(larder({"confg"}), kError);
  EXPECT_EQ(err, "larder: there is no command `confg`\n  try: did you mean `config`?\n");
  EXPECT_EQ(larder({"config", "--jsn"}), kError);
  EXPECT_NE(err.find("did you mean `--json`?"), std::string::npos);
  EXPECT_EQ(larder({"--size-mux=3", "version"}), kError);
  EXPECT_NE(err.find("did you mean `--size-max`?"), std::string::npos);
  EXPECT_EQ(larder({"config", "shwo"}), kError);
  EXPECT_NE(err.find("did you mean `show`?"), std::string::npos);
  EXPECT_EQ(larder({"config", "show", "sise-max"}), kError);
  EXPECT_NE(err.find("did you mean `size-max`?"), std::string::npos);
  EXPECT_EQ(larder({"help", "zzzzz"}), kError);
}

TEST_F(Tool, WrongUsageIsExitTwoAndThreeShortLines) {
  const std::vector<std::vector<std::string>> wrong{{"completions"},
                                                    {"completions", "tcsh"},
                                                    {"version", "extra"},
                                                    {"--size-max"},
                                                    {"--size-max=1Q", "config"},
                                                    {"--no-preload=on", "config"},
                                                    {"--color=pink", "version"},
                                                    {"config", "--", "x"}};
  for (const auto& words : wrong) {
    EXPECT_EQ(larder(words), kError) << words[0];
    EXPECT_EQ(out, "");
    EXPECT_TRUE(err.starts_with("larder: ")) << err;
    EXPECT_NE(err.find("\n  try: "), std::string::npos) << err;
    EXPECT_LE(std::count(err.begin(), err.end(), '\n'), 3) << err;
  }
}

TEST_F(Tool, AFlagWinsOverTheEnvironmentWinsOverTheFile) {
  files["/nowhere/me/.config/larder/config.toml"] = "size-max = '1G'\nage-max = '1d'\nwait-max = '1s'\n";
  here.environment["LARDER_SIZE_MAX"] = "2G";
  here.environment["LARDER_AGE_MAX"] = "2d";
  ASSERT_EQ(larder({"--size-max", "3G", "config", "--json"}), kDone) << err;
  const Parsed json = Parsed::parse(out);
  EXPECT_EQ(json["schema"], 1);
  std::map<std::string, Parsed> by_name;
  for (const Parsed& one : json["settings"]) by_name[one["name"]] = one;
  EXPECT_EQ(by_name.size(), settings::kSettingCount);
  EXPECT_EQ(by_name["size-max"]["value"], "3GiB");
  EXPECT_EQ(by_name["size-max"]["place"], "--size-max");
  EXPECT_EQ(by_name["age-max"]["value"], "2d");
  EXPECT_EQ(by_name["age-max"]["place"], "LARDER_AGE_MAX");
  EXPECT_EQ(by_name["wait-max"]["place"], "/nowhere/me/.config/larder/config.toml:3");
  EXPECT_EQ(by_name["preload"]["origin"], "default");
}

TEST_F(Tool, EverySettingIsAFlagBeforeOrBehindTheCommand) {
  for (const settings::Row& row : settings::table()) {
    const std::string name(row.name);
    std::string value(row.fallback);
    if (row.kind == settings::Kind::path || row.kind == settings::Kind::path_list) value = "/some/path";
    if (row.kind == settings::Kind::text) value = "word";
    EXPECT_EQ(larder({settings::flag(row) + '=' + value, "config", "show", name}), kDone) << err;
    EXPECT_NE(out.find(settings::flag(row)), std::string::npos) << out;
    if (row.kind != settings::Kind::boolean) {
      EXPECT_EQ(larder({"config", "show", name, settings::flag(row), value}), kDone) << err;
      EXPECT_NE(out.find(settings::flag(row)), std::string::npos) << out;
    } else {
      EXPECT_EQ(larder({"config", "show", name, "--no-" + name}), kDone) << err;
      EXPECT_NE(out.find("off"), std::string::npos) << out;
    }
  }
}

TEST_F(Tool, ARelativeDirectoryIsMeantFromHere) {
  ASSERT_EQ(larder({"--dir", "cache", "config", "show", "dir"}), kDone);
  EXPECT_NE(out.find("/nowhere/src/cache"), std::string::npos) << out;
}

TEST_F(Tool, ABadSettingStopsACommandButNotTheOnesThatShowIt) {
  here.environment["LARDER_SIZE_MAX"] = "much";
  EXPECT_EQ(larder({"config", "check"}), kNo);
  EXPECT_NE(err.find("LARDER_SIZE_MAX"), std::string::npos);
  EXPECT_EQ(larder({"config"}), kDone);
  EXPECT_EQ(larder({"doctor"}), kNo);
  EXPECT_NE(out.find("bad  settings"), std::string::npos) << out;
  here.environment.clear();
  here.environment["HOME"] = "/nowhere/me";
  EXPECT_EQ(larder({"config", "check"}), kDone);
  EXPECT_EQ(err, "");
}

TEST_F(Tool, AnotherConfigFileCanBeNamed) {
  files["/nowhere/src/my.toml"] = "size-max = '5G'\n";
  ASSERT_EQ(larder({"--config", "my.toml", "config", "show", "size-max"}), kDone) << err;
  EXPECT_NE(out.find("/nowhere/src/my.toml:1"), std::string::npos) << out;
}

TEST_F(Tool, PrintsItsVersion) {
  ASSERT_EQ(larder({"version"}), kDone);
  EXPECT_TRUE(out.starts_with("larder 0."));
  const std::string line = out;
  ASSERT_EQ(larder({"--version"}), kDone);
  EXPECT_EQ(out, line);
  ASSERT_EQ(larder({"version", "--json"}), kDone);
  EXPECT_EQ("larder " + Parsed::parse(out)["version"].get<std::string>() + '\n', line);
}

class DoctorTest : public ToolTest {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/larder-doctor-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern), nullptr);
    place = pattern;
    here.environment["LARDER_DIR"] = place + "/cache";
    here.environment["LARDER_RUNTIME_DIR"] = place + "/run";
    here.environment["LARDER_FREE_MIN"] = "0";
    ASSERT_EQ(::mkdir((place + "/cache").c_str(), 0700), 0);
    ASSERT_EQ(::mkdir((place + "/run").c_str(), 0700), 0);
  }
  void TearDown() override { std::filesystem::remove_all(place); }
  std::string place;
};
using Doctor = DoctorTest;

TEST_F(Doctor, FindsNothingBadInAPlaceOfOnesOwn) {
  EXPECT_EQ(larder({"doctor"}), kDone) << out;
  ASSERT_EQ(larder({"doctor", "--json"}), kDone);
  EXPECT_EQ(Parsed::parse(out)["well"], true);
  EXPECT_TRUE(std::filesystem::is_empty(place + "/run")) << "it cleans up behind itself";
}

TEST_F(Doctor, SaysHowToCloseADirectoryThatOthersCanWrite) {
  ASSERT_EQ(::chmod((place + "/cache").c_str(), 0777), 0);
  EXPECT_EQ(larder({"doctor"}), kNo);
  EXPECT_NE(out.find("try: chmod 700 '" + place + "/cache'"), std::string::npos) << out;
}

TEST_F(Doctor, AdvisesToRemoveNothingThatIsNotLarders) {
  const std::string cache = place + "/cache";
  ASSERT_EQ(::rmdir(cache.c_str()), 0);
  std::ofstream(cache) << "somebody's";
  EXPECT_EQ(larder({"doctor"}), kNo);
  EXPECT_EQ(out.find("remove"), std::string::npos) << out;
  EXPECT_NE(out.find("try: name another directory"), std::string::npos) << out;
}

TEST_F(Doctor, RefusesALinkAFileAndAStrangersDirectory) {
  const std::string cache = place + "/cache";
  ASSERT_EQ(::rmdir(cache.c_str()), 0);
  ASSERT_EQ(::symlink("run", cache.c_str()), 0);
  EXPECT_EQ(larder({"doctor"}), kNo);
  EXPECT_NE(out.find("symbolic link"), std::string::npos) << out;
  ASSERT_EQ(::unlink(cache.c_str()), 0);
  std::ofstream(cache) << "x";
  EXPECT_EQ(larder({"doctor"}), kNo);
  EXPECT_NE(out.find("no directory"), std::string::npos) << out;
  ASSERT_EQ(::unlink(cache.c_str()), 0);
  ASSERT_EQ(::mkdir(cache.c_str(), 0700), 0);
  if (::chown(cache.c_str(), 4711, 4711) == 0) {
    EXPECT_EQ(larder({"doctor"}), kNo);
    EXPECT_NE(out.find("belongs to user 4711"), std::string::npos) << out;
  }
}

TEST_F(Doctor, SaysWhenTheDiskIsTooFull) {
  here.environment["LARDER_FREE_MIN"] = "1000T";
  EXPECT_EQ(larder({"doctor"}), kNo);
  EXPECT_NE(out.find("less than free-min"), std::string::npos) << out;
}

TEST_F(Doctor, SaysWhenLarderIsSwitchedOff) {
  here.environment["LARDER_DISABLE"] = "1";
  EXPECT_EQ(larder({"doctor"}), kDone);
  EXPECT_NE(out.find("switched off by LARDER_DISABLE"), std::string::npos) << out;
}

// Run `ninja generated_pages` after a change of commands or settings.
TEST(Pages, AreUpToDate) {
  const std::string root = LARDER_SOURCE_DIR;
  EXPECT_EQ(content(root + "/man/larder.1"), man_page());
  EXPECT_EQ(content(root + "/docs/settings.md"), settings_page());
}

TEST(Pages, NameEverySettingAndCommand) {
  const std::string man = man_page();
  for (const settings::Row& row : settings::table()) {
    EXPECT_NE(man.find(settings::variable(row)), std::string::npos) << row.name.view();
    EXPECT_NE(settings_page().find('`' + std::string(row.name) + '`'), std::string::npos) << row.name.view();
    EXPECT_NE(settings_help().find(settings::flag(row)), std::string::npos) << row.name.view();
  }
  for (const Command* command : commands()) {
    std::string name;
    for (const char letter : command->name) {
      if (letter == '-') name += '\\';  // in a man page, a dash that may be copied is escaped
      name += letter;
    }
    EXPECT_NE(man.find(name), std::string::npos) << name;
  }
}

TEST(JsonText, IsAlwaysJson) {
  std::string every_byte;
  for (int c = 0; c < 256; ++c) every_byte.push_back(static_cast<char>(c));
  Json json = begin_json();
  json.member("bytes", std::string_view(every_byte))
      .member("utf8", "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80")
      .member("broken", "\xE2\x82|\xC0\xAF|\xED\xA0\x80|\xF4\x90\x80\x80")
      .member("yes", true)
      .member("none", 0.0 / 1.0)
      .member("large", ~std::uint64_t{0})
      .key("list")
      .begin_array()
      .value(1)
      .value("two")
      .begin_object()
      .end_object()
      .end_array()
      .end_object();
  const Parsed parsed = Parsed::parse(std::move(json).text());
  EXPECT_EQ(parsed["schema"], 1);
  EXPECT_EQ(parsed["utf8"], "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80");
  EXPECT_EQ(parsed["large"], ~std::uint64_t{0});
  EXPECT_EQ(parsed["list"].size(), 3u);
  EXPECT_EQ(parsed["bytes"].get<std::string>().substr(0, 128), every_byte.substr(0, 128));
}

TEST(ColumnsText, AlignsAndLeavesNoBlanksAtLineEnds) {
  Columns columns({{"NAME"}, {"SIZE", true}, {"NOTE"}});
  columns.add({"a", "12", ""});
  columns.add({"gr\xC3\xBC\xC3\x9F", "3", "x"});
  EXPECT_EQ(columns.text(), "NAME  SIZE  NOTE\na       12\ngr\xC3\xBC\xC3\x9F     3  x\n");
}

TEST(ConsoleText, ControlCharactersNeverReachATerminal) {
  EXPECT_EQ(printable("a\033[31mb\n\x7f"), "a?[31mb??");
}

class ProgressTest : public Test {
 protected:
  // What a progress of `for_long` draws.
  std::string drawn(bool is_terminal, std::chrono::milliseconds for_long) {
    char* text = nullptr;
    std::size_t size = 0;
    std::FILE* const file = ::open_memstream(&text, &size);
    {
      Console console(file, file, is_terminal, is_terminal, Colour::never);
      Progress progress(console, "reading", 10);
      progress.advance(5);
      std::this_thread::sleep_for(for_long);
    }
    std::fclose(file);
    std::string all(text, size);
    std::free(text);
    return all;
  }
};
using ProgressLine = ProgressTest;

TEST_F(ProgressLine, IsSilentForShortWorkAndWithoutATerminal) {
  EXPECT_EQ(drawn(true, std::chrono::milliseconds(20)), "");
  EXPECT_EQ(drawn(false, std::chrono::milliseconds(350)), "");
}

TEST_F(ProgressLine, ShowsHowFarLongWorkHasComeAndCleansUp) {
  const std::string text = drawn(true, std::chrono::milliseconds(450));
  EXPECT_NE(text.find("reading: 5 / 10, 50 %"), std::string::npos);
  EXPECT_TRUE(text.ends_with("\r\033[K"));
}

TEST_F(Tool, ASwitchTakesItsValueAsAWordOfItsOwn) {
  for (const auto& [words, value] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--memory", "off", "config", "show", "memory"}, "off"},
           {{"config", "show", "memory", "--memory", "off"}, "off"},
           {{"--memory=off", "config", "show", "memory"}, "off"},
           {{"--memory", "false", "config", "show", "memory"}, "off"},
           {{"--memory", "config", "show", "memory"}, "on"},
           {{"--no-memory", "config", "show", "memory"}, "off"},
           {{"--disable", "on", "config", "show", "disable"}, "on"}}) {
    ASSERT_EQ(larder(words), kDone) << words[0] << ' ' << words[1] << ": " << err;
    EXPECT_THAT(out, HasSubstr(value + "  ")) << words[0] << ' ' << words[1] << ": " << out;
  }
}

TEST_F(Tool, ConfigCheckAndFilesAnswerAsJsonAndTakeNoNames) {
  ASSERT_EQ(larder({"config", "check", "--json"}), kDone);
  EXPECT_THAT(out, HasSubstr("\"fits\":true"));
  here.environment["LARDER_SIZE_MAX"] = "much";
  ASSERT_EQ(larder({"config", "check", "--json"}), kNo);
  EXPECT_THAT(out, HasSubstr("\"fits\":false"));
  EXPECT_THAT(out, HasSubstr("LARDER_SIZE_MAX"));
  here.environment.erase("LARDER_SIZE_MAX");
  ASSERT_EQ(larder({"config", "files", "--json"}), kDone);
  EXPECT_THAT(out, HasSubstr("\"is_read\":"));
  EXPECT_EQ(larder({"config", "check", "extra"}), kError);
}

TEST_F(Tool, SaysWhatIsWrongByTheNameThatWasTyped) {
  EXPECT_EQ(larder({"--config", "/nonexistent", "ls"}), kError);
  EXPECT_THAT(err, HasSubstr("--config: "));
  EXPECT_THAT(err, Not(HasSubstr("LARDER_CONFIG")));
  EXPECT_EQ(larder({"--dir", "", "ls"}), kError);
  EXPECT_THAT(err, HasSubstr("--dir cannot be set so"));
  EXPECT_EQ(larder({"--size-max", "99999999999999999999", "ls"}), kError);
  EXPECT_THAT(err, HasSubstr("try: the largest is 16383PiB"));
  EXPECT_EQ(larder({"--size-max", "16383PiB", "config", "show", "size-max"}), kDone) << err;
  EXPECT_EQ(larder({"show"}), kError);
  EXPECT_THAT(err, HasSubstr("there is no KEY"));
}

}  // namespace
}  // namespace larder::tool
