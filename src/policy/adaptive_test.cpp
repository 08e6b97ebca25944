#include "policy/adaptive.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <unordered_map>

#include "policy/budget.hpp"
#include "policy/sample.hpp"

namespace larder::policy {
namespace {

struct Request {
  std::uint64_t key;
  std::uint64_t weight = 1;
  std::uint64_t cost = 1;
  bool is_cheap = false;
};

// The cost that had to be paid.
template <typename Requests>
double missed_cost(Kind kind, std::uint64_t bytes, std::size_t count, Requests request_at) {
  Budget budget({.limits = {.bytes = bytes}, .policy = kind});
  std::unordered_map<std::uint64_t, Id> ids;
  std::vector<std::uint64_t> key_of;
  std::vector<Id> free;
  double missed = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Request request = request_at(i);
    if (const auto found = ids.find(request.key); found != ids.end()) {
      budget.touch(found->second);
      continue;
    }
    missed += static_cast<double>(request.cost);
    for (Id id; (id = budget.victim({request.weight, 1})) != kNoId;) {
      budget.evict(id);
      ids.erase(key_of[id]);
      free.push_back(id);
    }
    if (free.empty()) {
      free.push_back(static_cast<Id>(key_of.size()));
      key_of.push_back(0);
    }
    const Id id = free.back();
    free.pop_back();
    key_of[id] = request.key;
    ids[request.key] = id;
    budget.insert(id, {.key = mix(request.key),
                       .weight = request.weight,
                       .cost = request.cost,
                       .group = 0,
                       .is_cheap = request.is_cheap});
  }
  return missed;
}

TEST(Adaptive, KeepsAPartOfALoopThatDoesNotFit) {
  const auto loop = [](std::size_t i) { return Request{.key = i % 1000}; };
  EXPECT_EQ(missed_cost(Kind::lru, 500, 40000, loop), 40000);
  EXPECT_LT(missed_cost(Kind::adaptive, 500, 40000, loop), 26000) << "nobody misses fewer than 20500";
}

TEST(Adaptive, KeepsWhatIsDear) {
  Random random(5);
  std::vector<Request> requests;
  for (int i = 0; i < 60000; ++i) {
    const std::uint64_t key = random.next(std::size_t{2000});
    requests.push_back({.key = key, .weight = 1 + key % 13, .cost = key % 10 == 0 ? 10000U : 10U});
  }
  const auto at = [&](std::size_t i) { return requests[i]; };
  EXPECT_LT(missed_cost(Kind::adaptive, 3000, requests.size(), at),
            0.25 * missed_cost(Kind::lru, 3000, requests.size(), at));
}

TEST(Adaptive, IsNoWorseThanLruWhereLruIsRight) {
  Random random(5);
  std::vector<std::uint64_t> stack;
  std::vector<Request> requests;
  for (std::uint64_t i = 0; i < 60000; ++i) {
    const auto depth =
        static_cast<std::size_t>(std::pow(5000.0, static_cast<double>(random.next(std::size_t{1000})) / 999));
    std::uint64_t key = i;
    if (depth <= stack.size() && random.next(std::size_t{20}) != 0) {
      key = stack[stack.size() - depth];
      stack.erase(stack.end() - static_cast<std::ptrdiff_t>(depth));
    }
    stack.push_back(key);
    requests.push_back({.key = key});
  }
  const auto at = [&](std::size_t i) { return requests[i]; };
  for (const std::uint64_t bytes : {30U, 300U, 1500U}) {
    EXPECT_LT(missed_cost(Kind::adaptive, bytes, requests.size(), at),
              1.02 * missed_cost(Kind::lru, bytes, requests.size(), at))
        << bytes;
  }
}

TEST(Adaptive, ServesACacheOfAHandfulOfEntries) {
  Random random(5);
  const auto skewed = [&](std::size_t) {
    return Request{.key = std::min(random.next(std::size_t{40}), random.next(std::size_t{40}))};
  };
  const double lru = missed_cost(Kind::lru, 8, 20000, skewed);
  random = Random(5);
  EXPECT_LT(missed_cost(Kind::adaptive, 8, 20000, skewed), lru);
}

// As a table of small objects is used: popular keys, and now and then one that nobody asks for again.
TEST(Adaptive, KeepsThePopularAmongWhatIsCheap) {
  Random random(5);
  std::vector<Request> requests;
  for (std::uint64_t i = 0; i < 400000; ++i) {
    const double rank = std::pow(1000.0, static_cast<double>(random.next(std::size_t{100000})) / 99999);
    const bool is_cold = i % 200 == 0;
    requests.push_back({.key = is_cold ? 100000 + i : static_cast<std::uint64_t>(rank), .is_cheap = true});
  }
  const auto at = [&](std::size_t i) { return requests[i]; };
  const double unavoidable = 1000 + 2000;
  const double adaptive = missed_cost(Kind::adaptive, 1125, requests.size(), at) - unavoidable;
  EXPECT_LT(adaptive, missed_cost(Kind::lru, 1125, requests.size(), at) - unavoidable);
  EXPECT_LT(adaptive, missed_cost(Kind::sampled, 1125, requests.size(), at) - unavoidable);
}

TEST(Adaptive, GuessesItsNextVictimAmongWhatIsCheap) {
  Adaptive policy(1, {.entries = 1000});
  for (Id id = 0; id < 1000; ++id) policy.insert(id, {.key = id, .weight = 1, .cost = 1, .is_cheap = true});
  int right = 0;
  for (Id id = 0; id < 500; ++id) {
    const auto likely = policy.likely();
    ASSERT_FALSE(likely.empty());
    const Id first = likely.front();
    const Id victim = policy.victim();
    right += first == victim ? 1 : 0;
    EXPECT_TRUE(policy.likely().empty());  // now that it is known
    policy.remove(victim, Departure::evicted);
    policy.insert(victim, {.key = 1000 + id, .weight = 1, .cost = 1, .is_cheap = true});
  }
  EXPECT_EQ(right, 500);
}

TEST(Adaptive, HoldsNoMoreRecordsHoweverManyKeysItSees) {
  Adaptive policy(1, {.bytes = 0, .entries = 20000});
  std::size_t after_half = 0;
  for (std::uint64_t key = 0; key < 200000; ++key) {
    const Id id = static_cast<Id>(key % 20000);
    if (policy.contains(id)) policy.remove(id, Departure::evicted);
    policy.insert(id, {.key = mix(key), .weight = 1, .cost = 1, .group = 0});
    if (key == 100000) after_half = policy.memory_bytes();
  }
  EXPECT_LE(policy.memory_bytes(), after_half + after_half / 10);
  EXPECT_LE(policy.memory_bytes(), 20000 * 64 + 1000000U);
}

TEST(Adaptive, AsksOnlyAboutWhatItsShadowsWatch) {
  Adaptive policy(1, {.bytes = 0, .entries = 50000});
  for (Id id = 0; id < 50000; ++id) policy.insert(id, {.key = mix(id), .weight = 1, .cost = 1, .group = 0});
  std::size_t asked = 0;
  for (int i = 0; i < 2000; ++i) {
    if (const Id id = policy.curious(); id != kNoId) {
      ASSERT_TRUE(policy.contains(id));
      ++asked;
    }
  }
  EXPECT_GT(asked, 500U);
}

}  // namespace
}  // namespace larder::policy
