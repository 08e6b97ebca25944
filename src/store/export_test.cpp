#include "store/export.hpp"

#include "larder/bundle.hpp"
#include "store/store_test_kit.hpp"

namespace larder {
namespace {

class ExportTest : public StoreTest {
 protected:
  std::string bundle_path() const { return scratch_.path() + "/out.bundle"; }
};
using Export = ExportTest;

TEST_F(Export, PutsTheChosenEntriesIntoABundle) {
  const auto store = open();
  PutOptions with;
  with.cost = std::chrono::seconds(3);
  with.log = "one warning";
  with.attachment = as_bytes("the source");
  for (int number = 0; number < 10; ++number) {
    store->put(recipe_for(number), as_bytes(std::string(static_cast<std::size_t>(number) * 1000, 'x')), with);
  }
  const auto report = export_entries(
      *store, bundle_path(), {.selects = [](const EntryInfo& info) { return info.product_bytes >= 5000; }});
  ASSERT_TRUE(report.has_value()) << report.error().what;
  EXPECT_EQ(report->entries, 5u);
  EXPECT_EQ(report->left_out, 0u);
  const auto bundle = Bundle::open(bundle_path());
  ASSERT_TRUE(bundle.has_value()) << bundle.error().what;
  EXPECT_EQ(bundle->entries(), 5u);
  const BundleLookup found = bundle->get(recipe_for(7));
  ASSERT_TRUE(found);
  EXPECT_EQ(found.product.text(), std::string(7000, 'x'));
  EXPECT_EQ(found.log, "one warning");
  EXPECT_EQ(as_text(found.attachment), "the source");
  EXPECT_EQ(found.cost, std::chrono::seconds(3));
  EXPECT_FALSE(bundle->get(recipe_for(3)));
}

TEST_F(Export, MakesTheSameBytesTwice) {
  const auto store = open();
  for (int number = 0; number < 20; ++number) store->put(recipe_for(number), as_bytes("product"));
  ASSERT_TRUE(export_entries(*store, bundle_path(), {}).has_value());
  const std::string first = read_file(bundle_path());
  ASSERT_TRUE(export_entries(*store, bundle_path(), {}).has_value());
  EXPECT_EQ(read_file(bundle_path()), first);
}

TEST_F(Export, HoldsEachEntryAsItStandsInTheStore) {
  const auto store = open();
  store->put(recipe_for("a"), as_bytes("product"),
             {.cost = std::chrono::seconds(1), .log = "log", .attachment = {}});
  ASSERT_TRUE(export_entries(*store, bundle_path(), {}).has_value());
  const std::string entry = read_file(entry_path(recipe_for("a")));
  EXPECT_EQ(read_file(bundle_path()).substr(128, entry.size()), entry);
}

TEST_F(Export, LeavesOutWhatIsDamaged) {
  const auto store = open();
  store->put(recipe_for("a"), as_bytes("product a"));
  store->put(recipe_for("b"), as_bytes("product b"));
  std::string damaged = read_file(entry_path(recipe_for("a")));
  damaged.back() = '?';
  write_file(entry_path(recipe_for("a")), damaged);
  const auto report = export_entries(*store, bundle_path(), {});
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->entries, 1u);
  EXPECT_EQ(report->left_out, 1u);
}

TEST_F(Export, CanBeStoppedAndLeavesNothingHalfDone) {
  const auto store = open();
  for (int number = 0; number < 5; ++number) store->put(recipe_for(number), as_bytes("product"));
  const auto report = export_entries(*store, bundle_path(),
                                     {.goes_on = [](std::uint64_t done, std::uint64_t) { return done < 3; }});
  ASSERT_TRUE(report.has_value());
  EXPECT_TRUE(report->was_stopped);
  for (const auto& one : std::filesystem::directory_iterator(scratch_.path())) {
    EXPECT_EQ(one.path().string().find("bundle"), std::string::npos) << one.path();
  }
}

TEST_F(Export, SignsWithAKeyFile) {
  const std::string key = scratch_.path() + "/key";
  ASSERT_TRUE(make_bundle_keys(key).has_value());
  const auto store = open();
  store->put(recipe_for("a"), as_bytes("product"));
  ASSERT_TRUE(export_entries(*store, bundle_path(), {.key_file = key}).has_value());
  const auto bundle = Bundle::open(bundle_path(), {{key + ".pub"}, true});
  ASSERT_TRUE(bundle.has_value()) << bundle.error().what;
  EXPECT_EQ(bundle->trust(), BundleTrust::trusted);
  EXPECT_EQ(export_entries(*store, bundle_path(), {.key_file = key + "x"}).error().code, Code::not_found);
}

}  // namespace
}  // namespace larder
