// Numbers as texts have them: digits, a `-` before those of a signed type, and nothing else – no blank, no
// `+`, no prefix. Whatever the locale. Any thread.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>

namespace larder {

// Takes the number that `text` begins with off it; none, and `text` stays as it is: it begins with none, or
// with one that does not fit.
template <std::integral Number>
std::optional<Number> take_number(std::string_view& text, int base = 10) noexcept {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// The number that `text` is; none: it is none, or one that does not fit.
template <std::integral Number>
std::optional<Number> to_number(std::string_view text, int base = 10) noexcept {
  const std::optional<Number> number = take_number<Number>(text, base);
  return text.empty() ? number : std::nullopt;
}

}  // namespace larder
