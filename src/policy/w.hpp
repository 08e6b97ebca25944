// Window is where the next victims come from while what comes in is cheap to make again, and finding a victim
// must be cheaper still: it goes by frequency, among some that stand side by side by their ids. Each that
// comes in moves it on by a quarter, so that all have their turn.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policy/policy.hpp"

namespace larder::policy {

class Window {
 public:
  // Room for this id, which is hidden until it is set. Throws std::bad_alloc.
  void reserve(Id id);
  // What it is judged by: its last use, and size by cost and use. It is no candidate before the next look.
  void set(Id id, Tick last, float density) noexcept {
    last_[id] = static_cast<std::uint32_t>(last);
    densities_[id] = density;
    unname(id);
  }
  // It is not to be had.
  void hide(Id id) noexcept {
    densities_[id] = kHidden;
    unname(id);
  }
  bool is_hidden(Id id) const noexcept { return densities_[id] < 0; }

  void move_on() noexcept;
  // Candidates, who should leave most first, as they were found at one look. Empty when none is to be had.
  std::span<const Id> candidates(Tick now) noexcept {
    if (first_ == kLanes) look(now);
    return std::span(named_).subspan(first_);
  }

  std::size_t memory_bytes() const noexcept {
    return last_.capacity() * sizeof(std::uint32_t) + densities_.capacity() * sizeof(float);
  }

 private:
  static constexpr std::size_t kLanes = 4;
  static constexpr std::size_t kQuarter = 16;
  static constexpr std::size_t kSize = 4 * kQuarter;
  static constexpr float kHidden = -1;

  void look(Tick now) noexcept;
  void unname(Id id) noexcept {
    const auto at = std::find(named_.begin(), named_.end(), id);
    if (at == named_.end()) return;
    const auto first = named_.begin() + static_cast<std::ptrdiff_t>(first_++);
    std::move_backward(first, at, at + 1);
    *first = kNoId;
  }

  // By id, and so many more that the window never passes the end.
  std::vector<std::uint32_t> last_;  // the tick's lower half: who was not used for 2^32 ticks seems younger
  std::vector<float> densities_;
  std::size_t begin_ = 0;
  std::array<Id, kLanes> named_{kNoId, kNoId, kNoId, kNoId};
  std::size_t first_ = kLanes;  // in named_; kNoId before it
};

}  // namespace larder::policy
