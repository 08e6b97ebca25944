#include "settings/config_text.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/utf8.hpp"
#include "settings/table.hpp"

namespace larder::settings {
namespace {

std::string value_of(std::string_view text) {
  const auto read = read_config_text(text);
  if (!read || read->size() != 1) return "no assignment";
  return read->front().problem.empty() ? read->front().text : "problem: " + read->front().problem;
}

ConfigError error_of(std::string_view text) {
  const auto read = read_config_text(text);
  return read ? ConfigError{"no error", "", 0} : read.error();
}

TEST(ConfigText, ReadsEveryKindOfValue) {
  EXPECT_EQ(value_of("a = \"10G\"\n"), "10G");
  EXPECT_EQ(value_of("a = '10G'"), "10G");
  EXPECT_EQ(value_of("\ta\t=\t''\r\n"), "");
  EXPECT_EQ(value_of("a=1_000_000"), "1000000");
  EXPECT_EQ(value_of("a = +5 # five"), "5");
  EXPECT_EQ(value_of("a = -5"), "-5");
  EXPECT_EQ(value_of("a = true"), "on");
  EXPECT_EQ(value_of("a = false"), "off");
  EXPECT_EQ(value_of("a = []"), "");
  EXPECT_EQ(value_of("a = ['/x', \"/y\"]"), "/x:/y");
  EXPECT_EQ(value_of("a = [ # first\n '/x' # one\r\n ,\n\n '/y', # last\n ] # end"), "/x:/y");
  EXPECT_EQ(value_of("\xEF\xBB\xBF# mark\na = 1\n"), "1");
}

TEST(ConfigText, KeepsSingleQuotesRawAndReadsEscapesInDoubleOnes) {
  EXPECT_EQ(value_of(R"(a = 'c:\new # no remark')"), R"(c:\new # no remark)");
  EXPECT_EQ(value_of(R"(a = "tab \t quote \" slash \\ \u00e9 \U0001F600")"),
            "tab \t quote \" slash \\ \xC3\xA9 \xF0\x9F\x98\x80");
  EXPECT_EQ(value_of("a = '\xC3\x89'  # \xC3\x89\n"), "\xC3\x89");
  for (const char* const wrong : {R"(a = "\q")", R"(a = "\u12")", R"(a = "\ud800")", R"(a = "\U00110000")",
                                  R"(a = "\u00g0")", R"(a = "\u-001")", R"(a = "\")", "a = \"\\"}) {
    EXPECT_EQ(error_of(wrong).line, 1u) << wrong;
  }
}

TEST(ConfigText, KnowsTheLineAndTheHeadingOfEachSetting) {
  const auto read = read_config_text("# mine\n\na = [\n 'x',\n]\n[ disk ] # heading\nb = 1\n[memory]\nc = 2");
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->size(), 3u);
  EXPECT_EQ((*read)[0].line, 3u);
  EXPECT_EQ((*read)[0].section, "");
  EXPECT_EQ((*read)[1].line, 7u);
  EXPECT_EQ((*read)[1].section, "disk");
  EXPECT_EQ((*read)[2].section, "memory");
}

TEST(ConfigText, SaysOfEveryErrorWhereWhatAndWhatToDo) {
  const struct {
    std::string_view text, what;
    unsigned line;
  } cases[] = {
      {"a = 1\nb\n", "`b` is not followed by =", 2},
      {"\n\"a\" = 1", "a line begins with `\"a\"`, which is no setting's name", 2},
      {"a = # nothing", "`a` is set to nothing", 1},
      {"a = 1\na = 2", "`a` is set twice", 2},
      {"a = 'x' 'y'", "`'y'` stands behind what the line says", 1},
      {"a = {}", "`{}` is no value", 1},
      {"a = \"x\nb = 1", "a text has no closing quote", 1},
      {"a = \"\"\"x\"\"\"", "`\"x\"\"\"` stands behind what the line says", 1},
      {"a = 'x\x01'", "a control character stands in a text", 1},
      {"# \xC3\n", "the text is no UTF-8", 1},
      {"a = ['x'\n'y']", "a list has no comma or ] before `'y'`", 2},
      {"a = [1]", "a list holds `1`, which is no text", 1},
      {"a = [\n['x']]", "a list holds `['x'`, which is no text", 2},
      {"a = ['x',\n", "a list has no closing ]", 2},
      {"[disk", "a line that begins with [ is no heading", 1},
      {"[[disk]]", "a line that begins with [ is no heading", 1},
      {"[ = \"x\"", "a line that begins with [ is no heading", 1},
      {"[a.b]", "a line that begins with [ is no heading", 1},
      {"[a]\n[a]", "the heading [a] stands twice", 2},
      {"a = 1\xC5\x8E"
       "3\n",
       "`1\xC5\x8E"
       "3` is no value",
       1},
  };
  for (const auto& one : cases) {
    const ConfigError error = error_of(one.text);
    EXPECT_EQ(error.what, one.what) << one.text;
    EXPECT_EQ(error.line, one.line) << one.text;
    EXPECT_FALSE(error.advice.empty()) << one.text;
  }
}

TEST(ConfigText, ABareWordCostsItsOwnLineOnly) {
  const auto read = read_config_text("a = 1.5\nb = 10G\nc = 2020-01-01\nd = 007\ne = ['x:y']\nf = 3\n");
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->size(), 6u);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_FALSE((*read)[i].problem.empty()) << (*read)[i].name;
    EXPECT_FALSE((*read)[i].advice.empty()) << (*read)[i].name;
    EXPECT_TRUE((*read)[i].text.empty()) << (*read)[i].name;
  }
  EXPECT_EQ((*read)[1].problem, "`10G` stands without quotes");
  EXPECT_EQ((*read)[5].text, "3");
}

