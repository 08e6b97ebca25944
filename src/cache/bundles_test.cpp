#include "cache/bundles.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "cache/testing.hpp"
#include "larder/events.hpp"
#include "store/export.hpp"

namespace larder {
namespace {

using testing::kLong;
using testing::options_in;
using testing::recipe_of;
using testing::ScratchDirectory;

class BundleTierTest : public ::testing::Test {
 protected:
  // A bundle of the products "product of NAME, by BY", as `larder export` makes it.
  std::string bundle(const std::string& by, const std::vector<std::string>& names,
                     const std::string& key_file = "") {
    ScratchDirectory elsewhere;
    {
      Cache cache = Cache::open(options_in(elsewhere));
      for (const std::string& name : names) {
        const Origin origin{.cost = std::chrono::seconds(3), .log = "the log"};
        EXPECT_TRUE(cache.put(recipe_of(name), Bytes("product of " + name + ", by " + by), origin));
      }
      EXPECT_TRUE(cache.flush(kLong));
    }
    StoreOptions options;
    options.root = elsewhere.path() + "/store";
    options.lock_directory = elsewhere.path() + "/run";
    auto store = Store::open(std::move(options));
    std::string path = scratch_.path() + "/" + by + ".bundle";
    const auto done = export_entries(**store, path, {.key_file = key_file});
    EXPECT_TRUE(done && done->entries == names.size());
    return path;
  }
  Options with(std::vector<std::string> bundles) {
    Options options = options_in(scratch_);
    options.bundles = std::move(bundles);
    return options;
  }
  static Result<Product> ask(Cache& cache, std::string_view name, const Request& how = {}) {
    return cache.get_or_make(
        recipe_of(name), [] { return std::string("made here"); }, how);
  }

  ScratchDirectory scratch_;
};
using BundleTier = BundleTierTest;

TEST_F(BundleTier, AnswersAfterTheDiskAndSaysSo) {
  std::vector<Event> events;
  const auto listening = subscribe([&](const Event& event) {
    if (event.kind == EventKind::request) events.push_back(event);
  });
  Cache cache = Cache::open(with({bundle("ci", {"a", "b"})}));
  EXPECT_TRUE(cache.problems().empty());
  EXPECT_EQ(cache.stats().bundles, 1u);
  EXPECT_EQ(cache.stats().bundle_entries, 2u);
  events.clear();
  const auto found = ask(cache, "a");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->outcome, Outcome::bundle_hit);
  EXPECT_EQ(found->reason, Reason::none);
  EXPECT_EQ(found->bytes.text(), "product of a, by ci");
  EXPECT_EQ(found->log, "the log");
  EXPECT_EQ(ask(cache, "a")->outcome, Outcome::memory_hit);
  EXPECT_EQ(ask(cache, "c")->outcome, Outcome::made);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].tier, Tier::bundle);
  EXPECT_EQ(events[0].saved, std::chrono::seconds(3));
  const CounterTotals totals = cache.stats().totals;
  EXPECT_EQ(totals[Outcome::bundle_hit], 1u);
  EXPECT_EQ(totals.saved(Outcome::bundle_hit), std::chrono::seconds(3));
  EXPECT_EQ(totals.hits(), 2u);
}

TEST_F(BundleTier, NeedsNoDisk) {
  Options options;
  options.bundles = {bundle("ci", {"a"})};
  Cache cache = Cache::open(options);
  EXPECT_FALSE(cache.stats().has_disk);
  EXPECT_EQ(ask(cache, "a")->outcome, Outcome::bundle_hit);
  EXPECT_EQ(ask(cache, "a", {.mode = Mode::require_hit})->outcome, Outcome::memory_hit);
  EXPECT_EQ(ask(cache, "b", {.mode = Mode::require_hit}).error().code, Code::not_found);
}

