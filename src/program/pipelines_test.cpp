#include "program/pipelines.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <thread>

#include "larder/difference.hpp"

namespace larder {
namespace {

using std::chrono::milliseconds;

PipelineDevice device() {
  PipelineDevice made;
  made.vendor = 0x10de;
  made.device = 0x2684;
  made.driver_version = 42;
  made.cache_uuid = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  made.name = "a device";
  made.driver_uuid = "ab";
  made.driver_name = "a driver";
  made.driver_info = "1.2";
  made.driver_build = "libvulkan_a.so 1234\n";
  return made;
}
PipelineProgram program() {
  return {"game", "The Game", "an engine"};
}

// Data as a driver of `of` would write it, with `rest` behind its header.
Bytes data_of(const PipelineDevice& of, std::string_view rest) {
  std::string data(16, '\0');
  data[0] = 32;
  data[4] = 1;
  for (unsigned i = 0; i < 4; ++i) {
    data[8 + i] = static_cast<char>(of.vendor >> (8 * i));
    data[12 + i] = static_cast<char>(of.device >> (8 * i));
  }
  for (const std::uint8_t byte : of.cache_uuid) data.push_back(static_cast<char>(byte));
  return Bytes(data.append(rest));
}
std::string_view rest_of(BytesView data) {
  return as_text(data.subspan(kPipelineHeaderSize));
}

class PipelinesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = (std::filesystem::temp_directory_path() / "larder-pipelines-XXXXXX").string();
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    folder_ = path;
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Cache open() const {
    Options options;
    options.dir = (folder_ / "store").string();
    options.runtime_dir = (folder_ / "run").string();
    options.memory = false;
    options.write_behind_size = 0;
    options.preload = false;
    return Cache::open(options);
  }

  std::filesystem::path folder_;
};

TEST(PipelineRecipe, ChangesWithEveryFactAndIsNamedByTheDifference) {
  const Recipe plain = pipeline_recipe(device(), program());
  EXPECT_EQ(plain, pipeline_recipe(device(), program()));
  const auto differs = [&](const char* name, auto change) {
    PipelineDevice other = device();
    PipelineProgram whose = program();
    change(other, whose);
    const Recipe after = pipeline_recipe(other, whose);
    const Difference found = difference(plain, after);
    ASSERT_EQ(found.changes.size(), 1U) << name;
    EXPECT_EQ(found.changes.front().name(), name);
  };
  differs("vendor", [](auto& d, auto&) { ++d.vendor; });
  differs("device", [](auto& d, auto&) { ++d.device; });
  differs("device-name", [](auto& d, auto&) { d.name += 'x'; });
  differs("cache-uuid", [](auto& d, auto&) { ++d.cache_uuid[15]; });
  differs("driver-version", [](auto& d, auto&) { ++d.driver_version; });
  differs("driver-uuid", [](auto& d, auto&) { d.driver_uuid += 'x'; });
  differs("driver-name", [](auto& d, auto&) { d.driver_name += 'x'; });
  differs("driver-info", [](auto& d, auto&) { d.driver_info += 'x'; });
  differs("driver-build", [](auto& d, auto&) { d.driver_build += 'x'; });
  differs("processor", [](auto& d, auto&) { d.is_processor = true; });
  differs("program", [](auto&, auto& p) { p.executable += 'x'; });
  differs("application", [](auto&, auto& p) { p.application += 'x'; });
  differs("engine", [](auto&, auto& p) { p.engine += 'x'; });
  ::setenv("RADV_DEBUG", "nocache", 1);
  differs("environment", [](auto&, auto&) {});
  ::unsetenv("RADV_DEBUG");
  ::setenv("MESA_SHADER_CACHE_DIR", "/elsewhere", 1);
  EXPECT_EQ(plain, pipeline_recipe(device(), program())) << "where a driver keeps its files decides nothing";
  ::unsetenv("MESA_SHADER_CACHE_DIR");
}

TEST(PipelineHeader, MustBeTheDevicesOwn) {
  const Bytes good = data_of(device(), "rest");
  EXPECT_EQ(why_not_for(good.view(), device()), "");
  for (std::size_t size = 0; size < kPipelineHeaderSize; ++size) {
    EXPECT_NE(why_not_for(good.view().first(size), device()), "") << size;
  }
  for (std::size_t bit = 0; bit < kPipelineHeaderSize * 8; ++bit) {
    std::string text(good.text());
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << bit % 8));
    const bool is_size = bit < 32;
    // A larger header is one of a later version of Vulkan's, as far as there are bytes for it.
    if (is_size && static_cast<unsigned char>(text[0]) > 32 &&
        text.size() >= static_cast<unsigned char>(text[0]) && bit < 8)
      continue;
    EXPECT_NE(why_not_for(as_bytes(text), device()), "") << "bit " << bit;
  }
}

