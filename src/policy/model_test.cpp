// Each policy against the simplest program that does what its header says: no links, no heaps, no sharing.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <vector>

#include "policy/adaptive.hpp"
#include "policy/kind.hpp"
#include "policy/sample.hpp"

namespace larder::policy {
namespace {

// What the models know of an entry; each reads what it needs.
struct Naive {
  Id id = kNoId;
  Entry entry;
  Tick inserted = 0;
  Tick last = 0;
  Tick pause = 0;
  std::uint32_t uses = 1;
  bool bit = false;
  double worth = 0;
};

class Model {
 public:
  virtual ~Model() = default;
  virtual void insert(const Naive& one) { all_.push_back(one); }
  virtual void touch(Naive& one) = 0;
  virtual void removed(const Naive&, Departure) {}
  // Whether `id` is who should leave.
  virtual bool accepts(Id id) = 0;

  Naive& at(Id id) {
    return *std::find_if(all_.begin(), all_.end(), [&](const Naive& one) { return one.id == id; });
  }
  void remove(Id id, Departure departure) {
    removed(at(id), departure);
    std::erase_if(all_, [&](const Naive& one) { return one.id == id; });
  }

 protected:
  std::vector<Naive> all_;  // oldest insert first
};

// Plays the same random calls to both and compares who should leave.
void compare(Policy& policy, Model& model, std::uint64_t seed, std::size_t entries_max,
             bool equal_weights = false) {
  Random random(seed);
  std::vector<Id> present;
  std::vector<Id> free;
  for (Id id = 0; id < entries_max; ++id) free.push_back(id);
  std::uint64_t key = 0;
  for (int step = 0; step < 4000; ++step) {
    const std::uint32_t what = random.next(std::size_t{10});
    if (what < 4 && !free.empty()) {
      const Id id = free[random.next(free.size())];
      std::erase(free, id);
      key = random.next(std::size_t{4}) == 0 ? random.next(key + 1) : key + 1;
      for (const Id other : present) key += model.at(other).entry.key == mix(key) ? 100000 : 0;
      Naive one;
      one.id = id;
      one.entry = {.key = mix(key),
                   .weight = equal_weights ? 1 : 1 + random.next(std::size_t{50}),
                   .cost = 1 + random.next(std::size_t{100000}),
                   .group = random.next(std::size_t{5})};
      policy.insert(id, one.entry);
      one.inserted = one.last = policy.now();
      model.insert(one);
      present.push_back(id);
    } else if (what < 8 && !present.empty()) {
      const Id id = present[random.next(present.size())];
      Touch touch;
      if (random.next(std::size_t{4}) == 0) touch.group = random.next(std::size_t{5});
      policy.touch(id, touch);
      Naive& one = model.at(id);
      if (touch.group != Touch::kSameGroup) one.entry.group = touch.group;
      one.pause = policy.now() - one.last;
      one.last = policy.now();
      ++one.uses;
      model.touch(one);
    } else if (!present.empty()) {
      const bool evict = what == 8 || free.empty();
      const Id id = evict ? policy.victim() : present[random.next(present.size())];
      if (evict) {
        ASSERT_TRUE(model.accepts(id)) << "seed " << seed << ", step " << step << ", named " << id;
      }
      policy.remove(id, evict ? Departure::evicted : Departure::erased);
      model.remove(id, evict ? Departure::evicted : Departure::erased);
      std::erase(present, id);
      free.push_back(id);
    }
  }
}

template <typename MakeModel>
void compare_all(Kind kind, std::size_t entries_max, MakeModel make_model, Limits limits = {}) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto policy = make(kind, {.seed = seed, .limits = limits});
    auto model = make_model(*policy);
    compare(*policy, model, seed, entries_max);
    if (testing::Test::HasFatalFailure()) return;
  }
}

struct OldestInsert : Model {
  void touch(Naive&) override {}
  bool accepts(Id id) override { return all_.front().id == id; }
};

struct OldestUse : Model {
  void touch(Naive&) override {}
  bool accepts(Id id) override {
    return std::min_element(all_.begin(), all_.end(), [](auto& a, auto& b) { return a.last < b.last; })->id ==
           id;
  }
};

TEST(Model, RoundRobinLetsTheOldestInsertGo) {
  compare_all(Kind::round_robin, 30, [](Policy&) { return OldestInsert(); });
}
TEST(Model, LruLetsTheOldestUseGo) {
  compare_all(Kind::lru, 30, [](Policy&) { return OldestUse(); });
}
TEST(Model, LruVectorLetsTheOldestUseGo) {
  compare_all(Kind::lru_vector, 30, [](Policy&) { return OldestUse(); });
}

