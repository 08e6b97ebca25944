#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cache/counts.hpp"
#include "tool/store_tool_test_kit.hpp"

namespace larder::tool {
namespace {

using Stats = StoreToolTest;
using Parsed = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

TEST_F(Stats, CountHitsByTierMissesByReasonAndWhatWasSaved) {
  {
    Cache cache = Cache::open(options());
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(cache.get_or_make(recipe("a"), [] { return std::string(1000, 'x'); }));
    }
    cache.flush();
  }
  {
    Cache cache = Cache::open(options());
    ASSERT_TRUE(cache.get_or_make(recipe("a"), [] { return std::string(); }));
  }
  ASSERT_EQ(larder({"stats", "--json"}), kDone) << err;
  const Parsed stats = Parsed::parse(out);
  EXPECT_EQ(stats["schema"], 1);
  EXPECT_EQ(stats["directory"], root);
  EXPECT_EQ(stats["entries"], 1);
  EXPECT_GT(stats["bytes"], 1000);
  EXPECT_EQ(stats["requests"], 4);
  EXPECT_EQ(stats["hits"], 3);
  EXPECT_EQ(stats["outcomes"]["memory_hit"]["count"], 2);
  EXPECT_EQ(stats["outcomes"]["disk_hit"]["count"], 1);
  EXPECT_EQ(stats["outcomes"]["made"]["count"], 1);
  EXPECT_EQ(stats["outcomes"]["failed"]["count"], 0);
  EXPECT_EQ(stats["reasons"]["absent"], 1);
  EXPECT_GT(stats["saved_ns"], 0);
  EXPECT_EQ(stats["saved_ns"], stats["outcomes"]["memory_hit"]["saved_ns"].get<std::int64_t>() +
                                   stats["outcomes"]["disk_hit"]["saved_ns"].get<std::int64_t>());
  EXPECT_EQ(stats["histograms"]["hit_time"]["count"], 3);
  EXPECT_EQ(stats["histograms"]["binary_size"]["unit"], "bytes");
  EXPECT_EQ(stats["counters"]["stored"], 1);

  ASSERT_EQ(larder({"stats"}), kDone) << err;
  EXPECT_THAT(out, HasSubstr("1 entry"));
  EXPECT_THAT(out, HasSubstr("4, of these hits 75.0 %"));
  EXPECT_THAT(out, HasSubstr("memory"));
  EXPECT_THAT(out, HasSubstr("absent"));
  EXPECT_THAT(out, HasSubstr("binary size\n"));
  EXPECT_THAT(out, HasSubstr("|##"));
  EXPECT_THAT(out, Not(HasSubstr("\033")));
  EXPECT_EQ(err, "");
}

TEST_F(Stats, OfNothingAreZeroAndMakeNoDirectory) {
  ASSERT_EQ(larder({"stats", "--json"}), kDone) << err;
  const Parsed stats = Parsed::parse(out);
  EXPECT_EQ(stats["exists"], false);
  EXPECT_EQ(stats["entries"], 0);
  EXPECT_EQ(stats["requests"], 0);
  EXPECT_TRUE(stats["histograms"].empty());
  ASSERT_EQ(larder({"stats"}), kDone);
  EXPECT_THAT(err, HasSubstr("nothing is kept in " + root));
  EXPECT_FALSE(std::filesystem::exists(root));
}

TEST_F(Stats, FitATerminal) {
  request(recipe("a"));
  is_terminal = true;
  ASSERT_EQ(larder({"stats"}), kDone);
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST_F(Stats, OfAPlaceThatIsNoStoreAreRefused) {
  std::ofstream(root) << "a file";
  EXPECT_EQ(larder({"stats"}), kError);
  EXPECT_EQ(out, "");
  EXPECT_THAT(err, HasSubstr(root));
  EXPECT_THAT(err, HasSubstr("try: "));
  std::filesystem::remove(root);
  keep(recipe("a"));
  ASSERT_EQ(::chmod(root.c_str(), 0777), 0);
  for (const char* command : {"stats", "ls", "verify", "gc"}) {
    EXPECT_EQ(larder({command}), kError) << command;
    EXPECT_THAT(err, HasSubstr("larder doctor")) << command;
  }
}

TEST_F(Stats, CountsFilesWhereTheTotalsAreNoFile) {
  for (int i = 0; i < 10; ++i) keep(recipe(std::to_string(i)), std::string(1000, 'x'));
  ASSERT_EQ(larder({"gc"}), kDone) << err;
  ASSERT_EQ(larder({"stats", "--json"}), kDone) << err;
  const auto bytes = Parsed::parse(out)["bytes"];
  const std::string totals = root + "/v1/totals";
  for (const bool is_fifo : {true, false}) {
    std::filesystem::remove(totals);
    ASSERT_EQ(is_fifo ? ::mkfifo(totals.c_str(), 0600) : ::mkdir(totals.c_str(), 0700), 0);
    ASSERT_EQ(larder({"stats", "--json"}), kDone) << err;
    EXPECT_EQ(Parsed::parse(out)["entries"], 10);
    EXPECT_EQ(Parsed::parse(out)["bytes"], bytes);
    EXPECT_EQ(larder({"doctor"}), kNo);
    EXPECT_THAT(out, HasSubstr(totals + " is no file"));
    ASSERT_EQ(larder({"gc"}), kDone) << err;
    EXPECT_TRUE(std::filesystem::is_regular_file(totals));
    ASSERT_EQ(larder({"stats", "--json"}), kDone) << err;
    EXPECT_EQ(Parsed::parse(out)["is_exact"], true);
    EXPECT_EQ(Parsed::parse(out)["bytes"], bytes);
  }
}

}  // namespace
}  // namespace larder::tool
