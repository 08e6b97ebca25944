// The texts of large ingredients that entries keep beside their products, found by the ingredient: for `show`
// and `why`. Used by one thread.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "format/texts.hpp"
#include "larder/recipe.hpp"
#include "recipe/canonical.hpp"

namespace larder::tool {

class KeptTexts {
 public:
  // No more than this is unpacked of one entry, so that the command stays within its memory.
  static constexpr std::uint64_t kSizeMax = std::uint64_t{16} << 20;
  // Of one large text as JSON, unless more is asked for.
  static constexpr std::size_t kShownMax = 64 * 1024;

  // Takes in what an entry's attachment holds; any bytes may be given.
  void add(std::string_view attachment);
  // What is kept of an ingredient that stands in its recipe as a digest, or null. A whole text is known by
  // the digest, a beginning by name and size. Lives until the next add().
  const format::Text* of(const Ingredient& ingredient) const noexcept;

 private:
  struct Known {
    format::Text text;
    canonical::Digest digest;  // when the text is whole
  };
  std::vector<Known> known_;
};

}  // namespace larder::tool
