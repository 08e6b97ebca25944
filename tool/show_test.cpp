#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tool/store_tool_test_kit.hpp"

namespace larder::tool {
namespace {

using Show = StoreToolTest;
using Parsed = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

TEST_F(Show, PrintsIngredientsSizesCostAgesAndLog) {
  Recipe one("opencl-program");
  one.add("source", "kernel void f() {}\nkernel void g() {}\n").add("options", "-O2");
  one.add("binary", std::string_view("\x01\x02\0\xff", 4)).add("large", std::string(70'000, 'x'));
  const Key key = keep(one, std::string(5000, 'p'),
                       {.cost = std::chrono::milliseconds(1500), .log = "warning: slow\n", .attachment = {}});
  use(key, std::chrono::hours(5));
  ASSERT_EQ(larder({"show", key.hex()}), kDone) << err;
  for (const char* text :
       {"opencl-program", "4.9 KiB", "1.5 s", "5.0 h ago", "4 ingredients", "options = \"-O2\"",
        "source: 38 bytes\n    kernel void f() {}\n    kernel void g() {}\n",
        "binary: 4 bytes, no text: 010200ff", "large: 70000 bytes, BLAKE2b ",
        "the maker's log\n  warning: slow\n"}) {
    EXPECT_THAT(out, HasSubstr(text));
  }
  ASSERT_EQ(larder({"show", key.hex(), "--json"}), kDone) << err;
  const Parsed json = Parsed::parse(out);
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["key"], key.hex());
  EXPECT_EQ(json["product_bytes"], 5000);
  EXPECT_EQ(json["cost_ns"], 1'500'000'000);
  EXPECT_EQ(json["log"], "warning: slow\n");
  EXPECT_EQ(json["ingredients"][1], (Parsed{{"name", "options"}, {"size_bytes", 3}, {"text", "-O2"}}));
  EXPECT_EQ(json["ingredients"][2]["hex"], "010200ff");
  EXPECT_EQ(json["ingredients"][3]["size_bytes"], 70'000);
  EXPECT_EQ(json["ingredients"][3]["digest"].get<std::string>().size(), 64u);
}

TEST_F(Show, CutsLongTextsUnlessAskedForAllOfThem) {
  Recipe one("kind");
  std::string text;
  for (int i = 0; i < 100; ++i) text += "line " + std::to_string(i) + '\n';
  one.add("source", text);
  keep(one);
  ASSERT_EQ(larder({"show", one.key().hex()}), kDone);
  EXPECT_THAT(out, HasSubstr("... 92 lines more, see --full"));
  EXPECT_THAT(out, Not(HasSubstr("line 99")));
  ASSERT_EQ(larder({"show", "--full", one.key().hex()}), kDone);
  EXPECT_THAT(out, HasSubstr("line 99"));
}

TEST_F(Show, PrintsWhatIsKeptOfTheTextsOfLargeIngredients) {
  std::string source;
  for (int i = 0; source.size() < 90'000; ++i) source += "line " + std::to_string(i) + '\n';
  Recipe one("kind");
  const std::string header = source + "end";
  one.add("source", source).add("header", header);
  {
    Options said = options();
    said.attachment_max = source.size() + 1000;  // all of the source, the beginning of the header
    Cache cache = Cache::open(said);
    const Text texts[] = {{"source", source}, {"header", header}};
    ASSERT_TRUE(cache.get_or_make(one, [] { return std::string("made"); }, {.texts = texts}));
  }
  ASSERT_EQ(larder({"show", one.key().hex()}), kDone) << err;
  const std::string size = std::to_string(source.size());
  EXPECT_THAT(out, HasSubstr("source: " + size + " bytes, BLAKE2b "));
  EXPECT_THAT(out, HasSubstr("\n    line 0\n    line 1\n"));
  EXPECT_THAT(out, HasSubstr(" lines more, see --full"));
  EXPECT_THAT(out, Not(HasSubstr("line 5000\n")));
  EXPECT_THAT(out, HasSubstr("(only its first 1000 bytes are kept, see attachment-max)"));
  ASSERT_EQ(larder({"show", "--full", one.key().hex()}), kDone) << err;
  EXPECT_THAT(out, HasSubstr("    line 5000\n"));

  ASSERT_EQ(larder({"show", "--json", one.key().hex()}), kDone) << err;
  const Parsed cut = Parsed::parse(out)["ingredients"];
  EXPECT_EQ(cut[0]["text"].get<std::string>(), source.substr(0, 64 * 1024));
  EXPECT_EQ(cut[0]["kept_bytes"], source.size());
  EXPECT_EQ(cut[1]["text"].get<std::string>(), source.substr(0, 1000));
  ASSERT_EQ(larder({"show", "--json", "--full", one.key().hex()}), kDone) << err;
  EXPECT_EQ(Parsed::parse(out)["ingredients"][0]["text"].get<std::string>(), source);
}

TEST_F(Show, EscapesControlCharactersInTheTextsOfLargeIngredients) {
  std::string source(70'000, 'x');
  source.replace(0, 6, "\033[2J\n\n");
  Recipe one("kind");
  one.add("source", source);
  {
    Cache cache = Cache::open(options());
    const Text texts[] = {{"source", source}};
    ASSERT_TRUE(cache.get_or_make(one, [] { return std::string("made"); }, {.texts = texts}));
  }
  for (const char* how : {"--full", "--json"}) {
    ASSERT_EQ(larder({"show", how, one.key().hex()}), kDone) << err;
    EXPECT_EQ(out.find('\033'), std::string::npos) << how;
  }
}

TEST_F(Show, TakesAnyPrefixThatMeansOneEntry) {
  const Key key = keep(recipe("a"));
  for (const std::size_t digits : {1u, 2u, 3u, 12u, 31u, 32u}) {
    EXPECT_EQ(larder({"show", key.hex().substr(0, digits)}), kDone) << digits << err;
    EXPECT_THAT(out, HasSubstr(key.hex()));
  }
  std::string upper = key.hex();
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  EXPECT_EQ(larder({"show", upper}), kDone);
}

TEST_F(Show, NamesTheEntriesThatAnAmbiguousPrefixMeans) {
  // Seventeen keys share a first digit somewhere.
  std::map<char, std::vector<std::string>> by_digit;
  std::string digit;
  for (int i = 0; i < 17; ++i) {
    const std::string key = keep(recipe(std::to_string(i))).hex();
    auto& same = by_digit[key[0]];
    same.push_back(key);
    if (same.size() == 2) digit = key[0];
  }
  EXPECT_EQ(larder({"show", digit}), kError);
  EXPECT_THAT(err, HasSubstr("more than one entry begins with " + digit));
  EXPECT_THAT(err, HasSubstr(by_digit[digit[0]][0].substr(0, 12)));
  EXPECT_THAT(err, HasSubstr("try: write more digits"));
  EXPECT_EQ(out, "");
}

TEST_F(Show, SaysNoWhenThereIsNoSuchEntryAndErrorWhenItIsNoKey) {
  EXPECT_EQ(larder({"show", "12ab"}), kNo);
  EXPECT_THAT(err, HasSubstr("nothing is kept"));
  keep(recipe("a"));
  EXPECT_EQ(larder({"show", std::string(32, '0')}), kNo);
  EXPECT_THAT(err, HasSubstr("no entry begins with"));
  EXPECT_EQ(larder({"show", "xyz"}), kError);
  EXPECT_THAT(err, HasSubstr("is no key"));
  EXPECT_EQ(larder({"show", std::string(33, '0')}), kError);
  EXPECT_EQ(larder({"show"}), kError);
}

TEST_F(Show, SaysWhatToDoAboutADamagedEntry) {
  const Key key = keep(recipe("a"));
  std::filesystem::resize_file(path_of(key), 150);
  EXPECT_EQ(larder({"show", key.hex()}), kError);
  EXPECT_THAT(err, HasSubstr("truncated"));
  EXPECT_THAT(err, HasSubstr("larder verify --remove"));
  EXPECT_TRUE(is_there(key)) << "looking changes nothing";
}

}  // namespace
}  // namespace larder::tool
