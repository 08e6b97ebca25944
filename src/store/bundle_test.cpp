#include "store/bundle.hpp"

#include <sys/resource.h>
#include <sys/wait.h>

#include <map>

#include "base/faulty_file_system.hpp"
#include "store/bundle_writer.hpp"
#include "store/store_test_kit.hpp"

namespace larder {
namespace {

class BundleTest : public ::testing::Test {
 protected:
  std::string path() const { return scratch_.path() + "/kernels.bundle"; }
  std::string key_path() const { return scratch_.path() + "/key"; }

  // Writes `path()` with the products of these recipes, sorted as a writer needs them.
  void write(const std::map<std::string, std::string>& products, bool is_signed = false) {
    std::map<Key, std::pair<Recipe, std::string>> by_key;
    for (const auto& [name, product] : products)
      by_key.emplace(recipe_for(name).key(), std::pair(recipe_for(name), product));
    auto writer = BundleWriter::open(FileSystem::posix(), path());
    ASSERT_TRUE(writer.has_value());
    for (const auto& [key, entry] : by_key) {
      format::EntryHead head;
      head.key = key;
      head.recipe = entry.first.canonical();
      head.log = "the log";
      head.cost = std::chrono::seconds(2);
      head.made_at_unix_ns = 1'600'000'000'000'000'000;
      ASSERT_TRUE(writer->add(head, as_bytes(entry.second)).has_value());
    }
    std::optional<bundle_keys::SecretKey> key;
    if (is_signed) key = bundle_keys::read_secret(key_path()).value();
    ASSERT_TRUE(writer->finish(key).has_value());
  }
  Result<Bundle> open(const BundleOptions& options = {}) { return BundleFor::open(path(), options, files_); }
  BundleOptions with_key(bool required = true) const { return {{key_path() + ".pub"}, required}; }

