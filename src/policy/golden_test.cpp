// Miss counts of every policy on testdata/small.ct16, which `larder_replay small --write` made. A change of
// policy that changes them is either a mistake or a new table with a reason.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "policy/budget.hpp"
#include "policy/sample.hpp"

namespace larder::policy {
namespace {

struct Record {
  std::uint64_t key;
  std::uint32_t size_bytes;
  std::uint32_t cost_us;
};

std::vector<Record> small_trace() {
  std::ifstream file(LARDER_POLICY_TESTDATA "/small.ct16", std::ios::binary);
  std::vector<Record> records;
  for (Record record{}; file.read(reinterpret_cast<char*>(&record), sizeof record);)
    records.push_back(record);
  return records;
}

std::size_t misses(Kind kind, std::uint64_t bytes_max, const std::vector<Record>& records) {
  Budget budget({.limits = {.bytes = bytes_max}, .policy = kind});
  std::unordered_map<std::uint64_t, Id> ids;
  std::vector<std::uint64_t> key_of;
  std::size_t missed = 0;
  for (const Record& record : records) {
    if (const auto found = ids.find(record.key); found != ids.end()) {
      budget.touch(found->second);
      continue;
    }
    ++missed;
    Id id = static_cast<Id>(key_of.size());
    for (Id out; (out = budget.victim({record.size_bytes, 1})) != kNoId; id = out) {
      budget.evict(out);
      ids.erase(key_of[out]);
    }
    if (id == key_of.size()) key_of.emplace_back();
    key_of[id] = record.key;
    ids[record.key] = id;
    budget.insert(id, {.key = mix(record.key),
                       .weight = record.size_bytes,
                       .cost = std::uint64_t{record.cost_us} * 1000,
                       .group = record.key >> 60});
  }
  return missed;
}

struct Golden {
  Kind kind;
  std::array<std::size_t, 3> missed;  // at 30000, 150000 and 450000 bytes
  double tolerance = 0;               // where floating point decides: other machines round otherwise
};

constexpr Golden kGolden[] = {
    {Kind::round_robin, {8129, 5211, 3060}},      {Kind::lru, {7855, 6115, 3114}},
    {Kind::lru_vector, {7855, 6115, 3114}},       {Kind::clock, {7815, 6040, 2414}},
    {Kind::grouped, {7995, 6213, 4060}},          {Kind::sieve, {7166, 5318, 1935}},
    {Kind::s3fifo, {7120, 5605, 2087}},           {Kind::gdsf, {7602, 5549, 3028}, 0.005},
    {Kind::gdsf_size, {7093, 4832, 1993}, 0.005}, {Kind::sampled, {7435, 5216, 2498}, 0.005},
    {Kind::adaptive, {7459, 5373, 2991}, 0.02},
};

TEST(Golden, MissCountsAreAsTheyWere) {
  const std::vector<Record> records = small_trace();
  ASSERT_EQ(records.size(), 9900U);
  ASSERT_EQ(std::size(kGolden), kinds().size());
  constexpr std::array<std::uint64_t, 3> kBytesMax = {30000, 150000, 450000};
  for (const Golden& golden : kGolden) {
    for (std::size_t i = 0; i < kBytesMax.size(); ++i) {
      const std::size_t missed = misses(golden.kind, kBytesMax[i], records);
      EXPECT_NEAR(static_cast<double>(missed), static_cast<double>(golden.missed[i]),
                  static_cast<double>(golden.missed[i]) * golden.tolerance)
          << name(golden.kind) << " with " << kBytesMax[i] << " bytes";
    }
  }
}

}  // namespace
}  // namespace larder::policy