TEST_F(BundleTier, IsNotCopiedToTheDiskUnlessPutThere) {
  const Options options = with({bundle("ci", {"a", "b"})});
  const Options bare = options_in(scratch_);
  {
    Cache cache = Cache::open(options);
    const auto a = ask(cache, "a");
    const auto b = ask(cache, "b");
    ASSERT_TRUE(a && b);
    EXPECT_TRUE(cache.put(recipe_of("b"), b->bytes, {.cost = b->cost, .log = b->log}));
    ASSERT_TRUE(cache.flush(kLong));
  }
  Cache without = Cache::open(bare);
  EXPECT_FALSE(without.get(recipe_of("a")));
  EXPECT_EQ(without.get(recipe_of("b"))->outcome, Outcome::disk_hit);
  EXPECT_EQ(Cache::open(options).get(recipe_of("b"))->outcome, Outcome::disk_hit)
      << "the disk is asked first";
}

TEST_F(BundleTier, AsksBundlesInTheOrderInWhichTheyAreNamed) {
  const std::string first = bundle("first", {"both", "a"});
  const std::string second = bundle("second", {"both", "b"});
  {
    Cache cache = Cache::open(with({first, second}));
    EXPECT_EQ(ask(cache, "both")->bytes.text(), "product of both, by first");
    EXPECT_EQ(ask(cache, "b")->bytes.text(), "product of b, by second");
    EXPECT_EQ(cache.stats().bundles, 2u);
    EXPECT_EQ(cache.stats().bundle_entries, 4u);
  }
  EXPECT_EQ(ask(*std::make_unique<Cache>(Cache::open(with({second, first}))), "both")->bytes.text(),
            "product of both, by second");
}

// Changes a byte in the middle of the product that stands in the bundle.
void damage(const std::string& path, const std::string& product) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t at = all.find(product);
  ASSERT_NE(at, std::string::npos);
  file.clear();
  file.seekp(static_cast<std::streamoff>(at));
  file.put('X');
}

TEST_F(BundleTier, GoesOnToTheNextWhereAnEntryIsDamaged) {
  const std::string first = bundle("first", {"both", "alone"});
  const std::string second = bundle("second", {"both"});
  damage(first, "product of both");
  damage(first, "product of alone");
  int damaged = 0;
  const auto listening = subscribe([&](const Event& event) {
    damaged += event.kind == EventKind::damaged && event.tier == Tier::bundle && event.detail == first;
  });
  Cache cache = Cache::open(with({first, second}));
  EXPECT_TRUE(cache.problems().empty());
  EXPECT_EQ(ask(cache, "both")->bytes.text(), "product of both, by second");
  const auto made = ask(cache, "alone");
  EXPECT_EQ(made->bytes.text(), "made here");
  EXPECT_EQ(made->reason, Reason::corrupt);
  EXPECT_GE(damaged, 2);
  EXPECT_EQ(cache.stats().totals[Counter::damaged], static_cast<std::uint64_t>(damaged));
}

TEST_F(BundleTier, WarnsOnceOfEachThatCannotBeUsedAndGoesOn) {
  const std::string keys = scratch_.path() + "/key";
  ASSERT_TRUE(make_bundle_keys(keys));
  const std::string good = bundle("good", {"a"}, keys);
  const std::string unsigned_one = bundle("unsigned", {"b"});
  const std::string cut = bundle("cut", {"c"}, keys);
  std::filesystem::resize_file(cut, std::filesystem::file_size(cut) - 1);
  const std::string no_bundle = scratch_.path() + "/text";
  std::ofstream(no_bundle) << "no bundle at all";
  const std::string missing = scratch_.path() + "/missing";
  Options options = with({missing, unsigned_one, cut, no_bundle, good});
  options.bundle_keys = {keys + ".pub"};
  options.require_signature = true;

  std::vector<std::pair<Reason, std::string>> warnings;
  const auto listening = subscribe([&](const Event& event) {
    if (event.kind == EventKind::warning && event.tier == Tier::bundle) {
      warnings.emplace_back(event.reason, event.detail);
    }
  });
  Cache cache = Cache::open(options);
  ASSERT_EQ(warnings.size(), 4u);
  EXPECT_EQ(warnings[0].first, Reason::absent);
  EXPECT_EQ(warnings[0].second, "bundle " + missing + ": no such bundle");
  EXPECT_EQ(warnings[1].first, Reason::untrusted);
  EXPECT_EQ(warnings[2].first, Reason::corrupt);
  EXPECT_EQ(warnings[3].first, Reason::other_version);
  EXPECT_EQ(cache.problems().size(), 4u);
  EXPECT_EQ(cache.stats().bundles, 1u);
  for (const char* name : {"a", "b", "c", "d"}) EXPECT_TRUE(ask(cache, name)) << name;
  EXPECT_EQ(cache.stats().totals[Outcome::bundle_hit], 1u);
  EXPECT_EQ(cache.stats().totals[Outcome::made], 3u);
  EXPECT_EQ(warnings.size(), 4u) << "requests warn of nothing again";
}

