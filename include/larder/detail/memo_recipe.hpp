// Arguments as ingredients and results as bytes, for memos that threads share or that a cache keeps.
#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "larder/bytes.hpp"
#include "larder/recipe.hpp"

namespace larder::detail {

template <typename T>
constexpr bool is_memo_plain = std::is_arithmetic_v<T> || std::is_enum_v<T> ||
                               (std::is_trivially_copyable_v<T> &&
                                std::has_unique_object_representations_v<T> && !std::is_pointer_v<T> &&
                                !std::is_member_pointer_v<T>);

template <typename T>
struct IsPlainVector : std::false_type {};
template <typename T>
struct IsPlainVector<std::vector<T>> : std::bool_constant<is_memo_plain<T> && !std::is_same_v<T, bool>> {};

// Can it be an ingredient, and can it be read back from bytes?
template <typename T>
constexpr bool is_memo_bytes = (is_memo_plain<T> && !std::is_same_v<T, long double>) ||
                               std::is_same_v<T, std::string> || IsPlainVector<T>::value;

template <typename T>
std::string_view memo_bytes(const T& value) noexcept {
  static_assert(is_memo_bytes<T>,
                "a shared or kept memo needs arguments and results that are plain values without padding or "
                "pointers, std::string, or std::vector of plain values");
  if constexpr (std::is_same_v<T, std::string>)
    return value;
  else if constexpr (IsPlainVector<T>::value)
    return {reinterpret_cast<const char*>(value.data()), value.size() * sizeof(typename T::value_type)};
  else
    return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

// Nothing when the bytes are not those of a T.
template <typename T>
std::optional<T> memo_from_bytes(std::string_view bytes) {
  if constexpr (std::is_same_v<T, std::string>) {
    return std::string(bytes);
  } else if constexpr (IsPlainVector<T>::value) {
    if (bytes.size() % sizeof(typename T::value_type) != 0) return std::nullopt;
    T value(bytes.size() / sizeof(typename T::value_type));
    if (!bytes.empty()) std::memcpy(value.data(), bytes.data(), bytes.size());
    return value;
  } else {
    if (bytes.size() != sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }
}

}  // namespace larder::detail
