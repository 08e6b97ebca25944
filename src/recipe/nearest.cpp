// Candidates are ranked by hashes of their ingredients first: order and repetition do not matter then, and a
// candidate costs one pass over its bytes. The few that come out best are compared in full.
#include <algorithm>
#include <tuple>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "larder/difference.hpp"
#include "recipe/text_diff.hpp"

namespace larder {
namespace {

constexpr std::size_t kFinalists = 8;

std::vector<std::uint64_t> sorted_hashes(const Recipe& recipe) {
  std::vector<std::uint64_t> hashes;
  for (const Ingredient& one : recipe.ingredients()) {
    const std::uint64_t name = XXH3_64bits(one.name.data(), one.name.size());
    hashes.push_back(XXH3_64bits_withSeed(one.bytes.data(), one.bytes.size(), name ^ one.size));
  }
  std::ranges::sort(hashes);
  return hashes;
}

// How many of the larger list find no equal in the other.
std::size_t unmatched(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) noexcept {
  std::size_t matched = 0;
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    if (*x < *y) {
      ++x;
    } else if (*y < *x) {
      ++y;
    } else {
      ++matched, ++x, ++y;
    }
  }
  return std::max(a.size(), b.size()) - matched;
}

std::uint64_t size_distance(std::uint64_t a, std::uint64_t b) noexcept {
  return a > b ? a - b : b - a;
}

// Bytes between the common ends; all of them where only a digest is known.
std::uint64_t differing_bytes(const IngredientChange& change) noexcept {
  const std::uint64_t larger = std::max(change.before.size, change.after.size);
  if (change.change == Change::moved) return 0;
  if (change.change != Change::changed || change.before.is_digest || change.after.is_digest) return larger;
  const Span ends = common_ends(as_text(change.before.bytes), as_text(change.after.bytes));
  return larger - ends.front - ends.back;
}

}  // namespace

struct Nearest::State {
  struct Candidate {
    bool is_other_kind;
    std::size_t unmatched;
    std::uint64_t size_distance;
    std::uint64_t order;  // of offering
    std::uint64_t id;
    Recipe recipe;
    auto rank() const noexcept { return std::tuple(is_other_kind, unmatched, size_distance); }
  };

  Recipe wanted;
  std::vector<std::uint64_t> hashes;
  std::vector<Candidate> finalists;  // best first
  std::uint64_t read = 0;
  std::uint64_t offered = 0;
};

Nearest::Nearest(const Recipe& wanted) : state_(new State{wanted, sorted_hashes(wanted), {}}) {}
Nearest::~Nearest() = default;
Nearest::Nearest(Nearest&&) noexcept = default;
Nearest& Nearest::operator=(Nearest&&) noexcept = default;

bool Nearest::offer(const Recipe& candidate, std::uint64_t id) {
  State& state = *state_;
  if (state.read >= kReadMax) return false;
  std::vector<State::Candidate>& best = state.finalists;
  const bool is_other_kind = candidate.kind() != state.wanted.kind();
  const bool is_full = best.size() == kFinalists;
  state.read += candidate.kind().size() + 1;
  if (is_full && is_other_kind && !best.back().is_other_kind) return true;
  state.read += candidate.canonical().size();
  const std::size_t distance = unmatched(state.hashes, sorted_hashes(candidate));
  const std::uint64_t sizes = size_distance(state.wanted.canonical().size(), candidate.canonical().size());
  if (is_full && std::tuple(is_other_kind, distance, sizes) >= best.back().rank()) return true;
  State::Candidate finalist{is_other_kind, distance, sizes, state.offered++, id, candidate};
  const auto place = std::ranges::upper_bound(best, finalist.rank(), {}, &State::Candidate::rank);
  best.insert(place, std::move(finalist));
  if (best.size() > kFinalists) best.pop_back();
  return true;
}

std::optional<Nearest::Found> Nearest::found() const {
  const State::Candidate* nearest = nullptr;
  std::tuple<bool, std::size_t, std::uint64_t, std::uint64_t> least;
  for (const State::Candidate& candidate : state_->finalists) {
    const Difference difference = larder::difference(candidate.recipe, state_->wanted);
    std::uint64_t bytes = 0;
    for (const IngredientChange& change : difference.changes) bytes += differing_bytes(change);
    const std::tuple rank(candidate.is_other_kind, difference.changes.size(), bytes, candidate.order);
    if (nearest != nullptr && rank >= least) continue;
    nearest = &candidate;
    least = rank;
  }
  if (nearest == nullptr) return std::nullopt;
  return Found{nearest->recipe, nearest->id};
}

std::optional<std::size_t> nearest(const Recipe& wanted, std::span<const Recipe> candidates) {
  Nearest search(wanted);
  for (std::size_t i = 0; i < candidates.size() && search.offer(candidates[i], i); ++i) {
  }
  const std::optional<Nearest::Found> found = search.found();
  if (!found) return std::nullopt;
  return static_cast<std::size_t>(found->id);
}

}  // namespace larder
