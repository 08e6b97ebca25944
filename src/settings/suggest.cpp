#include "settings/suggest.hpp"

#include <algorithm>
#include <vector>

namespace larder::settings {

std::size_t distance(std::string_view a, std::string_view b) {
  // The optimal string alignment distance needs the two rows above the one being filled.
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = a[i - 1] == b[j - 1];
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0u : 1u)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::string_view nearest_word(std::string_view typed, std::span<const std::string_view> words) {
  // Nobody means a word that is many times as long, and long words cost.
  constexpr std::size_t kLongest = 64;
  if (typed.empty() || typed.size() > kLongest) return {};
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, typed.size() / 3) + 1;
  std::string_view begun;
  std::size_t begun_count = 0;
  for (const std::string_view word : words) {
    if (word.starts_with(typed)) {
      begun = word;
      ++begun_count;
    }
    const std::size_t steps = distance(typed, word);
    if (steps < best_distance) {
      best_distance = steps;
      best = word;
    }
  }
  return best.empty() && begun_count == 1 ? begun : best;
}

std::string did_you_mean(std::string_view typed, std::span<const std::string_view> words) {
  const std::string_view word = nearest_word(typed, words);
  return word.empty() ? std::string() : "; did you mean `" + std::string(word) + "`?";
}

}  // namespace larder::settings
