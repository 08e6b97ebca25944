#include "reactive/levels.hpp"

#include <algorithm>

namespace larder::reactive {

void Levels::grow(std::uint32_t height) {
  const std::size_t levels = std::max<std::size_t>((height | 4095u) + std::size_t{1}, heads_.size() * 2);
  heads_.resize(levels, kNoNode);
  bits_.resize(levels / 64);
  sums_.resize(levels / 4096);
}

std::uint32_t Levels::find(std::uint32_t from) const noexcept {
  // Nothing is queued below `from`.
  std::size_t word = from / 64;
  if (word < bits_.size()) {
    const std::uint64_t here = bits_[word] & (~std::uint64_t{0} << (from % 64));
    if (here != 0)
      return static_cast<std::uint32_t>(word * 64 + static_cast<std::size_t>(std::countr_zero(here)));
    ++word;
  }
  std::uint64_t mask = ~std::uint64_t{0} << (word % 64);
  for (std::size_t sum = word / 64; sum < sums_.size(); ++sum) {
    if (const std::uint64_t words = sums_[sum] & mask; words != 0) {
      const std::size_t at = sum * 64 + static_cast<std::size_t>(std::countr_zero(words));
      return static_cast<std::uint32_t>(at * 64 + static_cast<std::size_t>(std::countr_zero(bits_[at])));
    }
    mask = ~std::uint64_t{0};
  }
  return 0;
}

}  // namespace larder::reactive
