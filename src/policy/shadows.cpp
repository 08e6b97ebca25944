#include "policy/shadows.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace larder::policy {
namespace {

constexpr std::size_t kShadowSamples = 16;
// A missed cost counts half after 2,300 more requests of watched keys.
constexpr double kGrowth = 1.0003;
constexpr std::uint64_t kChooseEvery = 64;
// Learning looks at every record and computes a table; so many requests pay for it. Sooner in the beginning.
constexpr std::uint64_t kLearnEvery = 1024;
// Another score must have missed so much less before it is followed.
constexpr double kMargin = 0.99;

}  // namespace

bool Shadows::is_watched(std::uint64_t key) const noexcept {
  return (mix(key) >> 20 & ((std::uint64_t{1} << halvings_) - 1)) == 0;
}

bool Shadows::is_outside(const Record& record) const noexcept {
  return record.id == kNoId && std::all_of(record.place.begin(), record.place.end(),
                                           [](std::uint32_t at) { return at == kOutside; });
}

Shadows::Watch Shadows::inserted(Id id, const Entry& entry, const Facts& facts, Tick now) {
  if (!is_watched(entry.key)) return kNoWatch;
  Watch watch = index_.find(entry.key, key_at());
  const bool is_first = watch == kNoWatch;
  if (is_first) {
    if (watched_ >= tidy_at_) make_records_free(now);
    if (!is_watched(entry.key)) return kNoWatch;
    watch = take_record(entry.key);
    records_[watch].facts = facts;
  } else {
    Facts& known = records_[watch].facts;
    if (facts.last > known.last) odds_.used(Odds::class_of(known.uses, known.pause), facts.last - known.last);
    known.used(facts.last, 1);
  }
  records_[watch].id = id;
  reweighed(watch, entry.weight, entry.cost);
  try {
    play(watch, is_first, now);
  } catch (const std::bad_alloc&) {  // then a shadow misses it; who stands in the record must know of it
  }
  return watch;
}

void Shadows::used(Watch watch, Tick when, std::uint32_t uses, Tick now) {
  Facts& known = records_[watch].facts;
  if (when > known.last) odds_.used(Odds::class_of(known.uses, known.pause), when - known.last);
  known.used(when, uses);
  play(watch, false, now);
}

void Shadows::reweighed(Watch watch, std::uint64_t weight, std::uint64_t cost) {
  Record& record = records_[watch];
  for (std::size_t i = 0; i < kShadows; ++i) {
    if (record.place[i] != kOutside) shadows_[i].bytes += weight - record.weight;
  }
  record.weight = weight;
  record.cost = static_cast<float>(std::max<std::uint64_t>(cost, 1));
  record.facts.density = density(weight, cost);
}

Shadows::Watch Shadows::take_record(std::uint64_t key) {
  if (free_.empty()) {
    if (records_.size() == room_) make_room_for_records();
    records_.emplace_back();
    free_.push_back(static_cast<Watch>(records_.size() - 1));
  }
  const Watch watch = free_.back();
  free_.pop_back();
  index_.insert(key, watch, key_at());
  records_[watch] = {};
  records_[watch].key = key;
  records_[watch].place.fill(kOutside);
  ++watched_;
  return watch;
}

// For twice as many, in every array that must not need memory later. All or nothing.
void Shadows::make_room_for_records() {
  const std::size_t room = std::max<std::size_t>(64, 2 * room_);
  records_.reserve(room);
  free_.reserve(room);
  forgotten_.reserve(room);
  Places index;
  index.reset(room);
  for (Watch watch = 0; watch < records_.size(); ++watch) index.insert(records_[watch].key, watch, key_at());
  index_ = std::move(index);
  room_ = room;
}

void Shadows::drop_record(Watch watch) {
  Record& record = records_[watch];
  for (std::size_t i = 0; i < kShadows; ++i) {
    if (record.place[i] != kOutside) leave(i, watch);
  }
  if (record.id != kNoId) forgotten_.push_back(record.id);
  index_.remove(record.key, key_at());
  free_.push_back(watch);
  --watched_;
}