// Lines of a fixed number, as the owner fills them: the line freed last first.
struct Lines : Model {
  std::vector<Id> line;
  std::vector<bool> used;
  std::vector<std::size_t> free;
  std::size_t next = 0;

  void insert(const Naive& one) override {
    Model::insert(one);
    if (free.empty()) {
      free.push_back(line.size());
      line.push_back(kNoId);
      used.push_back(false);
    }
    line[free.back()] = one.id;
    used[free.back()] = false;
    free.pop_back();
  }
  std::size_t of(Id id) {
    return static_cast<std::size_t>(std::find(line.begin(), line.end(), id) - line.begin());
  }
  void touch(Naive& one) override { used[of(one.id)] = true; }
  bool accepts(Id id) override {
    while (line[next] == kNoId || used[next]) {
      used[next] = false;
      next = (next + 1) % line.size();
    }
    return line[next] == id;
  }
  void removed(const Naive& one, Departure departure) override {
    const std::size_t at = of(one.id);
    line[at] = kNoId;
    free.push_back(at);
    if (departure == Departure::evicted) next = (at + 1) % line.size();
  }
};

TEST(Model, ClockTakesTheNextLineWhoseBitIsClear) {
  compare_all(Kind::clock, 30, [](Policy&) { return Lines(); });
}

// A group's time is that of the last entry that came into it or was used in it, while it holds any.
struct Groups : Model {
  std::map<std::uint64_t, Tick> last_of;

  void tidy() {
    std::erase_if(last_of, [&](const auto& group) {
      return std::none_of(all_.begin(), all_.end(),
                          [&](auto& one) { return one.entry.group == group.first; });
    });
  }
  void insert(const Naive& one) override {
    Model::insert(one);
    last_of[one.entry.group] = one.last;
  }
  void touch(Naive& one) override {
    last_of[one.entry.group] = one.last;
    tidy();
  }
  bool accepts(Id id) override {
    tidy();
    const auto oldest = std::min_element(last_of.begin(), last_of.end(),
                                         [](auto& a, auto& b) { return a.second < b.second; });
    const Naive* newest = nullptr;
    for (const Naive& one : all_) {
      if (one.entry.group == oldest->first && (newest == nullptr || one.last > newest->last)) newest = &one;
    }
    return newest->id == id;
  }
};

TEST(Model, GroupedLetsTheNewestOfTheOldestGroupGo) {
  compare_all(Kind::grouped, 30, [](Policy&) { return Groups(); });
}

// The hand is the insert time of the entry that it will look at, so that removals cannot lose it; past the
// newest it begins again.
struct Sifted : Model {
  Tick hand = 0;

  void touch(Naive& one) override { one.bit = true; }
  bool accepts(Id id) override {
    for (;;) {
      auto at = std::find_if(all_.begin(), all_.end(), [&](auto& one) { return one.inserted >= hand; });
      if (at == all_.end()) at = all_.begin();
      hand = at->inserted;
      if (!at->bit) return at->id == id;
      at->bit = false;
      hand = at->inserted == all_.back().inserted ? 0 : at->inserted + 1;
    }
  }
  void removed(const Naive& leaving, Departure) override {
    if (std::none_of(all_.begin(), all_.end(),
                     [&](auto& one) { return one.inserted >= hand && one.id != leaving.id; })) {
      hand = 0;
    }
  }
};

TEST(Model, SieveSiftsInOrderOfInsertion) {
  compare_all(Kind::sieve, 30, [](Policy&) { return Sifted(); });
}

// Queues of ids and a queue of keys, for entries of weight 1.
struct Queues : Model {
  explicit Queues(std::size_t room_for) : room(room_for) {}
  std::size_t room;
  std::deque<Id> small, main;  // oldest first
  std::deque<std::uint64_t> left;
  std::map<Id, int> uses;

  void insert(const Naive& one) override {
    Model::insert(one);
    uses[one.id] = 0;
    const auto known = std::find(left.begin(), left.end(), one.entry.key);
    if (known == left.end()) return small.push_back(one.id);
    left.erase(known);
    main.push_back(one.id);
  }
  void touch(Naive& one) override { uses[one.id] = std::min(3, uses[one.id] + 1); }
  bool accepts(Id id) override {
    if (main.size() <= room - room / 10) {
      while (!small.empty()) {
        const Id oldest = small.front();
        if (uses[oldest] < 2) return oldest == id;
        small.pop_front();
        main.push_back(oldest);
        uses[oldest] = 0;
      }
    }
    while (uses[main.front()] > 0) {
      --uses[main.front()];
      main.push_back(main.front());
      main.pop_front();
    }
    return main.front() == id;
  }
  void removed(const Naive& one, Departure departure) override {
    const bool was_small = std::find(small.begin(), small.end(), one.id) != small.end();
    std::erase(small, one.id);
    std::erase(main, one.id);
    if (!was_small || departure == Departure::erased) return;
    std::erase(left, one.entry.key);
    left.push_back(one.entry.key);
  }
};

