// Which ingredients differ. Equal ingredients (name and content) are paired from both ends and then in their
// order; of those pairs the longest run that keeps its order has stayed, the others have moved. Of what is
// left, the same names are paired in their order and have changed; the rest was added or removed.
#include "larder/difference.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace larder {
namespace {

struct Pair {
  std::size_t before;
  std::size_t after;
};

bool is_same(const Ingredient& a, const Ingredient& b) noexcept {
  return a.size == b.size && a.is_digest == b.is_digest && a.name == b.name &&
         as_text(a.bytes) == as_text(b.bytes);
}

auto identity(const Ingredient& ingredient) noexcept {
  return std::tuple(ingredient.name, ingredient.size, ingredient.is_digest, as_text(ingredient.bytes));
}

// Which of `pairs`, ascending in `before`, belong to a longest subsequence that ascends in `after`.
std::vector<bool> longest_ascending(const std::vector<Pair>& pairs) {
  std::vector<std::size_t> tails;  // the pair that ends the best run of each length
  std::vector<std::size_t> previous(pairs.size(), kNoPlace);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto tail =
        std::ranges::lower_bound(tails, pairs[i].after, {}, [&](std::size_t t) { return pairs[t].after; });
    if (tail != tails.begin()) previous[i] = *(tail - 1);
    if (tail == tails.end()) {
      tails.push_back(i);
    } else {
      *tail = i;
    }
  }
  std::vector<bool> stayed(pairs.size(), false);
  for (std::size_t i = tails.empty() ? kNoPlace : tails.back(); i != kNoPlace; i = previous[i])
    stayed[i] = true;
  return stayed;
}

// Takes pairs of equal `key_of` out of the two lists of places, in their order.
template <typename KeyBefore, typename KeyAfter>
std::vector<Pair> take_pairs(std::vector<std::size_t>& before, std::vector<std::size_t>& after,
                             KeyBefore key_before, KeyAfter key_after) {
  std::map<decltype(key_after(0)), std::vector<std::size_t>> waiting;
  for (auto place = after.rbegin(); place != after.rend(); ++place)
    waiting[key_after(*place)].push_back(*place);
  std::vector<Pair> pairs;
  std::erase_if(before, [&](std::size_t place) {
    const auto found = waiting.find(key_before(place));
    if (found == waiting.end() || found->second.empty()) return false;
    pairs.push_back({place, found->second.back()});
    found->second.pop_back();
    return true;
  });
  after.clear();
  for (const auto& [key, places] : waiting) after.insert(after.end(), places.begin(), places.end());
  std::ranges::sort(after);
  return pairs;
}

}  // namespace

std::string_view name(Change change) noexcept {
  switch (change) {
    case Change::added:
      return "added";
    case Change::removed:
      return "removed";
    case Change::changed:
      return "changed";
    case Change::moved:
      return "moved";
  }
  return "unknown";
}

Difference difference(const Recipe& before, const Recipe& after) {
  Difference result{before.kind(), after.kind(), {}};
  const std::vector<Ingredient> a = before.ingredients();
  const std::vector<Ingredient> b = after.ingredients();

  std::size_t front = 0;
  while (front < a.size() && front < b.size() && is_same(a[front], b[front])) ++front;
  std::size_t back = 0;
  while (front + back < a.size() && front + back < b.size() &&
         is_same(a[a.size() - 1 - back], b[b.size() - 1 - back])) {
    ++back;
  }
  std::vector<std::size_t> left_before;
  std::vector<std::size_t> left_after;
  for (std::size_t i = front; i < a.size() - back; ++i) left_before.push_back(i);
  for (std::size_t i = front; i < b.size() - back; ++i) left_after.push_back(i);

  const auto record = [&](Change change, std::size_t i, std::size_t j) {
    result.changes.push_back(
        {change, i, j, i == kNoPlace ? Ingredient{} : a[i], j == kNoPlace ? Ingredient{} : b[j]});
  };
  const std::vector<Pair> equal = take_pairs(
      left_before, left_after, [&](std::size_t i) { return identity(a[i]); },
      [&](std::size_t j) { return identity(b[j]); });
  const std::vector<bool> stayed = longest_ascending(equal);
  for (std::size_t i = 0; i < equal.size(); ++i) {
    if (!stayed[i]) record(Change::moved, equal[i].before, equal[i].after);
  }
  const std::vector<Pair> renewed = take_pairs(
      left_before, left_after, [&](std::size_t i) { return a[i].name; },
      [&](std::size_t j) { return b[j].name; });
  for (const Pair& pair : renewed) {
    record(Change::changed, pair.before, pair.after);
  }
  for (const std::size_t i : left_before) record(Change::removed, i, kNoPlace);
  for (const std::size_t j : left_after) record(Change::added, kNoPlace, j);
  std::ranges::stable_sort(result.changes, {}, [](const IngredientChange& change) {
    return change.place_after != kNoPlace ? change.place_after : change.place_before;
  });
  return result;
}

}  // namespace larder
