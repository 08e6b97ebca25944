// What the library passes over, the command names: directories that cannot be looked into, and what stays.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <nlohmann/json.hpp>

#include "tool/place.hpp"
#include "tool/shards.hpp"
#include "tool/store_tool_test_kit.hpp"

namespace larder::tool {
namespace {

using Parsed = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class UnusableShard : public StoreToolTest {
 protected:
  UnusableShard() : key(keep(recipe("a"))), shard(root + "/v1/" + key.hex().substr(0, 2)) {}
  void open_to_others() const { ASSERT_EQ(::chmod(shard.c_str(), 0770), 0); }

  const Key key;
  const std::string shard;
};

TEST_F(UnusableShard, IsNamedByEveryCommandThatLooks) {
  open_to_others();
  EXPECT_EQ(larder({"verify"}), kNo);
  EXPECT_THAT(err, HasSubstr(shard + " can be written by others"));
  EXPECT_THAT(err, HasSubstr("chmod 700"));
  ASSERT_EQ(larder({"verify", "--json"}), kNo);
  EXPECT_EQ(Parsed::parse(out)["is_complete"], false);
  EXPECT_EQ(Parsed::parse(out)["unread"][0]["path"], shard);
  EXPECT_EQ(larder({"ls"}), kDone);
  EXPECT_THAT(err, HasSubstr("not looked into: " + shard));
  EXPECT_THAT(err, Not(HasSubstr("no entry is kept")));
  ASSERT_EQ(larder({"ls", "--json"}), kDone);
  EXPECT_EQ(Parsed::parse(out)["unread"].size(), 1u);
  ASSERT_EQ(larder({"stats", "--json"}), kDone);
  EXPECT_EQ(Parsed::parse(out)["is_exact"], false);
  keep(recipe("other"));
  EXPECT_EQ(larder({"export", "some.bundle"}), kNo);
  EXPECT_THAT(err, HasSubstr(shard));
}

TEST_F(UnusableShard, KeepsClearAndGcFromSayingThatAllIsDone) {
  open_to_others();
  EXPECT_EQ(larder({"clear", "--all"}), kNo);
  EXPECT_THAT(out, HasSubstr("and what 1 directory holds that cannot be looked into"));
  EXPECT_THAT(err, HasSubstr(shard));
  ASSERT_EQ(larder({"clear", "--all", "--json"}), kNo);
  EXPECT_EQ(Parsed::parse(out)["is_complete"], false);
  ASSERT_EQ(larder({"gc", "--json"}), kNo);
  EXPECT_EQ(Parsed::parse(out)["is_complete"], false);
  EXPECT_TRUE(is_there(key));
}

TEST_F(UnusableShard, IsFoundByTheDoctorWithWhatToDo) {
  ASSERT_EQ(larder({"doctor"}), kDone) << out;
  for (const mode_t mode : {0777, 0770, 0500, 0}) {
    ASSERT_EQ(::chmod(shard.c_str(), mode), 0);
    EXPECT_EQ(larder({"doctor"}), kNo) << mode;
    EXPECT_THAT(out, HasSubstr(shard)) << mode;
    EXPECT_THAT(out, HasSubstr("chmod 700 '" + shard)) << mode;
  }
  std::filesystem::rename(shard, shard + ".aside");
  std::filesystem::create_symlink(shard + ".aside", shard);
  EXPECT_EQ(larder({"doctor"}), kNo);
  EXPECT_THAT(out, HasSubstr("symbolic link"));
  EXPECT_EQ(larder({"verify"}), kNo);
}

TEST_F(UnusableShard, SoAreTheDirectoriesAboveIt) {
  const std::string version = root + "/v1";
  ASSERT_EQ(::chmod(version.c_str(), 0555), 0);
  EXPECT_EQ(larder({"doctor"}), kNo);
  EXPECT_THAT(out, HasSubstr("chmod 700 '" + version));
  ASSERT_EQ(::chmod(version.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(place.c_str(), 0777), 0);
  EXPECT_EQ(larder({"doctor"}), kNo);
  EXPECT_THAT(out, HasSubstr(place + ", above it, can be written by others"));
  ASSERT_EQ(::chmod(place.c_str(), 0700), 0);
  EXPECT_EQ(larder({"doctor"}), kDone) << out;
}

TEST_F(UnusableShard, ClearCountsWhatItCouldNotRemove) {
  const Key stranger = recipe("stranger").key();
  std::filesystem::create_directories(path_of(stranger));
  ::chmod((root + "/v1/" + stranger.hex().substr(0, 2)).c_str(), 0700);
  EXPECT_EQ(larder({"clear", "--all"}), kNo);
  EXPECT_THAT(out, HasSubstr("removed 1 entry"));
  EXPECT_THAT(out, HasSubstr("1 entry, "));
  EXPECT_THAT(err, HasSubstr(path_of(stranger)));
  ASSERT_EQ(larder({"clear", "--all", "--json"}), kNo);
  EXPECT_EQ(Parsed::parse(out)["stuck_entries"], 1);
  EXPECT_EQ(Parsed::parse(out)["is_complete"], false);
}

TEST_F(UnusableShard, ClearOfAllSaysNothingStaysWhenNothingDoes) {
  // An announcement whose writer never came to publish it.
  open()->remember_absence(recipe("never came").key(), Reason::closed);
  {
    std::error_code ignored;
    std::filesystem::remove(path_of(key), ignored);  // behind the index's back
  }
  ASSERT_EQ(larder({"clear", "--all", "--json"}), kDone) << err;
  EXPECT_EQ(Parsed::parse(out)["entries"], 0);
  EXPECT_EQ(Parsed::parse(out)["is_complete"], true);
  ASSERT_EQ(larder({"stats", "--json"}), kDone);
  EXPECT_EQ(Parsed::parse(out)["entries"], 0) << out;
}

// Lets no file more than `spare` be opened while it lives.
class FewDescriptors {
 public:
  explicit FewDescriptors(unsigned spare) {
    const int next = ::open("/", O_PATH | O_CLOEXEC);
    ::close(next);
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{static_cast<rlim_t>(next) + spare, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
};

TEST_F(UnusableShard, IsUnreadWhereDescriptorsAreLacking) {
  Place there{root, std::make_unique<Counters>(), open()};
  std::uint64_t seen = 0;
  const auto count = [&](const Key&) { return ++seen, true; };
  {
    const FewDescriptors few(0);
    there.store->for_each_key(count);
  }
  EXPECT_EQ(seen, 0u);
  std::vector<BadShard> unread = unread_shards(there);
  ASSERT_EQ(unread.size(), 1u);
  EXPECT_EQ(unread[0].path, shard);
  EXPECT_EQ(unread[0].why, "Too many open files");
  EXPECT_THAT(unread[0].advice, HasSubstr("ulimit -n"));
  // Read again, it is known.
  there.store->for_each_key(count);
  EXPECT_EQ(seen, 1u);
  EXPECT_TRUE(unread_shards(there).empty());
}

TEST_F(UnusableShard, IsNotTakenForEmptyByACommandWithoutDescriptors) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP()
      << "a sanitizer that checks types opens pipes to look at objects, and takes its failure for theirs";
#endif
  for (const unsigned spare : {1u, 2u, 4u}) {
    for (const auto& words : std::vector<std::vector<std::string>>{{"verify"},
                                                                   {"verify", "--json"},
                                                                   {"verify", "--remove"},
                                                                   {"ls"},
                                                                   {"stats"},
                                                                   {"gc"},
                                                                   {"clear", "--all"},
                                                                   {"show", key.hex()},
                                                                   {"why"}}) {
      const FewDescriptors few(spare);
      EXPECT_EQ(larder(words), kError) << words[0] << out;
      EXPECT_EQ(out, "");
      EXPECT_THAT(err, HasSubstr("too few files may be open"));
      EXPECT_THAT(err, HasSubstr("ulimit -n"));
    }
  }
  {
    const FewDescriptors few(2);
    EXPECT_EQ(larder({"doctor"}), kNo);
    EXPECT_THAT(out, HasSubstr("too few files may be open"));
  }
  EXPECT_EQ(larder({"verify"}), kDone) << err;
  EXPECT_THAT(out, HasSubstr("1 entry"));
}

}  // namespace
}  // namespace larder::tool
