// Four lanes side by side, without branches: the scores of neighbours are no use to a processor that guesses.
#include "policy/window.hpp"

#include <cstring>
#include <utility>

namespace larder::policy {
namespace {

using Bits = std::int32_t __attribute__((vector_size(16)));
using Words = std::uint32_t __attribute__((vector_size(16)));
using Floats = float __attribute__((vector_size(16)));

template <typename Lanes>
Lanes load(const void* from) noexcept {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}

Bits choose(Bits mask, Bits yes, Bits no) noexcept {
  return (mask & yes) | (~mask & no);
}

}  // namespace

void Window::reserve(Id id) {
  if (id < last_.size()) return;
  const std::size_t size = (id / kSize + 1) * kSize;
  densities_.resize(size, kHidden);
  last_.resize(size);
}

void Window::move_on() noexcept {
  begin_ += kSize;
  if (begin_ >= last_.size()) begin_ = 0;
  named_.fill(kNoId);
  first_ = kLanes;
}

void Window::look(Tick now) noexcept {
  if (last_.empty()) return;
  const Words tick = Words{} + static_cast<std::uint32_t>(now);
  // Scores that are not negative are ordered as their bits are.
  Bits highest = Bits{} - 1;
  Bits at{};
  for (std::size_t i = 0; i < kSize; i += kLanes) {
    // Half the age: only signed numbers become floats without a detour.
    const Words halves = (tick - load<Words>(&last_[begin_ + i])) >> 1;
    const Floats age = __builtin_convertvector(reinterpret_cast<Bits>(halves), Floats) + 0.5F;
    const auto score = reinterpret_cast<Bits>(load<Floats>(&densities_[begin_ + i]) * age);
    const Bits is_higher = score > highest;
    highest = choose(is_higher, score, highest);
    at = choose(is_higher, Bits{} + static_cast<std::int32_t>(i), at);
  }
  std::array<std::int64_t, kLanes> found;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    found[lane] = std::int64_t{highest[lane]} << 32 | (at[lane] + static_cast<std::int32_t>(lane));
  }
  const auto order = [&found](std::size_t a, std::size_t b) {
    const auto [less, more] = std::minmax({found[a], found[b]});
    found[a] = more;
    found[b] = less;
  };
  order(0, 1);
  order(2, 3);
  order(0, 2);
  order(1, 3);
  order(1, 2);
  // Who is not to be had stands behind all others, but the named stand at the end.
  std::size_t count = 0;
  for (const std::int64_t one : found) count += one >= 0 ? 1 : 0;
  first_ = kLanes - count;
  for (std::size_t i = 0; i < count; ++i) {
    named_[first_ + i] = static_cast<Id>(begin_) + static_cast<Id>(found[i]);
  }
}

}  // namespace larder::policy