TEST(ConfigText, IsDoneWithAMegabyteOfBracketsAtOnce) {
  // What a recursive reader would overflow its stack with.
  for (const char c : {'[', '{', '"', '\'', '#', '=', '\n'}) {
    const std::string text = "a = " + std::string(1 << 20, c);
    EXPECT_EQ(error_of(text).line, 1u) << c;
  }
}

// Between double quotes, with everything escaped that must be.
std::string quoted_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      constexpr char kDigits[] = "0123456789ABCDEF";
      out += {'\\', 'u', '0', '0', kDigits[static_cast<unsigned char>(c) >> 4], kDigits[c & 15]};
    } else {
      out.push_back(c);
    }
  }
  return out + '"';
}

std::string written(const Row& row, const Options& options) {
  std::string line = std::string(row.name) + " = ";
  const std::string text = value_text(row, options);
  switch (row.kind) {
    case Kind::boolean:
      return line + (text == "on" ? "true" : "false");
    case Kind::count:
      return line + text;
    case Kind::path_list: {
      line += '[';
      std::string_view rest = text;
      while (!rest.empty()) {
        const std::string_view one = rest.substr(0, rest.find(':'));
        rest.remove_prefix(std::min(one.size() + 1, rest.size()));
        line += "  " + quoted_text(one) + ", # one of them\n";
      }
      return line + "]";
    }
    default:
      return line + quoted_text(text);
  }
}

// Some value that the row can have.
Options arbitrary(const Row& row) {
  const auto path = [] {
    std::string text = "/";
    for (const char c : *rc::gen::arbitrary<std::string>()) {
      // Any character of UTF-8's first page but the colon between paths; a letter beyond it for the rest.
      if (c != ':' && c > 0) text.push_back(c);
      if (c < 0) text += "\xC3\xA9";
    }
    return text;
  };
  Options options;
  struct Filler {
    const Row& row;
    Options& options;
    std::function<std::string()> path;
    void operator()(std::optional<bool> Options::*field) const {
      options.*field = *rc::gen::arbitrary<bool>();
    }
    void operator()(std::optional<std::uint64_t> Options::*field) const {
      options.*field = *rc::gen::arbitrary<std::uint64_t>();
    }
    void operator()(std::optional<std::uint32_t> Options::*field) const {
      options.*field = *rc::gen::inRange<std::uint32_t>(0, 101);
    }
    void operator()(std::optional<std::chrono::nanoseconds> Options::*field) const {
      options.*field = std::chrono::nanoseconds(*rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000'000));
    }
    void operator()(std::optional<std::string> Options::*field) const {
      const std::vector<std::string_view> words = choices(row);
      options.*field = words.empty() ? path() : std::string(*rc::gen::elementOf(words));
    }
    void operator()(std::optional<std::vector<std::string>> Options::*field) const {
      std::vector<std::string> paths(*rc::gen::inRange<std::size_t>(0, 4));
      for (std::string& one : paths) one = path();
      options.*field = paths;
    }
  };
  std::visit(Filler{row, options, path}, row.field);
  return options;
}

RC_GTEST_PROP(ConfigTextProperty, GivesBackWhateverSettingsWereWritten, ()) {
  std::string text;
  Options said;
  const bool has_headings = *rc::gen::arbitrary<bool>();
  const Group* group = nullptr;
  for (const Row& row : table()) {
    if (has_headings && (group == nullptr || *group != row.group)) {
      text.append("[").append(section(row.group)).append("]\n");
    }
    group = &row.group;
    if (*rc::gen::arbitrary<bool>()) continue;
    copy_value(row, arbitrary(row), said);
    text += written(row, said) + (*rc::gen::arbitrary<bool>() ? "\r\n" : "  # remark\n");
  }
  const auto read = read_config_text(text);
  RC_ASSERT(read.has_value());
  Options back;
  for (const Assignment& one : *read) {
    const Row* row = find(one.name);
    RC_ASSERT(row != nullptr);
    RC_ASSERT(one.problem.empty());
    RC_ASSERT(!has_headings || one.section == section(row->group));
    RC_ASSERT(set_value(*row, one.text, back).has_value());
  }
  RC_ASSERT(back == said);
}

}  // namespace
}  // namespace larder::settings
