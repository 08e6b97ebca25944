// Shadows play the tier's requests again, each with another score, on a sample of the keys and with that
// share of the room, and count the cost that each would have missed. They keep no products: a few thousand
// records of a hundred bytes at most. The same records teach Odds, since they follow an entry past its
// eviction. One thread at a time.
//
// Sampling is by hash, so that all requests for a key are seen or none, and a cache with that share of the
// room behaves as the whole would. It begins with every key and halves each time the records run out.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "policy/odds.hpp"
#include "policy/places.hpp"
#include "policy/policy.hpp"
#include "policy/sample.hpp"
#include "policy/scores.hpp"

namespace larder::policy {

class Shadows {
 public:
  using Watch = std::uint32_t;  // the number of a record
  static constexpr Watch kNoWatch = 0xffffffff;

  Shadows(std::uint64_t seed, Limits limits) : limits_(limits), random_(seed) {}

  // The tier was asked for an entry that it did not have, and took it in as `id`. kNoWatch when its key is no
  // part of the sample; else the number to name it by until it left or forgotten() gives its id.
  Watch inserted(Id id, const Entry& entry, const Facts& facts, Tick now);
  void used(Watch watch, Tick when, std::uint32_t uses, Tick now);
  void reweighed(Watch watch, std::uint64_t weight, std::uint64_t cost);
  void left(Watch watch) { records_[watch].id = kNoId; }
  // Ids whose watches ended though they did not leave; the caller empties it after each call above.
  std::vector<Id>& forgotten() noexcept { return forgotten_; }

  Score best() const noexcept { return best_; }
  const Odds& odds() const noexcept { return odds_; }
  void resize(Limits limits) { limits_ = limits; }
  std::size_t memory_bytes() const noexcept;

 private:
  static constexpr std::size_t kRecordsMax = 4096;
  static constexpr std::size_t kShadows = kScores.size();
  static constexpr std::uint32_t kOutside = 0xffffffff;

  struct Record {
    std::uint64_t key = 0;
    std::uint64_t weight = 0;
    Facts facts;
    float cost = 0;
    Id id = kNoId;                              // in the tier
    std::array<std::uint32_t, kShadows> place;  // in each shadow, kOutside for none
  };
  struct Shadow {
    Sample kept;
    std::uint64_t bytes = 0;
    double missed = 0;  // cost, the older the less
  };

  auto key_at() const {
    return [this](Watch watch) { return records_[watch].key; };
  }
  bool is_watched(std::uint64_t key) const noexcept;
  bool is_outside(const Record& record) const noexcept;
  Watch take_record(std::uint64_t key);
  void make_room_for_records();
  void drop_record(Watch watch);
  void make_records_free(Tick now);
  void play(Watch watch, bool is_first, Tick now);
  void leave(std::size_t shadow, Watch watch);
  void count_event(Tick now);

  Limits limits_;
  Random random_;
  unsigned halvings_ = 0;  // of the share of keys that are watched
  std::vector<Record> records_;
  std::size_t room_ = 0;  // for so many records, in all that follows them
  std::vector<Watch> free_;
  Places index_;
  std::size_t watched_ = 0;
  std::size_t tidy_at_ = 256;
  std::array<Shadow, kShadows> shadows_;
  std::vector<Id> drawn_;
  std::vector<Id> forgotten_;
  Odds odds_;
  Score best_ = Score::odds;
  double now_counts_ =
      1;  // what a missed nanosecond counts now; grows, instead of all that was counted shrinking
  std::uint64_t events_ = 0;
  std::uint64_t learn_at_ = 64;
};

}  // namespace larder::policy