  ScratchDirectory scratch_;
  FaultyFileSystem files_;
  const std::map<std::string, std::string> products_{
      {"a", "product of a"}, {"b", std::string(100'000, 'b')}, {"c", ""}, {"d", std::string(3'000'000, 'd')}};
};
using BundleFile = BundleTest;

TEST_F(BundleFile, ServesEveryEntryWithoutBeingUnpacked) {
  write(products_);
  const auto bundle = open();
  ASSERT_TRUE(bundle.has_value()) << bundle.error().what;
  EXPECT_EQ(bundle->entries(), 4u);
  EXPECT_EQ(bundle->trust(), BundleTrust::none);
  for (const bool may_map : {false, true}) {
    for (const auto& [name, product] : products_) {
      const BundleLookup found = bundle->get(recipe_for(name), {.may_map = may_map});
      ASSERT_TRUE(found) << name;
      EXPECT_EQ(found.product.text(), product);
      EXPECT_EQ(found.log, "the log");
      EXPECT_EQ(found.cost, std::chrono::seconds(2));
    }
    EXPECT_EQ(bundle->get(recipe_for("e"), {.may_map = may_map}).reason, Reason::absent);
  }
  EXPECT_TRUE(bundle->contains(recipe_for("a").key()));
  EXPECT_FALSE(bundle->contains(recipe_for("e").key()));
}

TEST_F(BundleFile, AMissMakesNoSystemCall) {
  write(products_);
  const auto bundle = open();
  files_.clear();
  EXPECT_EQ(bundle->get(recipe_for("e")).reason, Reason::absent);
  EXPECT_EQ(files_.calls(), 0u);
}

TEST_F(BundleFile, ProductsOutliveTheBundle) {
  write(products_);
  Bytes copy, mapped;
  std::string_view log;
  {
    const auto bundle = Bundle::open(path());
    BundleLookup found = bundle->get(recipe_for("b"));
    log = found.log;
    copy = found.product;
    mapped = bundle->get(recipe_for("d"), {.may_map = true}).product;
  }
  EXPECT_EQ(copy.text(), products_.at("b"));
  EXPECT_EQ(log, "the log");
  EXPECT_EQ(mapped.text(), products_.at("d"));
}

TEST_F(BundleFile, TheSameEntriesMakeTheSameBytes) {
  write(products_);
  const std::string first = read_file(path());
  write(products_);
  EXPECT_EQ(read_file(path()), first);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch_.path()), {}), 1)
      << "nothing else is left";
}

TEST_F(BundleFile, ServesNoOtherRecipesProductWhenKeysCollide) {
  write(products_);
  const auto bundle = open();
  EXPECT_EQ(bundle->get(recipe_for("e"), recipe_for("a").key()).reason, Reason::other_recipe);
}

TEST_F(BundleFile, EveryTruncationIsRefused) {
  write({{"a", "product of a"}, {"b", "product of b"}});
  const std::string sound = read_file(path());
  for (std::size_t size = 0; size < sound.size(); ++size) {
    write_file(path(), sound.substr(0, size));
    ASSERT_FALSE(open().has_value()) << size;
  }
  EXPECT_EQ(files_.open_descriptors(), 0);
}

TEST_F(BundleFile, NoFlippedBitChangesAProduct) {
  write({{"a", "product of a"}, {"b", "product of b"}});
  const std::string sound = read_file(path());
  for (std::size_t bit = 0; bit < sound.size() * 8; ++bit) {
    std::string flipped = sound;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    write_file(path(), flipped);
    const auto bundle = open();
    if (!bundle) continue;
    for (const char* name : {"a", "b"}) {
      const BundleLookup found = bundle->get(recipe_for(name));
      ASSERT_TRUE(!found || found.product.text() == "product of " + std::string(name)) << bit;
    }
  }
}

TEST_F(BundleFile, DamageDoneWhileItIsMountedIsAMiss) {
  write(products_);
  const auto bundle = open();
  const std::string sound = read_file(path());
  ASSERT_EQ(::truncate(path().c_str(), 1000), 0);
  EXPECT_EQ(bundle->get(recipe_for("d")).reason, Reason::truncated) << "and no SIGBUS";
  std::string scrambled = sound;
  for (std::size_t i = 128; i < scrambled.size(); i += 50) scrambled[i] = static_cast<char>(scrambled[i] ^ 1);
  {
    std::fstream out(path(), std::ios::binary | std::ios::in | std::ios::out);
    out.write(scrambled.data(), static_cast<std::streamsize>(scrambled.size()));
  }
  for (const auto& [name, product] : products_) EXPECT_FALSE(bundle->get(recipe_for(name))) << name;
}

TEST_F(BundleFile, StaysReadableWhenItIsReplacedOrRemoved) {
  write(products_);
  const auto bundle = open();
  write({{"z", "another bundle"}});
  EXPECT_EQ(bundle->get(recipe_for("a")).product.text(), "product of a");
  std::filesystem::remove(path());
  EXPECT_EQ(bundle->get(recipe_for("a")).product.text(), "product of a");
}

TEST_F(BundleFile, AForkedChildGoesOnReading) {
  write(products_);
  const auto bundle = open();
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(bundle->get(recipe_for("b")).product.text() == products_.at("b") &&
                    bundle->get(recipe_for("d"), {.may_map = true}).product.text() == products_.at("d")
                ? 0
                : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(BundleFile, EverySystemCallMayFail) {
  write({{"a", "product of a"}, {"b", std::string(100'000, 'b')}});
  for (const int error : {EIO, EMFILE, ENOMEM, EACCES, ESTALE}) {
    for (std::uint64_t at = 0;; ++at) {
      ASSERT_LT(at, 50u);
      files_.set({.at = at, .error = error});
      {
        const auto bundle = open();
        if (bundle) {
          const BundleLookup found = bundle->get(recipe_for("b"), {.may_map = true});
          ASSERT_TRUE(!found || found.product.text() == std::string(100'000, 'b'));
        }
      }
      ASSERT_EQ(files_.open_descriptors(), 0);
      if (files_.calls() <= at) break;
    }
  }
}

TEST_F(BundleFile, IsPublishedWholeOrNotAtAll) {
  write({{"old", "old product"}});
  const std::string before = read_file(path());
  for (const int error : {EIO, ENOSPC}) {
    for (std::uint64_t at = 0;; ++at) {
      ASSERT_LT(at, 50u);
      files_.set({.at = at, .error = error});
      bool is_done = false;
      {
        auto writer = BundleWriter::open(files_, path());
        format::EntryHead head;
        const Recipe recipe = recipe_for("new");
        head.key = recipe.key();
        head.recipe = recipe.canonical();
        is_done = writer && writer->add(head, as_bytes("new product")) && writer->finish({});
      }
      const bool was_struck = files_.calls() > at;
      files_.clear();
      const auto bundle = open();
      ASSERT_TRUE(bundle.has_value()) << at;
      ASSERT_TRUE(is_done ? bool(bundle->get(recipe_for("new"))) : read_file(path()) == before) << at;
      ASSERT_EQ(std::distance(std::filesystem::directory_iterator(scratch_.path()), {}), 1) << at;
      write_file(path(), before);
      if (!was_struck) break;
    }
  }
}

TEST_F(BundleFile, AWriterTakesKeysInTheirOrderOnly) {
  auto writer = BundleWriter::open(files_, path());
  format::EntryHead head;
  head.key = {5, 5};
  ASSERT_TRUE(writer->add(head, {}).has_value());
  EXPECT_EQ(writer->add(head, {}).error().code, Code::invalid_argument);
  head.key = {5, 4};
  EXPECT_EQ(writer->add(head, {}).error().code, Code::invalid_argument);
}

// --- Who made it.

class SignedBundle : public BundleTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(make_bundle_keys(key_path()).has_value());
    write({{"a", "product of a"}, {"b", "product of b"}}, true);
  }
};

TEST_F(SignedBundle, IsTrustedThroughItsKeyAndServed) {
  const auto bundle = open(with_key());
  ASSERT_TRUE(bundle.has_value()) << bundle.error().what;
  EXPECT_EQ(bundle->trust(), BundleTrust::trusted);
  EXPECT_EQ(bundle->get(recipe_for("a")).product.text(), "product of a");
  EXPECT_EQ(open()->trust(), BundleTrust::unknown);
}

TEST_F(SignedBundle, KeysAreFilesThatAreNeverOverwritten) {
  EXPECT_EQ(mode_of(key_path()) & 07777, 0600u);
  EXPECT_EQ(make_bundle_keys(key_path()).error().code, Code::invalid_argument);
  ASSERT_EQ(::chmod(key_path().c_str(), 0644), 0);
  EXPECT_EQ(bundle_keys::read_secret(key_path()).error().code, Code::refused);
  EXPECT_EQ(bundle_keys::read_public(key_path() + ".pub")->size(), 1u);
}

TEST_F(SignedBundle, WhatIsRequiredMustBeThereAndKnown) {
  ASSERT_TRUE(make_bundle_keys(scratch_.path() + "/other").has_value());
  const BundleOptions others{{scratch_.path() + "/other.pub"}, true};
  const auto unknown = open(others);
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().code, Code::refused);
  EXPECT_NE(unknown.error().what.find("no trusted key has signed it"), std::string::npos);
  write({{"a", "product of a"}}, false);
  const auto none = open(with_key());
  ASSERT_FALSE(none.has_value());
  EXPECT_NE(none.error().what.find("is not signed"), std::string::npos);
  EXPECT_TRUE(open(with_key(false)).has_value());
  EXPECT_EQ(open({{scratch_.path() + "/nowhere.pub"}, false}).error().code, Code::refused);
}

TEST_F(SignedBundle, AnyChangeIsRefusedEvenWhenChecksumsAreMadeRight) {
  const std::string sound = read_file(path());
  // A forger puts another product in: the entry's own checksum is right, the index's digest is the old one.
  write({{"a", "PRODUCT of a"}, {"b", "product of b"}}, false);
  const std::string forged_entries = read_file(path());
  format::BundleHeader header;
  ASSERT_EQ(format::decode_bundle_header(as_bytes(sound).first(128), sound.size(), header), Reason::none);
  write_file(path(), sound.substr(0, 128) + forged_entries.substr(128, header.index_offset - 128) +
                         sound.substr(header.index_offset));
  const auto bundle = open(with_key());
  ASSERT_TRUE(bundle.has_value());
  EXPECT_EQ(bundle->get(recipe_for("a")).reason, Reason::corrupt);
  EXPECT_EQ(bundle->get(recipe_for("b")).product.text(), "product of b");
  // The index made right as well: now the signature is wrong.
  const std::string unsigned_file = forged_entries;
  std::vector<format::BundleRecord> records;
  for (std::uint64_t i = 0; i < 2; ++i) {
    records.push_back(format::bundle_record(as_bytes(unsigned_file).subspan(header.index_offset), i));
  }
  const std::string index = format::encode_bundle_index(records);
  write_file(path(), format::encode_bundle_header(records, index, 1) +
                         unsigned_file.substr(128, header.index_offset - 128) + index +
                         sound.substr(header.index_offset + index.size()));
  const auto refused = open(with_key(false));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::refused);
  EXPECT_NE(refused.error().what.find("changed after a trusted key signed it"), std::string::npos);
}

TEST_F(SignedBundle, NoFlippedBitIsServed) {
  const std::string sound = read_file(path());
  for (std::size_t bit = 0; bit < sound.size() * 8; bit += 3) {
    std::string flipped = sound;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    write_file(path(), flipped);
    const auto bundle = open(with_key());
    if (!bundle) continue;
    for (const char* name : {"a", "b"}) {
      const BundleLookup found = bundle->get(recipe_for(name));
      ASSERT_TRUE(!found || found.product.text() == "product of " + std::string(name)) << bit;
    }
  }
}

TEST_F(SignedBundle, SomebodyElsesFileIsUsedOnlyWhenItIsSigned) {
  ASSERT_EQ(::chmod(path().c_str(), 0666), 0);
  EXPECT_EQ(open().error().code, Code::refused);
  EXPECT_TRUE(open(with_key(false)).has_value());
}

TEST_F(SignedBundle, PublicKeyFilesAreReadLineByLine) {
  const std::string key = read_file(key_path() + ".pub");
  EXPECT_EQ(bundle_keys::parse_public("# ours\n\n" + key + key)->size(), 2u);
  const auto wrong = bundle_keys::parse_public(key + "larder-public-key-1:AAAA\n");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_TRUE(wrong.error().what.starts_with("2: "));
  for (std::size_t size = 1; size + 1 < key.size(); ++size) {
    EXPECT_FALSE(bundle_keys::parse_public(key.substr(0, size)).has_value()) << size;
  }
}

// --- Is it of use here?

TEST_F(BundleFile, PreflightCountsWhatFitsThisMachineAndSaysWhyNot) {
  std::map<Key, Recipe> recipes;
  for (const char* driver : {"pocl 3.1", "pocl 3.1", "nvidia 535"}) {
    for (int number = 0; number < 3; ++number) {
      Recipe recipe("opencl-program");
      recipe.add("source", std::to_string(number)).add("driver", driver);
      recipes.emplace(recipe.key(), recipe);
    }
  }
  auto writer = BundleWriter::open(FileSystem::posix(), path());
  for (const auto& [key, recipe] : recipes) {
    format::EntryHead head;
    head.key = key;
    head.recipe = recipe.canonical();
    ASSERT_TRUE(writer->add(head, as_bytes("binary")).has_value());
  }
  ASSERT_TRUE(writer->finish({}).has_value());
  BundleReport report =
      preflight(path(), {}, {{"driver", "pocl 3.1"}, {"device", "none has such an ingredient"}});
  EXPECT_TRUE(report.is_usable);
  EXPECT_EQ(report.entries, 6u);
  EXPECT_EQ(report.fitting, 3u);
  ASSERT_EQ(report.misfits.size(), 1u);
  EXPECT_EQ(report.misfits[0].ingredient, "driver");
  EXPECT_EQ(report.misfits[0].theirs, "nvidia 535");
  EXPECT_EQ(report.misfits[0].ours, "pocl 3.1");
  EXPECT_EQ(report.misfits[0].entries, 3u);
  EXPECT_FALSE(preflight(path(), {}, {{"driver", "mesa"}}).is_usable);
  report = preflight(scratch_.path() + "/none", {}, {});
  EXPECT_FALSE(report.is_usable);
  EXPECT_NE(report.detail.find("no such bundle"), std::string::npos);
  report = preflight(path(), {{}, true}, {});
  EXPECT_FALSE(report.is_usable);
  EXPECT_NE(report.detail.find("not signed"), std::string::npos);
}

TEST_F(BundleFile, ListsHeadsWithoutReadingProducts) {
  write(products_);
  const auto bundle = open();
  const std::uint64_t before = files_.bytes_read();
  std::uint64_t bytes = 0;
  bundle->for_each([&](const BundleEntry& entry) {
    EXPECT_EQ(entry.reason, Reason::none);
    EXPECT_TRUE(entry.recipe.has_value());
    bytes += entry.product_bytes;
    return true;
  });
  EXPECT_EQ(bytes, 3'100'012u);
  EXPECT_LT(files_.bytes_read() - before, 20'000u);
}

TEST_F(BundleFile, VerifyNamesTheDamagedEntry) {
  write(products_);
  std::string damaged = read_file(path());
  const auto bundle = open();
  damaged[damaged.find("product of a")] = 'P';
  write_file(path(), damaged);
  const auto again = open();
  std::vector<Key> bad;
  again->verify_each([&](const BundleEntry& entry) {
    if (entry.reason != Reason::none) bad.push_back(entry.key);
    return true;
  });
  EXPECT_EQ(bad, std::vector<Key>{recipe_for("a").key()});
}

TEST_F(SignedBundle, NoBytesBetweenItsEntriesAreAnybodys) {
  write(products_, true);
  const std::string good = read_file(path());
  const auto is_served = [&] {
    const auto bundle = open(with_key());
    std::size_t served = 0;
    if (bundle) {
      for (const auto& [name, product] : products_) served += bundle->get(recipe_for(name)) ? 1 : 0;
      bool heads = true;
      bundle->for_each(
          [&](const BundleEntry& entry) { return heads = heads && entry.reason == Reason::none; });
      EXPECT_EQ(heads, served == products_.size());
    }
    return served == products_.size();
  };
  ASSERT_TRUE(is_served());
  std::size_t gaps = 0;
  const std::uint64_t index = good.size() - (2 * products_.size() * 64 + 96);
  for (std::size_t at = format::kBundleHeaderSize; at < std::min<std::size_t>(good.size(), index + 999);
       ++at) {
    // What is zero and lies at the end of an aligned block may be a gap: try the last byte of each such
    // block.
    if (at % format::kBundleAlignment != format::kBundleAlignment - 1 || good[at] != 0) continue;
    std::string changed = good;
    changed[at] = 1;
    write_file(path(), changed);
    ::chmod(path().c_str(), 0600);
    EXPECT_FALSE(is_served()) << at;
    ++gaps;
  }
  EXPECT_GT(gaps, 0u);
}

}  // namespace
}  // namespace larder
