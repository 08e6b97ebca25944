#include "events/histogram.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <thread>

#include "events/histogram_set.hpp"

namespace larder {
namespace {

double error_of(std::uint64_t said, std::uint64_t truth) {
  const double a = static_cast<double>(said);
  const double b = static_cast<double>(truth);
  return truth == 0 ? a : std::abs(a - b) / b;
}

TEST(Histogram, GivesEveryValueBackWithinTwoPercent) {
  for (unsigned bits = 0; bits < 64; ++bits) {
    for (const std::uint64_t offset : {0ull, 1ull, 3ull, 1234567ull}) {
      for (const std::uint64_t value : {(1ull << bits) + offset, (1ull << bits) - 1}) {
        Histogram one;
        one.record(value);
        EXPECT_LE(error_of(one.quantile(0.5), value), 0.02) << value;
      }
    }
  }
  Histogram greatest;
  greatest.record(~std::uint64_t{0});
  EXPECT_LE(error_of(greatest.quantile(1), ~std::uint64_t{0}), 0.02);
}

TEST(Histogram, GivesQuantilesWithinTwoPercentOfTheSortedValues) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> distribution(12, 3);
  Histogram histogram;
  std::vector<std::uint64_t> values;
  for (int i = 0; i < 20'000; ++i) {
    values.push_back(static_cast<std::uint64_t>(distribution(random)));
    histogram.record(values.back());
  }
  std::ranges::sort(values);
  for (const double q : {0.0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank = static_cast<std::size_t>(std::max(std::ceil(q * 20'000.0), 1.0));
    EXPECT_LE(error_of(histogram.quantile(q), values[rank - 1]), 0.02) << q;
  }
  EXPECT_EQ(histogram.count(), values.size());
}

TEST(Histogram, AnswersForNothingAndForSharesOutOfRange) {
  Histogram histogram;
  EXPECT_EQ(histogram.quantile(0.5), 0u);
  EXPECT_EQ(histogram.mean(), 0.0);
  histogram.record(10);
  histogram.record(20);
  EXPECT_EQ(histogram.quantile(-1), 10u);
  EXPECT_EQ(histogram.quantile(7), 20u);
  EXPECT_EQ(histogram.quantile(std::nan("")), 10u);
  EXPECT_EQ(histogram.mean(), 15.0);
}

TEST(Histogram, BucketsMeetWithoutGapOrOverlap) {
  Histogram histogram;
  for (unsigned bits = 0; bits < 64; ++bits) {
    for (std::uint64_t sub = 0; sub < 64; ++sub)
      histogram.record((1ull << bits) | (sub << (bits > 6 ? bits - 6 : 0)));
  }
  histogram.record(0);
  const auto buckets = histogram.buckets();
  EXPECT_EQ(buckets.size(), Histogram::kBuckets);
  EXPECT_EQ(buckets.front().lower, 0u);
  EXPECT_EQ(buckets.back().upper, ~std::uint64_t{0});
  for (std::size_t i = 1; i < buckets.size(); ++i) EXPECT_EQ(buckets[i].lower, buckets[i - 1].upper + 1);
}

RC_GTEST_PROP(Histogram, MergesToWhatOneWouldHaveRecorded,
              (const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b)) {
  Histogram left;
  Histogram right;
  Histogram both;
  for (const std::uint64_t value : a) left.record(value), both.record(value);
  for (const std::uint64_t value : b) right.record(value), both.record(value);
  Histogram merged = left;
  merged += right;
  RC_ASSERT(merged == both);
  right += left;
  RC_ASSERT(right == both);
}

TEST(Histogram, LosesNothingUnderEightThreads) {
  Histogram histogram;
  std::vector<std::jthread> threads;
  for (std::uint64_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < 5'000; ++i) histogram.record(t * 1'000 + i % 7);
    });
  }
  static_cast<void>(histogram.quantile(0.5));
  static_cast<void>(histogram.encode());
  threads.clear();
  EXPECT_EQ(histogram.count(), 40'000u);
}

Histogram sample() {
  Histogram histogram;
  for (const std::uint64_t value : {0ull, 1ull, 31ull, 32ull, 1000ull, 1000ull, 123456789ull, ~0ull}) {
    histogram.record(value);
  }
  histogram.record(5'000'000, 1'000'000'000'000ull);
  return histogram;
}

RC_GTEST_PROP(Histogram, ComesBackFromItsEncoding,
              (const std::vector<std::pair<std::uint64_t, std::uint32_t>>& records)) {
  Histogram histogram;
  for (const auto& [value, times] : records) histogram.record(value, times);
  const auto decoded = Histogram::decode(histogram.encode());
  RC_ASSERT(decoded.has_value());
  RC_ASSERT(*decoded == histogram);
}

TEST(Histogram, EncodesToTheGoldenBytes) {
  Histogram histogram;
  histogram.record(3);
  histogram.record(5, 300);
  EXPECT_EQ(Histogram{}.encode(), std::string("\x01\0\0", 3));
  EXPECT_EQ(histogram.encode(), std::string("\x01\xdf\x0b\x02\x03\x01\x01\xac\x02"));
}

TEST(Histogram, RefusesEveryTruncation) {
  const std::string whole = sample().encode();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(Histogram::decode(whole.substr(0, size))) << size;
  }
  EXPECT_FALSE(Histogram::decode(whole + '\0'));
}

TEST(Histogram, NeverTakesDamageForTheSameHistogram) {
  const Histogram histogram = sample();
  const std::string whole = histogram.encode();
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    const auto decoded = Histogram::decode(damaged);
    if (!decoded) continue;
    EXPECT_FALSE(*decoded == histogram) << bit;
    EXPECT_EQ(decoded->encode(), damaged) << bit;  // one histogram, one encoding
  }
}

TEST(Histogram, PrintsValuesForPeople) {
  EXPECT_EQ(to_text(0, Unit::bytes), "0 B");
  EXPECT_EQ(to_text(1023, Unit::bytes), "1023 B");
  EXPECT_EQ(to_text(1024, Unit::bytes), "1 KiB");
  EXPECT_EQ(to_text(1536, Unit::bytes), "1.5 KiB");
  EXPECT_EQ(to_text(999, Unit::nanoseconds), "999 ns");
  EXPECT_EQ(to_text(1'500'000, Unit::nanoseconds), "1.5 ms");
  EXPECT_EQ(to_text(90'000'000'000, Unit::nanoseconds), "90 s");
  EXPECT_EQ(to_text(12'345, Unit::count), "12k");
}

TEST(Histogram, DrawsBarsOfTheRightProportion) {
  Histogram histogram;
  histogram.record(1'500, 30);
  histogram.record(3'000, 60);
  histogram.record(15'000, 10);
  EXPECT_EQ(to_bars(histogram, Unit::nanoseconds, 12, 12),
            "100 recorded, least 1.5 us, median 3.0 us, 90% 3.0 us, 99% 15 us, greatest 15 us\n"
            "     1 us .. 2 us      |######      |      30  30.0%\n"
            "     2 us .. 5 us      |############|      60  60.0%\n"
            "     5 us .. 10 us     |            |       0   0.0%\n"
            "    10 us .. 20 us     |##          |      10  10.0%\n");
}

TEST(Histogram, KeepsBarsWithinTheirBounds) {
  Histogram histogram;
  for (unsigned bits = 0; bits < 64; ++bits) histogram.record(1ull << bits, bits + 1);
  histogram.record(0);
  histogram.record(~std::uint64_t{0});
  for (const Unit unit : {Unit::count, Unit::bytes, Unit::nanoseconds}) {
    for (const std::size_t rows : {0u, 1u, 5u, 12u, 100u}) {
      const std::string bars = to_bars(histogram, unit, rows, 20);
      EXPECT_LE(std::ranges::count(bars, '\n'),
                static_cast<std::ptrdiff_t>(std::max<std::size_t>(rows, 1) + 1));
    }
  }
  EXPECT_EQ(to_bars(Histogram{}, Unit::bytes), "nothing recorded\n");
}

TEST(HistogramSet, KeepsEveryMeasureThroughItsEncoding) {
  auto set = std::make_unique<HistogramSet>();
  for (std::size_t i = 0; i < kMeasureCount; ++i) {
    const auto measure = static_cast<Measure>(i);
    EXPECT_NE(name(measure), "unknown");
    if (i != 2) set->record(measure, i + 1, i + 1);
  }
  const std::string encoded = set->encode();
  auto decoded = HistogramSet::decode(encoded);
  ASSERT_TRUE(decoded);
  for (std::size_t i = 0; i < kMeasureCount; ++i) {
    const auto measure = static_cast<Measure>(i);
    EXPECT_TRUE((**decoded)[measure] == (*set)[measure]) << name(measure);
  }
  **decoded += *set;
  EXPECT_EQ((**decoded)[Measure::status_miss_time].count(), 14u);
  EXPECT_EQ(unit_of(Measure::cache_size_after), Unit::bytes);
  EXPECT_EQ(unit_of(Measure::hit_time), Unit::nanoseconds);
}

// The first few values wait beside their histogram until somebody reads, or there are more.
TEST(HistogramSet, ReadsTheFirstFewValuesLikeAllOthers) {
  for (std::uint64_t count = 1; count <= 9; ++count) {
    HistogramSet set;
    Histogram expected;
    for (std::uint64_t i = 0; i < count; ++i) {
      set.record(Measure::hit_time, i * 1000);
      expected.record(i * 1000);
    }
    const HistogramSet reading(set);
    EXPECT_TRUE(reading[Measure::hit_time] == expected) << count;
    EXPECT_TRUE(set[Measure::hit_time] == expected) << count;
    EXPECT_EQ((*HistogramSet::decode(set.encode()))->encode(), reading.encode());
  }
}

TEST(HistogramSet, AddsAndTakesAwayTheFirstFewValues) {
  HistogramSet set;
  HistogramSet earlier;
  earlier.record(Measure::hit_time, 5);
  set += earlier;
  set.record(Measure::hit_time, 7);
  set.record(Measure::binary_size, ~std::uint64_t{0});
  EXPECT_EQ(set[Measure::hit_time].count(), 2u);
  EXPECT_EQ(set[Measure::hit_time].sum(), 12u);
  EXPECT_EQ(set[Measure::binary_size].sum(), ~std::uint64_t{0});
  set -= earlier;
  EXPECT_EQ(set[Measure::hit_time].sum(), 7u);
}

TEST(HistogramSet, LosesNoneOfTheFirstValuesWhileItIsRead) {
  for (int round = 0; round < 200; ++round) {
    HistogramSet set;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        for (int k = 0; k < 3; ++k) set.record(Measure::miss_make_time, 3);
      });
    }
    threads.emplace_back([&] { static_cast<void>(set.encode()); });
    for (auto& each : threads) each.join();
    EXPECT_EQ(set[Measure::miss_make_time].count(), 9u);
  }
}

TEST(HistogramSet, RefusesWhatItWouldNotWrite) {
  auto set = std::make_unique<HistogramSet>();
  set->record(Measure::hit_time, 5);
  const std::string whole = set->encode();
  for (std::size_t size = 2; size < whole.size(); ++size)
    EXPECT_FALSE(HistogramSet::decode(whole.substr(0, size)));
  EXPECT_FALSE(HistogramSet::decode(""));
  EXPECT_FALSE(HistogramSet::decode(whole + whole.substr(1)));  // the same number twice
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    const auto decoded = HistogramSet::decode(damaged);
    if (!decoded) continue;
    EXPECT_EQ((*decoded)->encode(), damaged) << bit;
  }
}

}  // namespace
}  // namespace larder
