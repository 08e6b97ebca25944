// The harness runs one design in one process: it fills it, then answers `trial` commands on standard input
// with one JSON line each, so that a driver can let many designs take turns. A design is a class
//
//   using Asked = ...;                                  what a caller holds to ask with
//   explicit Design(std::size_t capacity);              holds at most so many entries
//   std::vector<Asked> make_keys(std::size_t count);
//   void insert(const Asked& key, std::uint32_t index); makes Value(index); evicts when full
//   bool hit(const Asked& key, auto&& use);             calls use(const Value&), or returns false
//   std::size_t size() const;
//
// insert and hit are called by up to kThreadsMax threads at once. A design that answers many keys in one call
// has `void hit_many(std::span<const Asked* const> keys, auto&& use)` instead of hit, and use is called in
// order.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/memory/workload.hpp"

namespace larder::bench {

// What a pass over some operations does beside looking up.
struct Shape {
  bool dependent = false;  // each index waits for the value before it
  bool inserts = false;    // one operation in kInsertEvery inserts a cold key
};

// One thread's place in its stream. Only its own thread touches it.
struct alignas(128) Cursor {
  std::span<const std::uint32_t> stream;
  std::size_t position = 0;
  std::size_t until_insert = kInsertEvery;
  std::uint32_t cold_first = 0;  // this thread's share of the cold keys
  std::uint32_t cold_count = 0;
  std::uint32_t cold_next = 0;
  std::uint64_t refills = 0;  // popular keys that had been evicted and were put back
  std::uint64_t checksum = 0;
};

// The face of a filled design that the trial loop sees; called once per some thousand operations.
class Bench {
 public:
  virtual ~Bench() = default;
  virtual void make_keys() = 0;
  virtual void fill() = 0;
  virtual std::size_t size() const = 0;
  // How many of the popular keys are held; ends the program when one answers with another's value.
  virtual std::size_t check() = 0;
  virtual void pass(const Shape& shape, Cursor& cursor, std::size_t operations) = 0;
};

template <class Design>
class BenchOf final : public Bench {
 public:
  static constexpr bool kBatched =
      requires(Design & design, std::span<const typename Design::Asked* const> keys) {
    design.hit_many(keys, [](const Value&) {});
  };

  explicit BenchOf(std::size_t entries)
      : entries_(entries), design_(std::make_unique<Design>(capacity_for(entries))) {}

  void make_keys() override { keys_ = design_->make_keys(entries_ + cold_keys_for(entries_)); }
  void fill() override {
    for (std::size_t i = 0; i < capacity_for(entries_); ++i)
      design_->insert(keys_[i], static_cast<std::uint32_t>(i));
  }
  std::size_t size() const override { return design_->size(); }
  std::size_t check() override;
  void pass(const Shape& shape, Cursor& cursor, std::size_t operations) override;

 private:
  static constexpr std::size_t kBatch = 16;

  template <bool kDependent, bool kInserts>
  void walk(Cursor& cursor, std::size_t operations);
  void walk_batched(Cursor& cursor, std::size_t operations);

  std::size_t entries_;
  std::vector<typename Design::Asked> keys_;
  std::unique_ptr<Design> design_;
};

template <class Design>
std::size_t BenchOf<Design>::check() {
  std::size_t held = 0;
  std::uint32_t expected = 0;
  const auto use = [&](const Value& value) {
    if (value.index() != expected || value.touch() != 0) {
      std::fprintf(stderr, "key %u was answered with value %u\n", expected, value.index());
      std::exit(3);
    }
    ++held;
  };
  for (; expected < entries_; ++expected) {
    if constexpr (kBatched) {
      const auto* key = &keys_[expected];
      design_->hit_many(std::span(&key, 1), use);
    } else {
      design_->hit(keys_[expected], use);
    }
  }
  return held;
}

template <class Design>
void BenchOf<Design>::pass(const Shape& shape, Cursor& cursor, std::size_t operations) {
  if constexpr (kBatched) {
    walk_batched(cursor, operations);
  } else if (shape.dependent) {
    shape.inserts ? walk<true, true>(cursor, operations) : walk<true, false>(cursor, operations);
  } else {
    shape.inserts ? walk<false, true>(cursor, operations) : walk<false, false>(cursor, operations);
  }
}

template <class Design>
template <bool kDependent, bool kInserts>
void BenchOf<Design>::walk(Cursor& cursor, std::size_t operations) {
  Design& design = *design_;
  std::uint64_t link = 0;
  std::uint64_t checksum = 0;
  const auto use = [&](const Value& value) {
    if constexpr (kDependent) {
      link = value.touch();
    } else {
      checksum += value.touch();
    }
  };
  while (operations > 0) {
    const std::size_t run = std::min(operations, cursor.stream.size() - cursor.position);
    for (const std::uint32_t next : cursor.stream.subspan(cursor.position, run)) {
      if constexpr (kInserts) {
        if (--cursor.until_insert == 0) {
          cursor.until_insert = kInsertEvery;
          const std::uint32_t cold = cursor.cold_first + cursor.cold_next;
          if (++cursor.cold_next == cursor.cold_count) cursor.cold_next = 0;
          design.insert(keys_[cold], cold);
          continue;
        }
      }
      const std::size_t index = next + (kDependent ? link : 0);
      if (!design.hit(keys_[index], use)) [[unlikely]] {
        design.insert(keys_[index], static_cast<std::uint32_t>(index));
        ++cursor.refills;
      }
    }
    operations -= run;
    cursor.position = (cursor.position + run) % cursor.stream.size();
  }
  cursor.checksum += checksum + link;
}

template <class Design>
void BenchOf<Design>::walk_batched(Cursor& cursor, std::size_t operations) {
  std::uint64_t checksum = 0;
  const auto use = [&](const Value& value) { checksum += value.touch(); };
  if constexpr (kBatched) {
    std::array<const typename Design::Asked*, kBatch> batch;
    for (; operations >= kBatch; operations -= kBatch) {
      if (cursor.position + kBatch > cursor.stream.size()) cursor.position = 0;
      for (std::size_t i = 0; i < kBatch; ++i) batch[i] = &keys_[cursor.stream[cursor.position + i]];
      design_->hit_many(std::span<const typename Design::Asked* const>(batch), use);
      cursor.position += kBatch;
    }
  }
  cursor.checksum += checksum;
}

// One way to build a design: how it is keyed and how its hits are held, as they stand on the command line.
struct Form {
  std::string key;
  std::string hold;
  bool is_batched = false;  // does independent hits only: no dependent walk, no inserts
  std::function<std::unique_ptr<Bench>(std::size_t entries)> open;
};

template <class Design>
Form form(std::string key, std::string hold) {
  return {std::move(key), std::move(hold), BenchOf<Design>::kBatched,
          [](std::size_t entries) { return std::make_unique<BenchOf<Design>>(entries); }};
}

// `PROGRAM --list` prints the forms, one `design TAB key TAB hold [TAB batched]` a line; `PROGRAM KEY HOLD
// ENTRIES STREAM` runs one of them.
int run_design(const std::string& design, const std::vector<Form>& forms, int argc, char** argv);

}  // namespace larder::bench
