#include "program/adopted.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cache/testing.hpp"
#include "program/library_file.hpp"

namespace larder::testing {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::string_view kName = "AB/HASH/kernel/8-1-1/kernel.so";
constexpr std::uint64_t kNoBound = ~std::uint64_t{0};

bool takes_all_but_drafts(std::string_view name, std::string_view bytes) {
  return !bytes.empty() && name.find("draft") == std::string_view::npos;
}

AdoptedDriver driver(std::string identity = "build 1") {
  return {"fake",
          "FAKE_CACHE_DIR",
          std::move(identity),
          takes_all_but_drafts,
          [](std::string_view name) { return name.substr(0, name.find('/', 3)); },
          {}};
}

void write(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

class AdoptionTest : public ::testing::Test {
 protected:
  Options options() const {
    Options options = options_in(scratch_);
    options.write_behind_size = 0;
    options.memory = false;
    return options;
  }
  std::string root() const { return scratch_.path() + "/store"; }

  // One run of a program whose driver does `work` in its directory.
  template <typename Work>
  AdoptionReport run(Work work, AdoptedDriver with = driver(), std::uint64_t bytes_max = kNoBound) {
    Cache cache = Cache::open(options());
    auto adoption = Adoption::open(cache, std::move(with), root());
    EXPECT_TRUE(adoption) << adoption.error().what;
    if (!adoption) return {};
    adoption->lay();
    directory_ = adoption->directory();
    work(fs::path(directory_));
    adoption->take_in(1s, bytes_max);
    return adoption->report();
  }

  ScratchDirectory scratch_;
  std::string directory_;
};

TEST_F(AdoptionTest, LaysWhatAnEarlierRunMade) {
  const AdoptionReport first = run([](const fs::path& in) { write(in / kName, "machine code"); });
  EXPECT_EQ(first.taken_files, 1u);
  EXPECT_EQ(first.laid_files, 0u);
  fs::remove_all(directory_);
  const AdoptionReport second = run([](const fs::path& in) { EXPECT_EQ(read(in / kName), "machine code"); });
  EXPECT_EQ(second.laid_files, 1u);
  EXPECT_EQ(second.laid_bytes, 12u);
  EXPECT_EQ(second.taken_files, 0u);
  const AdoptionReport third = run([](const fs::path&) {});
  EXPECT_EQ(third.laid_files, 0u);
  EXPECT_EQ(third.known_files, 1u);
}

TEST_F(AdoptionTest, AddsToWhatIsKnown) {
  run([](const fs::path& in) { write(in / "AB/1/program.bc", "one"); });
  run([](const fs::path& in) { write(in / "AB/2/program.bc", "two"); });
  fs::remove_all(directory_);
  EXPECT_EQ(run([](const fs::path&) {}).laid_files, 2u);
}

TEST_F(AdoptionTest, KeepsNothingThatIsNotWorthIt) {
  const AdoptionReport report = run([](const fs::path& in) {
    write(in / "AB/1/draft", "half");
    write(in / "AB/1/empty", "");
    fs::create_symlink("/etc/passwd", in / "AB/1/link");
  });
  EXPECT_EQ(report.taken_files, 0u);
}

TEST_F(AdoptionTest, AnotherBuildOfTheDriverStartsAfresh) {
  run([](const fs::path& in) { write(in / kName, "machine code"); });
  const std::string first = directory_;
  const AdoptionReport other =
      run([](const fs::path& in) { EXPECT_FALSE(fs::exists(in / kName)); }, driver("build 2"));
  EXPECT_EQ(other.laid_files + other.known_files, 0u);
  EXPECT_NE(directory_, first);
}

TEST_F(AdoptionTest, LeavesADriverOfUnknownBuildAlone) {
  Cache cache = Cache::open(options());
  EXPECT_EQ(Adoption::open(cache, driver(""), root()).error().code, Code::unsupported);
}

TEST_F(AdoptionTest, UsesNoDirectoryThatOthersMayWrite) {
  run([](const fs::path&) {});
  ::chmod(directory_.c_str(), 0777);
  Cache cache = Cache::open(options());
  EXPECT_EQ(Adoption::open(cache, driver(), root()).error().code, Code::refused);
}

TEST_F(AdoptionTest, WritesNowhereButInItsDirectory) {
  {
    Cache cache = Cache::open(options());
    Recipe index("adopted-index");
    index.add("driver", "fake").add("identity", "build 1");
    cache.put(index, Bytes(std::string("../outside\n/tmp/larder-outside\nAB/../../outside\n")));
    for (const char* name : {"../outside", "/tmp/larder-outside", "AB/../../outside"}) {
      Recipe recipe("adopted");
      recipe.add("driver", "fake").add("identity", "build 1").add("file", name);
      cache.put(recipe, Bytes(std::string("poison")));
    }
  }
  EXPECT_EQ(run([](const fs::path&) {}).laid_files, 0u);
  EXPECT_FALSE(fs::exists(root() + "/adopted/outside"));
  EXPECT_FALSE(fs::exists("/tmp/larder-outside"));
}

TEST_F(AdoptionTest, KeepsAgainWhatItsEntryLost) {
  run([](const fs::path& in) { write(in / kName, "machine code"); });
  {
    Cache cache = Cache::open(options());
    cache.clear({.kind = "adopted"});
  }
  fs::remove_all(directory_);
  const AdoptionReport report = run([](const fs::path& in) {
    EXPECT_FALSE(fs::exists(in / kName));
    write(in / kName, "machine code");
  });
  EXPECT_EQ(report.taken_files, 1u);
}

TEST_F(AdoptionTest, StaysWithinItsBoundByRemovingTheOldest) {
  const AdoptionReport report = run(
      [](const fs::path& in) {
        write(in / "AB/old/program.bc", std::string(1000, 'o'));
        write(in / "AB/new/program.bc", std::string(1000, 'n'));
        fs::last_write_time(in / "AB/old/program.bc", fs::file_time_type::clock::now() - 48h);
      },
      driver(), 1500);
  EXPECT_EQ(report.removed_files, 1u);
  EXPECT_FALSE(fs::exists(directory_ + "/AB/old"));
  EXPECT_TRUE(fs::exists(directory_ + "/AB/new"));
}

// What a driver reads, and nothing else, is a program that it was asked for.
TEST_F(AdoptionTest, CountsTheProgramsThatTheDriverReadAndMade) {
  const AdoptionReport first = run([](const fs::path& in) {
    write(in / "AB/1/program.bc", "one");
    write(in / "AB/1/kernel/8/kernel.so", "one of it");
    write(in / "AB/2/program.bc", "two");
  });
  EXPECT_EQ(first.asked_programs, 2u);
  EXPECT_EQ(first.made_programs, 2u);
  const AdoptionReport second =
      run([](const fs::path& in) { EXPECT_EQ(read(in / "AB/1/program.bc"), "one"); });
  EXPECT_EQ(second.asked_programs, 1u);
  EXPECT_EQ(second.there_programs, 1u);
  EXPECT_EQ(second.made_programs, 0u);
  EXPECT_GT(second.saved.count(), 0);
  fs::remove_all(directory_);
  const AdoptionReport third = run([](const fs::path& in) {
    EXPECT_EQ(read(in / "AB/1/program.bc"), "one");
    EXPECT_EQ(read(in / "AB/2/program.bc"), "two");
    write(in / "AB/2/kernel/8/kernel.so", "the rest of it");
  });
  EXPECT_EQ(third.asked_programs, 2u);
  EXPECT_EQ(third.disk_programs, 1u);
  EXPECT_EQ(third.made_programs, 1u) << "a part of it";
  Cache cache = Cache::open(options());
  cache.close(1s);
}

TEST_F(AdoptionTest, CountsInTheStoreWhatTheDriverUsedAndMade) {
  run([](const fs::path& in) {
    write(in / "AB/1/program.bc", "one");
    write(in / "AB/2/program.bc", "two");
  });
  Cache cache = Cache::open(options());
  auto adoption = Adoption::open(cache, driver(), root());
  ASSERT_TRUE(adoption);
  adoption->lay();
  EXPECT_EQ(cache.stats().totals.requests(), 0u) << "laying is no use";
  read(adoption->directory() + "/AB/2/program.bc");
  write(adoption->directory() + "/AB/3/program.bc", "three");
  adoption->take_in(1s, kNoBound);
  EXPECT_EQ(cache.stats().totals.hits(), 1u);
  EXPECT_EQ(cache.stats().totals[Outcome::made], 1u);
  EXPECT_EQ(cache.stats().totals.requests(), 2u);
}

TEST_F(AdoptionTest, SaysWhatItCouldNotKeepAndWhy) {
  Options small = options();
  small.entry_size_max = 1000;
  Cache cache = Cache::open(small);
  auto adoption = Adoption::open(cache, driver(), root());
  ASSERT_TRUE(adoption);
  adoption->lay();
  write(adoption->directory() + "/AB/1/program.bc", std::string(5000, 'x'));
  adoption->take_in(1s, kNoBound);
  EXPECT_EQ(adoption->report().taken_files, 0u);
  EXPECT_EQ(adoption->report().made_programs, 1u);
  const std::map<std::string, std::uint64_t> expected{{"too_large", 1}};
  EXPECT_EQ(adoption->report().not_kept, expected);
}

TEST(LibraryFile, NamesALibraryAndWhatItBringsAlong) {
  const std::string library = find_library("libstdc++.so.6");
  ASSERT_FALSE(library.empty());
  const std::string identity = library_file_identity(library, "");
  EXPECT_NE(identity.find("libstdc++.so.6 "), std::string::npos) << identity;
  EXPECT_NE(identity.find("libc.so.6 "), std::string::npos) << identity;
  EXPECT_EQ(library_file_identity("/etc/passwd", ""), "");
  EXPECT_EQ(library_file_identity("/nowhere", ""), "");
  EXPECT_EQ(find_library("libnowhere.so.1"), "");
}

TEST(LibraryFile, IsWholeOnlyToItsLastByte) {
  const std::string bytes = read(find_library("libm.so.6"));
  EXPECT_TRUE(is_whole_elf(bytes));
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, bytes.size() / 2, bytes.size() - 1}) {
    EXPECT_FALSE(is_whole_elf(std::string_view(bytes).substr(0, size))) << size;
  }
  EXPECT_FALSE(is_whole_elf(std::string(1000, 'x')));
}

}  // namespace
}  // namespace larder::testing