TEST(PipelineDrivers, ThatKeepNothingAreLeftAlone) {
  EXPECT_THAT(why_left_alone("llvmpipe (LLVM 15.0.6, 256 bits)"), ::testing::HasSubstr("header"));
  EXPECT_THAT(why_left_alone("SwiftShader Device (LLVM 10.0.0)"), ::testing::HasSubstr("header"));
  EXPECT_EQ(why_left_alone("NVIDIA H200"), "");
}

TEST(PipelineGain, IsMissedOnlyWhereThereWereEnoughToTell) {
  EXPECT_EQ(why_no_gain({10, milliseconds(100)}, {10, milliseconds(5)}), "");
  EXPECT_EQ(why_no_gain({10, milliseconds(100)}, {10, milliseconds(89)}), "");
  EXPECT_THAT(why_no_gain({10, milliseconds(100)}, {10, milliseconds(91)}),
              ::testing::HasSubstr("no faster"));
  EXPECT_THAT(why_no_gain({10, milliseconds(100)}, {20, milliseconds(181)}), ::testing::HasSubstr("9.05"));
  EXPECT_EQ(why_no_gain({7, milliseconds(70)}, {10, milliseconds(200)}), "");
  EXPECT_EQ(why_no_gain({10, milliseconds(100)}, {7, milliseconds(200)}), "");
}

TEST_F(PipelinesTest, ComeBackWithTheirCostAndTimes) {
  Cache cache = open();
  Pipelines pipelines(cache, device(), program());
  EXPECT_FALSE(pipelines.load().is_there());
  EXPECT_TRUE(pipelines.merge(milliseconds(30), PipelineTimes{3, milliseconds(30)}, [](BytesView kept) {
    EXPECT_TRUE(kept.empty());
    return data_of(device(), "abc");
  }));
  EXPECT_TRUE(pipelines.merge(milliseconds(10), std::nullopt, [](BytesView kept) {
    EXPECT_EQ(rest_of(kept), "abc");
    return data_of(device(), "abcd");
  }));
  const auto loaded = Pipelines(cache, device(), program()).load();
  ASSERT_TRUE(loaded.is_there());
  EXPECT_EQ(rest_of(loaded.bytes.view()), "abcd");
  EXPECT_EQ(loaded.cost, milliseconds(40));
  EXPECT_EQ(loaded.cold.pipelines, 3U) << "of the run that found nothing";
  EXPECT_EQ(loaded.cold.took, milliseconds(30));
  EXPECT_FALSE(Pipelines(cache, device(), {"other", "", ""}).load().is_there());
}

TEST_F(PipelinesTest, AreKeptOnlyWhenThereIsMoreOfThemAndTheyAreTheDevicesOwn) {
  Cache cache = open();
  Pipelines pipelines(cache, device(), program());
  const auto merge = [&](Bytes bytes) {
    return pipelines.merge(milliseconds(1), std::nullopt, [&](BytesView) { return bytes; });
  };
  EXPECT_FALSE(merge(Bytes()));
  EXPECT_FALSE(merge(data_of(device(), "")));
  PipelineDevice other = device();
  ++other.vendor;
  EXPECT_FALSE(merge(data_of(other, "abcdef")));
  EXPECT_TRUE(merge(data_of(device(), "abc")));
  EXPECT_FALSE(merge(data_of(device(), "xyz")));
  EXPECT_EQ(rest_of(pipelines.load().bytes.view()), "abc");
}

