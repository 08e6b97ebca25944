#include "cache/texts.hpp"

#include <gtest/gtest.h>

#include "cache/testing.hpp"
#include "store/store.hpp"

namespace larder {
namespace {

using testing::kLong;
using testing::options_in;
using testing::ScratchDirectory;

std::string large(std::string_view what, std::size_t size = 100'000) {
  std::string text;
  while (text.size() < size) text.append(what).append(std::to_string(text.size())).append("\n");
  text.resize(size);
  return text;
}

// What stands beside the one entry of the store.
std::vector<format::Text> kept_texts(const ScratchDirectory& scratch, const Recipe& recipe) {
  StoreOptions options;
  options.root = scratch.path() + "/store";
  options.lock_directory = scratch.path() + "/run";
  const auto store = Store::open(std::move(options));
  EntryInfo info;
  EXPECT_EQ((*store)->inspect(recipe.key(), info), Reason::none);
  return format::texts_of(as_bytes(info.attachment));
}

class TextsOfEntryTest : public ::testing::Test {
 protected:
  TextsOfEntryTest() {
    recipe_.add("options", "-O2").add("source", source_).add("header", header_);
    options_ = options_in(scratch_);
  }
  void make(const Request& how) {
    Cache cache = Cache::open(options_);
    EXPECT_TRUE(cache.get_or_make(
        recipe_, [] { return std::string("product"); }, how));
    EXPECT_TRUE(cache.flush(kLong));
  }

  ScratchDirectory scratch_;
  Options options_;
  const std::string source_ = large("source ");
  const std::string header_ = large("header ");
  Recipe recipe_{"program"};
};
using TextsOfEntry = TextsOfEntryTest;

TEST_F(TextsOfEntry, AreKeptBesideItsProductInTheOrderOfTheRecipe) {
  const Text texts[] = {{"header", header_}, {"source", source_}, {"options", "-O2"}};
  make({.texts = texts});
  EXPECT_EQ(kept_texts(scratch_, recipe_), (std::vector<format::Text>{{"source", source_, source_.size()},
                                                                      {"header", header_, header_.size()}}))
      << "what stands in the recipe itself is not kept twice";
  const std::string hex = recipe_.key().hex();
  const std::string path = scratch_.path() + "/store/v1/" + hex.substr(0, 2) + "/" + hex.substr(2);
  EXPECT_LT(std::filesystem::file_size(path), source_.size()) << "texts are compressed";
}

TEST_F(TextsOfEntry, AreLeftOutWhenTheyAreNotWhatTheRecipeSays) {
  std::string other = source_;
  other.back() ^= 1;
  const Text texts[] = {{"source", other}, {"header", source_}, {"unknown", header_}};
  make({.texts = texts});
  EXPECT_TRUE(kept_texts(scratch_, recipe_).empty());
}

TEST_F(TextsOfEntry, AreCutToWhatTheSettingAllows) {
  options_.attachment_max = source_.size() + 10;
  const Text texts[] = {{"source", source_}, {"header", header_}};
  make({.texts = texts});
  const auto kept = kept_texts(scratch_, recipe_);
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_TRUE(kept[0].is_whole());
  EXPECT_EQ(kept[1].text, header_.substr(0, 10));
  EXPECT_EQ(kept[1].size, header_.size());
}

TEST_F(TextsOfEntry, AreNotKeptWhenSwitchedOff) {
  options_.attachment_max = 0;
  const Text texts[] = {{"source", source_}};
  make({.texts = texts});
  EXPECT_TRUE(kept_texts(scratch_, recipe_).empty());
}

TEST_F(TextsOfEntry, AreKeptOfProductsMadeElsewhereToo) {
  const Text texts[] = {{"source", source_}};
  {
    Cache cache = Cache::open(options_);
    ASSERT_TRUE(cache.put(recipe_, Bytes(std::string("product")), {.texts = texts}));
  }
  EXPECT_EQ(kept_texts(scratch_, recipe_).size(), 1u);
}

TEST_F(TextsOfEntry, CountAgainstWhatMayWait) {
  options_.write_behind_delay = std::chrono::hours(1);
  options_.close_time = std::chrono::nanoseconds(0);
  Cache cache = Cache::open(options_);
  const Text texts[] = {{"source", source_}};
  ASSERT_TRUE(cache.put(recipe_, Bytes(std::string("product")), {.texts = texts}));
  EXPECT_GE(cache.stats().pending_bytes, source_.size());
}

}  // namespace
}  // namespace larder
