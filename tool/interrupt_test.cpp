// Long work that is interrupted, and what going on means for each command.
#include <gmock/gmock.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "larder/events.hpp"
#include "tool/interrupt.hpp"
#include "tool/store_tool_test_kit.hpp"

namespace larder::tool {
namespace {

using Parsed = nlohmann::json;
using testing::HasSubstr;

class InterruptTest : public StoreToolTest {
 protected:
  static constexpr int kEntries = 40;
  void keep_all() const {
    const auto store = open();
    for (int i = 0; i < kEntries; ++i)
      ASSERT_TRUE(store->put(recipe(std::to_string(i)), as_bytes(std::string(1000, 'x'))));
  }
  std::size_t entries() const {
    std::size_t all = 0;
    open()->for_each_key([&](const Key&) {
      ++all;
      return true;
    });
    return all;
  }
  // A real signal, at the first event of the kind.
  static Subscription signal_at(EventKind kind) {
    auto subscription = subscribe([kind, done = std::make_shared<bool>(false)](const Event& event) {
      if (event.kind != kind || *done) return;
      *done = true;
      std::raise(SIGINT);
    });
    EXPECT_TRUE(subscription);
    return std::move(*subscription);
  }
};
using Interrupted = InterruptTest;

TEST_F(Interrupted, VerifyLeavesAMarkAndGoesOnThere) {
  keep_all();
  Key first{~std::uint64_t{0}, ~std::uint64_t{0}};
  open()->for_each_key([&](const Key& key) {
    first = std::min(first, key);
    return true;
  });
  damage(first);
  {
    const Subscription signal = signal_at(EventKind::damaged);
    ASSERT_EQ(larder({"verify", "--remove", "--json"}), kInterrupted) << err;
  }
  EXPECT_EQ(Parsed::parse(out)["is_complete"], false);
  EXPECT_EQ(Parsed::parse(out)["checked"], 1);
  ASSERT_EQ(larder({"verify", "--continue", "--json"}), kDone) << err;
  EXPECT_EQ(Parsed::parse(out)["checked"], kEntries - 1);
  EXPECT_EQ(Parsed::parse(out)["is_complete"], true);
}

TEST_F(Interrupted, VerifySaysHowToGoOn) {
  keep_all();
  Interrupt::request_after(10);
  ASSERT_EQ(larder({"verify"}), kInterrupted);
  EXPECT_THAT(out, HasSubstr("9 entries"));
  EXPECT_THAT(err, HasSubstr("verify --continue"));
}

TEST_F(Interrupted, GcHasDoneAPartAndTheRestCanBeDone) {
  keep_all();
  Interrupt::request_after(1);
  ASSERT_EQ(larder({"gc", "--size-max", "20K"}), kInterrupted);
  EXPECT_THAT(err, HasSubstr("run it again"));
  EXPECT_EQ(entries(), std::size_t{kEntries});
  ASSERT_EQ(larder({"gc", "--size-max", "20K"}), kDone) << err;
  EXPECT_LT(entries(), std::size_t{kEntries});
}

TEST_F(Interrupted, ClearHasRemovedAPartAndTheRestCanBeRemoved) {
  keep_all();
  Interrupt::request_after(10);
  ASSERT_EQ(larder({"clear", "--all"}), kInterrupted);
  EXPECT_THAT(out, HasSubstr("removed 9 entries"));
  EXPECT_EQ(entries(), std::size_t{kEntries - 9});
  ASSERT_EQ(larder({"clear", "--all"}), kDone);
  EXPECT_EQ(entries(), 0u);
}

TEST_F(Interrupted, ExportLeavesNoBundleAndBeginsAnew) {
  keep_all();
  Interrupt::request_after(10);
  ASSERT_EQ(larder({"export", "b.bundle"}), kInterrupted);
  EXPECT_THAT(err, HasSubstr("no bundle was written"));
  for (const auto& file : std::filesystem::directory_iterator(place))
    EXPECT_EQ(file.path().string().find("b.bundle"), std::string::npos) << file.path();
  ASSERT_EQ(larder({"export", "b.bundle"}), kDone);
}

TEST_F(Interrupted, ImportKeepsWhatItTookAndPassesOverItNextTime) {
  keep_all();
  ASSERT_EQ(larder({"export", "b.bundle"}), kDone);
  root = place + "/other";
  here.environment["LARDER_DIR"] = root;
  Interrupt::request_after(10);
  ASSERT_EQ(larder({"import", "b.bundle"}), kInterrupted);
  EXPECT_EQ(entries(), 9u);
  ASSERT_EQ(larder({"import", "b.bundle", "--json"}), kDone);
  EXPECT_EQ(Parsed::parse(out)["already_there"], 9);
  EXPECT_EQ(entries(), std::size_t{kEntries});
}

TEST_F(Interrupted, WhyIsGivenUp) {
  request(recipe("a"));
  request(recipe("b"));
  Interrupt::request_after(1);
  EXPECT_EQ(larder({"why"}), kInterrupted);
  EXPECT_EQ(out, "");
}

}  // namespace
}  // namespace larder::tool