TEST_F(PipelinesTest, OfAnotherDriverUnderTheSameRecipeAreRemovedUnseen) {
  Cache cache = open();
  PipelineDevice other = device();
  ++other.cache_uuid[3];
  cache.put(pipeline_recipe(device(), program()), data_of(other, "abc"));
  Pipelines pipelines(cache, device(), program());
  EXPECT_TRUE(pipelines.merge(milliseconds(1), std::nullopt, [](BytesView kept) {
    EXPECT_TRUE(kept.empty());
    return data_of(device(), "a");
  })) << "it may not keep the right ones out";
  cache.put(pipeline_recipe(device(), program()), data_of(other, "abc"),
            {.cost = {}, .log = {}, .texts = {}, .replace = true});
  EXPECT_FALSE(pipelines.load().is_there());
  EXPECT_FALSE(cache.get(pipeline_recipe(device(), program())).has_value());
}

TEST_F(PipelinesTest, OfSeveralWhoAddAtOnceAllStay) {
  constexpr int kWriters = 8;
  std::vector<std::jthread> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&, writer] {
      Cache cache = open();  // as another process would have its own
      Pipelines pipelines(cache, device(), program());
      for (int i = 0; i < 4; ++i) {
        EXPECT_TRUE(pipelines.merge(milliseconds(1), std::nullopt, [&](BytesView kept) {
          std::string all(kept.empty() ? std::string_view() : rest_of(kept));
          return data_of(device(), all + static_cast<char>('a' + writer) + static_cast<char>('0' + i));
        }));
      }
    });
  }
  writers.clear();
  Cache cache = open();
  const auto loaded = Pipelines(cache, device(), program()).load();
  ASSERT_TRUE(loaded.is_there());
  std::set<std::string> all;
  const std::string_view rest = rest_of(loaded.bytes.view());
  for (std::size_t i = 0; i + 1 < rest.size(); i += 2) all.emplace(rest.substr(i, 2));
  EXPECT_EQ(all.size(), 4U * kWriters) << rest;
}

TEST_F(PipelinesTest, OfNoUseAreRememberedSoWhenThreeRunsInARowSaySo) {
  Cache cache = open();
  Pipelines pipelines(cache, device(), program());
  pipelines.judge("no faster");
  pipelines.judge("no faster");
  pipelines.judge("");
  pipelines.judge("no faster");
  pipelines.judge("still no faster");
  EXPECT_EQ(pipelines.verdict(), "") << "a run between them found otherwise";
  pipelines.judge("no faster at all");
  EXPECT_EQ(Pipelines(cache, device(), program()).verdict(), "no faster at all");
  EXPECT_EQ(Pipelines(cache, device(), {"other", "", ""}).verdict(), "");
  PipelineDevice updated = device();
  ++updated.driver_version;
  EXPECT_EQ(Pipelines(cache, updated, program()).verdict(), "");
}

TEST_F(PipelinesTest, OfADisabledOrReadOnlyCacheStayAsTheyAre) {
  {
    Cache cache = open();
    Pipelines(cache, device(), program()).merge(milliseconds(1), std::nullopt, [](BytesView) {
      return data_of(device(), "a");
    });
  }
  Options options;
  options.dir = (folder_ / "store").string();
  options.mode = "read-only";
  Cache cache = Cache::open(options);
  Pipelines pipelines(cache, device(), program());
  EXPECT_TRUE(pipelines.load().is_there());
  EXPECT_FALSE(
      pipelines.merge(milliseconds(1), std::nullopt, [](BytesView) { return data_of(device(), "ab"); }));
  options.disable = true;
  Cache none = Cache::open(options);
  Pipelines disabled(none, device(), program());
  EXPECT_FALSE(disabled.load().is_there());
  EXPECT_FALSE(
      disabled.merge(milliseconds(1), std::nullopt, [](BytesView) { return data_of(device(), "ab"); }));
}

}  // namespace
}  // namespace larder