TEST_F(BundleTier, DoesNotTrustWhatOthersCanWriteUnlessItIsSigned) {
  const std::string keys = scratch_.path() + "/key";
  ASSERT_TRUE(make_bundle_keys(keys));
  const std::string loose = bundle("loose", {"a"});
  const std::string signed_one = bundle("signed", {"b"}, keys);
  for (const std::string& path : {loose, signed_one}) ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  Options options = with({loose, signed_one});
  options.bundle_keys = {keys + ".pub"};
  Cache cache = Cache::open(options);
  EXPECT_EQ(cache.problems().size(), 1u);
  EXPECT_EQ(ask(cache, "a")->outcome, Outcome::made);
  EXPECT_EQ(ask(cache, "b")->outcome, Outcome::bundle_hit);
}

TEST_F(BundleTier, GoesOnWithTheFileItMountedWhenAnotherTakesItsName) {
  const std::string path = bundle("ci", {"a", "b"});
  Cache cache = Cache::open(with({path}));
  const std::string other = bundle("other", {"a", "b"});
  ASSERT_EQ(::rename(other.c_str(), path.c_str()), 0);
  EXPECT_EQ(ask(cache, "a")->bytes.text(), "product of a, by ci");
  ASSERT_EQ(::unlink(path.c_str()), 0);
  EXPECT_EQ(ask(cache, "b")->bytes.text(), "product of b, by ci");
}

TEST_F(BundleTier, MissesWhenItsFileIsOverwrittenOrCutInPlace) {
  const std::string path = bundle("ci", {"a", "b", "c"});
  Cache cache = Cache::open(with({path}));
  // Longer products stand elsewhere in the file than the mounted index says.
  const std::string other = bundle("a writer of a longer name", {"a", "b", "c"});
  std::filesystem::copy_file(other, path, std::filesystem::copy_options::overwrite_existing);
  for (const char* name : {"a", "b"}) {
    const auto product = ask(cache, name);
    ASSERT_TRUE(product);
    const std::string text(product->bytes.text());
    EXPECT_TRUE(text == "made here" ||
                text == std::string("product of ") + name + ", by a writer of a longer name" ||
                text == std::string("product of ") + name + ", by ci")
        << text;
  }
  std::filesystem::resize_file(path, 100);
  const auto cut = ask(cache, "c");
  EXPECT_EQ(cut->bytes.text(), "made here");
  EXPECT_EQ(cut->reason, Reason::truncated);
}

TEST_F(BundleTier, IsPassedOverForWhatItsConsumerRefused) {
  Options options;
  options.bundles = {bundle("ci", {"a"})};
  options.memory_size_max = 1;  // nothing stays in memory
  Cache cache = Cache::open(options);
  EXPECT_EQ(ask(cache, "a")->outcome, Outcome::bundle_hit);
  EXPECT_TRUE(cache.reject(recipe_of("a")));
  EXPECT_FALSE(cache.reject(recipe_of("a")));
  for (int i = 0; i < 2; ++i) {
    const auto again = ask(cache, "a");
    EXPECT_EQ(again->outcome, Outcome::made);
    EXPECT_EQ(again->reason, Reason::refused);
    EXPECT_EQ(again->bytes.text(), "made here");
  }
}