// Gives up the older half of those that neither the tier nor a shadow keeps; where they are few, half of all
// keys.
void Shadows::make_records_free(Tick now) {
  std::vector<bool> is_free(records_.size());
  for (const Watch watch : free_) is_free[watch] = true;
  std::vector<Watch> outside;
  for (Watch watch = 0; watch < records_.size(); ++watch) {
    if (!is_free[watch] && is_outside(records_[watch])) outside.push_back(watch);
  }
  if (outside.size() >= watched_ / 4) {
    const auto middle = outside.begin() + static_cast<std::ptrdiff_t>(outside.size() / 2);
    std::nth_element(outside.begin(), middle, outside.end(),
                     [this](Watch a, Watch b) { return records_[a].facts.last < records_[b].facts.last; });
    std::for_each(outside.begin(), middle, [&](Watch watch) {
      const Facts& facts = records_[watch].facts;
      odds_.given_up(Odds::class_of(facts.uses, facts.pause), now - facts.last + 1);
      drop_record(watch);
    });
  } else if (watched_ >= kRecordsMax) {
    ++halvings_;
    for (Watch watch = 0; watch < records_.size(); ++watch) {
      if (!is_free[watch] && !is_watched(records_[watch].key)) drop_record(watch);
    }
  }
  std::size_t kept = 0;
  for (const Shadow& shadow : shadows_) kept = std::max(kept, shadow.kept.size());
  tidy_at_ = std::min(kRecordsMax, std::max(4 * kept + 256, watched_ + watched_ / 4));
}

// The request as each shadow sees it. What is asked for the first time no score could have spared: it does
// not count.
void Shadows::play(Watch watch, bool is_first, Tick now) {
  const Record& record = records_[watch];
  const std::uint64_t bytes_max = limits_.bytes >> halvings_;
  const std::uint64_t entries_max = limits_.entries >> halvings_;
  for (std::size_t i = 0; i < kShadows; ++i) {
    if (record.place[i] != kOutside) continue;
    Shadow& shadow = shadows_[i];
    if (!is_first) shadow.missed += static_cast<double>(record.cost) * now_counts_;
    if (limits_.bytes != 0 && record.weight > bytes_max) continue;
    while (shadow.kept.size() > 0 && ((limits_.bytes != 0 && shadow.bytes + record.weight > bytes_max) ||
                                      (limits_.entries != 0 && shadow.kept.size() >= entries_max))) {
      shadow.kept.draw(kShadowSamples, random_, drawn_);
      Watch worst = drawn_.front();
      float highest = -1;
      for (const Watch drawn : drawn_) {
        const float one = score(kScores[i], records_[drawn].facts, now, odds_);
        if (one > highest) {
          highest = one;
          worst = drawn;
        }
      }
      leave(i, worst);
    }
    records_[watch].place[i] = shadow.kept.insert(watch);
    shadow.bytes += record.weight;
  }
  count_event(now);
}

void Shadows::leave(std::size_t shadow, Watch watch) {
  const std::uint32_t place = records_[watch].place[shadow];
  const Watch moved = shadows_[shadow].kept.remove(place);
  if (moved != kNoId) records_[moved].place[shadow] = place;
  records_[watch].place[shadow] = kOutside;
  shadows_[shadow].bytes -= records_[watch].weight;
}

void Shadows::count_event(Tick now) {
  now_counts_ *= kGrowth;
  if (now_counts_ > 1e60) {
    for (Shadow& shadow : shadows_) shadow.missed /= now_counts_;
    now_counts_ = 1;
  }
  if (++events_ % kChooseEvery == 0) {
    double least = kMargin * shadows_[static_cast<std::size_t>(best_)].missed;
    for (std::size_t i = 0; i < kShadows; ++i) {
      if (shadows_[i].missed >= least) continue;
      least = shadows_[i].missed;
      best_ = kScores[i];
    }
  }
  if (events_ < learn_at_) return;
  learn_at_ = events_ + std::max<std::uint64_t>(std::min(events_, kLearnEvery), watched_);
  odds_.learn([&](auto tell) {
    std::vector<bool> is_free(records_.size());
    for (const Watch watch : free_) is_free[watch] = true;
    for (Watch watch = 0; watch < records_.size(); ++watch) {
      const Facts& facts = records_[watch].facts;
      if (!is_free[watch]) tell(Odds::class_of(facts.uses, facts.pause), now - facts.last + 1);
    }
  });
}

std::size_t Shadows::memory_bytes() const noexcept {
  std::size_t bytes = records_.capacity() * sizeof(Record) + free_.capacity() * sizeof(Watch) +
                      index_.memory_bytes() + odds_.memory_bytes() + forgotten_.capacity() * sizeof(Id);
  for (const Shadow& shadow : shadows_) bytes += shadow.kept.memory_bytes();
  return bytes;
}

}  // namespace larder::policy
