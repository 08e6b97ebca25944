#include "program/mesa_records.hpp"

#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cache/testing.hpp"
#include "program/adopted.hpp"

namespace larder::testing {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

struct Layout {
  const char* name;
  std::string folder;
  const char* data;
  const char* index;
};

const std::string kOne(40, 'a');
const std::string kTwo = "0123456789abcdef0123456789abcdef01234567";

std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}
void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class MesaRecords : public ::testing::TestWithParam<Layout> {
 protected:
  std::string name(const std::string& key) const { return GetParam().folder + '/' + key; }
  std::string path(const char* file) const { return directory() + '/' + GetParam().folder + '/' + file; }
  std::string data() const { return path(GetParam().data); }
  std::string index() const { return path(GetParam().index); }
  std::string directory() const { return scratch_.path(); }
  std::set<std::string> add(const std::string& key, const std::string& bytes) const {
    return kMesaRecords.add(directory(), {{name(key), bytes}});
  }
  // "KEY=bytes" of all that can be read.
  std::vector<std::string> all(const std::set<std::string>& known = {}) const {
    std::vector<std::string> found;
    for (const DriverRecord& each : kMesaRecords.read_new(directory(), known))
      found.push_back(each.name.substr(each.name.rfind('/') + 1) + '=' + each.bytes);
    std::sort(found.begin(), found.end());
    return found;
  }

  ScratchDirectory scratch_;
};

TEST_P(MesaRecords, ComeBackAsTheyWere) {
  EXPECT_EQ(all(), std::vector<std::string>{});
  EXPECT_EQ(add(kOne, "one"), std::set{name(kOne)});
  EXPECT_EQ(add(kTwo, std::string("two\0two", 7)), std::set{name(kTwo)});
  EXPECT_EQ(all(), (std::vector{kTwo + '=' + std::string("two\0two", 7), kOne + "=one"}));
  EXPECT_EQ(all({name(kTwo)}), std::vector{kOne + "=one"});
  EXPECT_EQ(kMesaRecords.lacking(directory(), {name(kOne), name(kTwo), name(std::string(40, 'b'))}),
            std::set{name(std::string(40, 'b'))});
}

TEST_P(MesaRecords, AreAddedOnce) {
  add(kOne, "one");
  EXPECT_EQ(add(kOne, "other"), std::set<std::string>{});
  EXPECT_EQ(all(), std::vector{kOne + "=one"});
}

TEST_P(MesaRecords, AreLeftAloneWhereTheIndexIsTorn) {
  add(kOne, "one");
  const std::string whole = read(index());
  for (std::size_t size = 1; size < whole.size(); ++size) {
    write(index(), whole.substr(0, size));
    const std::string before = read(data());
    const bool is_understood = !all().empty() || !add(kTwo, "two").empty();
    // Without its only record the index is whole, too.
    if (is_understood) {
      EXPECT_EQ(all(), std::vector{kTwo + "=two"}) << size;
      write(data(), before);
    }
    EXPECT_EQ(read(data()), before) << size;
  }
}

TEST_P(MesaRecords, ThatAreDamagedAreNotTaken) {
  add(kOne, "one");
  const std::string whole = read(data());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    // The end of a key in a database is guarded by nothing: Mesa compares it with what it looks for.
    if (GetParam().folder.ends_with("_db") && at >= 28 && at < 40) continue;
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 4);
    write(data(), flipped);
    for (const std::string& each : all()) {
      EXPECT_EQ(each, kOne + "=one") << at;
    }
  }
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write(data(), whole.substr(0, size));
    EXPECT_EQ(all(), std::vector<std::string>{}) << size;
  }
}

TEST_P(MesaRecords, OfAnotherVersionAreLeftAlone) {
  add(kOne, "one");
  std::string bytes = read(index());
  bytes[GetParam().folder.ends_with("_db") ? 8 : 15] = 9;
  write(index(), bytes);
  EXPECT_EQ(all(), std::vector<std::string>{});
  EXPECT_EQ(add(kTwo, "two"), std::set<std::string>{});
  EXPECT_EQ(read(index()), bytes);
}

TEST_P(MesaRecords, AreNotTouchedWhileMesaHoldsThem) {
  add(kOne, "one");
  const int fd = ::open(data().c_str(), O_RDWR);
  ASSERT_EQ(::flock(fd, LOCK_EX), 0);
  EXPECT_EQ(all(), std::vector<std::string>{});
  ::close(fd);
  EXPECT_EQ(all(), std::vector{kOne + "=one"});
}

TEST_P(MesaRecords, AreNotWrittenThroughLinks) {
  add(kOne, "one");
  const std::string elsewhere = directory() + "/elsewhere";
  fs::rename(index(), elsewhere);
  fs::create_symlink(elsewhere, index());
  const std::string before = read(elsewhere);
  EXPECT_EQ(add(kTwo, "two"), std::set<std::string>{});
  EXPECT_EQ(read(elsewhere), before);
}

TEST_P(MesaRecords, AreAdoptedOneByOne) {
  Options options = options_in(scratch_);
  options.write_behind_size = 0;
  options.memory = false;
  Cache cache = Cache::open(options);
  const auto run = [&](auto work) {
    auto adoption = Adoption::open(cache,
                                   {"mesa",
                                    "VARIABLE",
                                    "build",
                                    [](std::string_view, std::string_view) { return false; },
                                    nullptr,
                                    {},
                                    nullptr,
                                    &kMesaRecords},
                                   scratch_.path() + "/root");
    EXPECT_TRUE(adoption);
    adoption->lay();
    work(adoption->directory());
    adoption->take_in(1s, ~std::uint64_t{0});
    return adoption->report();
  };
  std::string in;
  const AdoptionReport first = run([&](const std::string& directory) {
    in = directory;
    kMesaRecords.add(directory, {{name(kOne), "one"}});
  });
  EXPECT_EQ(first.taken_files, 1u);
  EXPECT_EQ(first.made_programs, 1u);
  const AdoptionReport second = run([&](const std::string& directory) {
    kMesaRecords.add(directory, {{name(kTwo), "two"}});
  });
  EXPECT_EQ(second.known_files, 1u);
  EXPECT_EQ(second.taken_files, 1u);
  fs::remove_all(in);
  const AdoptionReport third =
      run([&](const std::string& directory) { EXPECT_EQ(kMesaRecords.read_new(directory, {}).size(), 2u); });
  EXPECT_EQ(third.laid_files, 2u);
  EXPECT_EQ(third.laid_bytes, 6u);
  EXPECT_EQ(third.taken_files, 0u);
}

INSTANTIATE_TEST_SUITE_P(Layouts, MesaRecords,
                         ::testing::Values(Layout{"single_file", "mesa_shader_cache_sf/build/llvmpipe",
                                                  "foz_cache.foz", "foz_cache_idx.foz"},
                                           Layout{"database", "mesa_shader_cache_db", "mesa_cache.db",
                                                  "mesa_cache.idx"}),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace larder::testing
