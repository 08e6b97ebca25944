// The Difference of two recipes says which ingredients they do not share, so that a miss can be explained.
// Nothing here is on a hot path; any thread may call it on recipes that nobody changes meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "larder/bytes.hpp"
#include "larder/export.h"
#include "larder/recipe.hpp"

namespace larder {

// Numbers cross the C ABI: they never change meaning.
enum class Change : std::uint8_t {
  added = 1,    // only `after` has it
  removed = 2,  // only `before` has it
  changed = 3,  // both have one of this name, with different content
  moved = 4,    // both have it, but in another order among those that stayed
};
LARDER_API std::string_view name(Change change) noexcept;

inline constexpr std::size_t kNoPlace = static_cast<std::size_t>(-1);

struct IngredientChange {
  Change change = Change::changed;
  std::size_t place_before = kNoPlace;  // counted from 0; kNoPlace: not there
  std::size_t place_after = kNoPlace;
  Ingredient before{};  // views of the recipes that were compared
  Ingredient after{};

  std::string_view name() const noexcept { return place_after != kNoPlace ? after.name : before.name; }
};

// Lives no longer than the two recipes.
struct Difference {
  std::string_view kind_before;
  std::string_view kind_after;
  // In the order of `after`; what was removed stands where it was.
  std::vector<IngredientChange> changes;

  bool is_empty() const noexcept { return kind_before == kind_after && changes.empty(); }
};

// Empty exactly when the recipes are equal. O(n log n) in the ingredients, O(size) in their bytes.
LARDER_API Difference difference(const Recipe& before, const Recipe& after);

struct DifferenceTextOptions {
  // The text is never longer; what does not fit is counted in its last line.
  std::size_t size_max = 8192;
  // The bytes of an ingredient that stands in the recipe as a digest, where somebody kept them.
  std::function<std::optional<Bytes>(const Ingredient&)> bytes_of_digest;
};

// For people: one paragraph per change, each line ended. Text comes as the lines that differ, anything else
// as sizes and digests. Control characters and what is no UTF-8 stand escaped, so any bytes may be shown on a
// terminal. Empty for an empty difference.
LARDER_API std::string to_text(const Difference& difference, const DifferenceTextOptions& options = {});

// Nearest finds, among candidates offered one by one, the recipe that differs least from the wanted one: of
// the same kind if there is any, with the fewest ingredients that differ, then the fewest bytes; the first
// offered wins a tie. One thread at a time. Offering costs about one pass over the candidate's bytes; only
// few candidates are copied.
class LARDER_API Nearest {
 public:
  // Once it has read so many bytes it looks at no further candidate.
  static constexpr std::uint64_t kReadMax = std::uint64_t{256} << 20;

  explicit Nearest(const Recipe& wanted);
  ~Nearest();
  Nearest(Nearest&&) noexcept;
  Nearest& operator=(Nearest&&) noexcept;

  // `id` is the caller's name for it. False: the candidate was not looked at, nor will be any other.
  bool offer(const Recipe& candidate, std::uint64_t id);

  struct Found {
    Recipe recipe;
    std::uint64_t id;
  };
  // Nothing when nothing was offered.
  std::optional<Found> found() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The place of the nearest candidate; nothing when there is none.
LARDER_API std::optional<std::size_t> nearest(const Recipe& wanted, std::span<const Recipe> candidates);

}  // namespace larder