TEST_F(BundleTier, LeavesWhatWasRefusedToTheDiskOfTheNextProcess) {
  const Options options = with({bundle("ci", {"a"})});
  {
    Cache cache = Cache::open(options);
    EXPECT_EQ(ask(cache, "a")->outcome, Outcome::bundle_hit);
    EXPECT_TRUE(cache.reject(recipe_of("a")));
    EXPECT_EQ(ask(cache, "a")->reason, Reason::refused);
  }
  Cache cache = Cache::open(options);
  const auto found = ask(cache, "a");
  EXPECT_EQ(found->outcome, Outcome::disk_hit);
  EXPECT_EQ(found->bytes.text(), "made here");
}

TEST_F(BundleTier, GivesWayToAProductMadeAnew) {
  Options options = with({bundle("ci", {"a", "b"})});
  options.memory = false;
  Cache cache = Cache::open(options);
  EXPECT_EQ(ask(cache, "a", {.mode = Mode::refresh})->outcome, Outcome::made);
  EXPECT_EQ(ask(cache, "a")->bytes.text(), "made here");
  const auto verified = ask(cache, "b", {.mode = Mode::verify});
  EXPECT_EQ(verified->reason, Reason::mismatch);
  EXPECT_EQ(ask(cache, "b")->bytes.text(), "made here");
}

TEST_F(BundleTier, StaysWhenTheCacheIsClearedAndThatIsSaid) {
  Cache cache = Cache::open(with({bundle("ci", {"a", "b"})}));
  EXPECT_EQ(ask(cache, "a")->outcome, Outcome::bundle_hit);
  EXPECT_EQ(ask(cache, "c")->outcome, Outcome::made);
  ASSERT_TRUE(cache.flush(kLong));
  const Cleared cleared = cache.clear();
  EXPECT_EQ(cleared.entries, 1u);
  EXPECT_EQ(cleared.bundle_entries, 2u);
  EXPECT_EQ(ask(cache, "a")->outcome, Outcome::bundle_hit);
  EXPECT_EQ(ask(cache, "c")->outcome, Outcome::made);
  EXPECT_TRUE(cache.erase(recipe_of("a")));
  EXPECT_EQ(ask(cache, "a")->outcome, Outcome::bundle_hit) << "a bundle keeps what it has";
}

TEST_F(BundleTier, IsNotOpenedByACacheThatStandsAside) {
  Options options = with({scratch_.path() + "/missing"});
  options.disable = true;
  EXPECT_TRUE(Cache::open(options).problems().empty());
  Cache cache = Cache::open(with({bundle("ci", {"a"})}));
  EXPECT_EQ(ask(cache, "a", {.mode = Mode::bypass})->bytes.text(), "made here");
}

TEST_F(BundleTier, AnswersForkedChildren) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer ends a forked child that starts a thread";
#endif
  Cache cache = Cache::open(with({bundle("ci", {"a", "b"})}));
  EXPECT_EQ(ask(cache, "a")->outcome, Outcome::bundle_hit);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(ask(cache, "b")->outcome == Outcome::bundle_hit ? 0 : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(BundleTier, ReportsBeforehandWhatFitsThisMachine) {
  const std::string path = bundle("ci", {"a", "b", "c"});
  const BundleReport report = preflight(path, {}, {{"name", "a"}});
  EXPECT_TRUE(report.is_usable);
  EXPECT_EQ(report.entries, 3u);
  EXPECT_EQ(report.fitting, 1u);
  ASSERT_EQ(report.misfits.size(), 2u);
  EXPECT_EQ(report.misfits[0].ingredient, "name");
  EXPECT_EQ(report.misfits[0].ours, "a");
  const BundleReport refused = preflight(path, {.require_signature = true}, {});
  EXPECT_FALSE(refused.is_usable);
  EXPECT_NE(refused.detail.find("is not signed"), std::string::npos);
}

}  // namespace
}  // namespace larder
