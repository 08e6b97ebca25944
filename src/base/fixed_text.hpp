// A FixedText is a short text that lies where it stands: it holds its characters, and no pointer to them. A
// table of texts that are `const char*` or `std::string_view` is full of addresses, which the loader has to
// write into every process that loads the library, whether it reads the table or not; one of FixedTexts is
// constant, and its pages are shared. Immutable; any thread.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.hpp"

namespace larder {

// Of at most kSizeMax characters; of more, a constant is an error of the compiler's.
template <std::size_t kSizeMax>
class FixedText {
  static_assert(kSizeMax < 256);

 public:
  constexpr FixedText() = default;
  template <std::convertible_to<std::string_view> Text>
  constexpr FixedText(const Text& from) {
    const std::string_view text = from;
    LARDER_ASSERT(text.size() <= kSizeMax);
    for (std::size_t i = 0; i < text.size(); ++i) text_[i] = text[i];
    size_ = static_cast<std::uint8_t>(text.size());
  }

  constexpr std::string_view view() const noexcept { return {text_, size_}; }
  constexpr operator std::string_view() const noexcept { return view(); }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr std::size_t size() const noexcept { return size_; }

  template <std::convertible_to<std::string_view> Text>
  friend constexpr bool operator==(const FixedText& a, const Text& b) noexcept {
    return a.view() == std::string_view(b);
  }

 private:
  char text_[kSizeMax] = {};
  std::uint8_t size_ = 0;
};

}  // namespace larder