TEST(Model, S3FifoMovesBetweenItsQueues) {
  // The policy forgets keys by how many left, those taken back included; room enough that none is forgotten
  // here.
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto policy = make(Kind::s3fifo, {.seed = 1, .limits = {.bytes = 0, .entries = 4000}});
    Queues model(4000);
    compare(*policy, model, seed, 30, true);
    if (HasFatalFailure()) return;
  }
}

struct LeastWorth : Model {
  explicit LeastWorth(bool costs) : with_cost(costs) {}
  bool with_cost;
  double of_last = 0;

  double worth(const Naive& one) const {
    return of_last + one.uses * (with_cost ? static_cast<double>(one.entry.cost) : 1.0) /
                         static_cast<double>(one.entry.weight);
  }
  void insert(const Naive& one) override {
    Model::insert(one);
    all_.back().worth = worth(one);
  }
  void touch(Naive& one) override { one.worth = worth(one); }
  bool accepts(Id id) override {
    const double named = at(id).worth;
    return std::all_of(all_.begin(), all_.end(),
                       [&](auto& one) { return one.worth >= named - 1e-9 * named; });
  }
  void removed(const Naive& one, Departure departure) override {
    if (departure == Departure::evicted) of_last = std::max(of_last, one.worth);
  }
};

TEST(Model, GdsfLetsTheLeastWorthGo) {
  compare_all(Kind::gdsf, 40, [](Policy&) { return LeastWorth(true); });
}
TEST(Model, GdsfWithoutCostLetsTheLeastWorthGo) {
  compare_all(Kind::gdsf_size, 40, [](Policy&) { return LeastWorth(false); });
}

// As few entries as the sample: all are looked at.
struct HighestScore : Model {
  explicit HighestScore(Policy& policy, const Adaptive* adapts = nullptr)
      : policy_(policy), adaptive_(adapts) {}

  void touch(Naive&) override {}
  double score_of(const Naive& one) const {
    const auto age = static_cast<double>(policy_.now() - one.last + 1);
    const double density = static_cast<double>(one.entry.weight) / static_cast<double>(one.entry.cost);
    switch (adaptive_ == nullptr ? Score::frequency : adaptive_->current()) {
      case Score::age:
        return age;
      case Score::density:
        return age * density;
      case Score::frequency:
        return age * density / one.uses;
      case Score::odds:
        break;
    }
    return density / static_cast<double>(adaptive_->odds().worth(Odds::class_of(one.uses, one.pause),
                                                                 policy_.now() - one.last + 1));
  }
  bool accepts(Id id) override {
    const double named = score_of(at(id));
    return std::all_of(all_.begin(), all_.end(),
                       [&](auto& one) { return score_of(one) <= named * (1 + 1e-5); });
  }

 private:
  Policy& policy_;
  const Adaptive* adaptive_;
};

TEST(Model, SampledLetsTheHighestScoreGoWhenItSeesAll) {
  compare_all(Kind::sampled, 16, [](Policy& policy) { return HighestScore(policy); });
}

TEST(Model, AdaptiveLetsTheHighestScoreGoWhenItSeesAll) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Adaptive policy(seed, {.bytes = 300, .entries = 0});
    HighestScore model(policy, &policy);
    compare(policy, model, seed, 32);
    if (HasFatalFailure()) return;
  }
}

// A touch told late names the same victim as one told at once, where all are seen and scores only get better
// by use.
TEST(Model, SecondLooksEndWithTheVictimThatAllNewsAtOnceWouldName) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const auto told = make(Kind::sampled, {.seed = seed, .limits = {}});
    const auto late = make(Kind::sampled, {.seed = seed, .limits = {}});
    Random random(seed);
    for (Id id = 0; id < 200; ++id) {
      const Entry entry{.key = mix(id),
                        .weight = 1 + random.next(std::size_t{99}),
                        .cost = 1 + random.next(std::size_t{999}),
                        .group = 0};
      told->insert(id, entry);
      late->insert(id, entry);
    }
    std::map<Id, Touch> news;
    for (int i = 0; i < 150; ++i) {
      Touch& touch = news[random.next(std::size_t{200})];
      touch.uses = touch.when == kNow ? 1 : touch.uses + 1;
      touch.when = 200;
    }
    for (const auto& [id, touch] : news) told->touch(id, touch);
    Id id = late->victim();
    for (; news.contains(id); id = late->victim()) {
      late->touch(id, news[id]);
      news.erase(id);
    }
    EXPECT_EQ(id, told->victim()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace larder::policy
