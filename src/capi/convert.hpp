// What every noun of the C ABI uses to cross the border: objects, errors, views, enumerators.
#pragma once

#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "larder/bytes.hpp"
#include "larder/c/base.h"
#include "larder/result.hpp"

struct larder_bytes {
  larder::Bytes bytes;
};

namespace larder::capi {

// Both never throw: where memory is out they give an error that says so and needs none.
larder_error* make_error(Code code, std::string_view what) noexcept;
larder_error* error_in_flight() noexcept;

// Runs `work`, which returns a Result of a pointer or a bool, and gives its value, or zero and an error.
template <typename Work>
auto guarded(larder_error** error, Work work) noexcept -> typename std::invoke_result_t<Work>::value_type {
  larder_error* why = nullptr;
  typename std::invoke_result_t<Work>::value_type value{};
  try {
    if (auto result = work()) {
      value = *result;
    } else {
      why = make_error(result.error().code, result.error().what);
    }
  } catch (...) {
    why = error_in_flight();
  }
  if (error != nullptr) {
    *error = why;
  } else {
    larder_error_destroy(why);
  }
  return value;
}

inline BytesView to_bytes(larder_view view) noexcept {
  return {static_cast<const std::byte*>(view.data), view.data == nullptr ? 0 : view.size};
}
inline std::string_view to_text(larder_view view) noexcept {
  return as_text(to_bytes(view));
}
// As these two, of what is to be kept or to name something; throws std::invalid_argument for bytes that are
// nowhere.
inline BytesView given_bytes(larder_view view) {
  if (view.data == nullptr && view.size != 0) {
    throw std::invalid_argument("a view of " + std::to_string(view.size) + " bytes at NULL");
  }
  return to_bytes(view);
}
inline std::string_view given_text(larder_view view) {
  return as_text(given_bytes(view));
}
inline larder_view to_view(BytesView bytes) noexcept {
  return {bytes.data(), bytes.size()};
}
inline larder_view to_view(std::string_view text) noexcept {
  return {text.data(), text.size()};
}

inline larder_bytes* new_bytes(std::string text) {
  return new larder_bytes{Bytes(std::move(text))};
}

// The enumerator of a number that may be none.
template <typename Enum, typename Number>
Enum to_enum(Number number) noexcept {
  const auto value = static_cast<unsigned>(number);
  return static_cast<Enum>(value > 0xff ? 0xff : value);
}
// Names are literals, so their data ends in a NUL.
template <typename Enum, typename Number>
const char* name_of(Number number) noexcept {
  return name(to_enum<Enum>(number)).data();
}
template <typename Enum, typename Number>
bool is_known(Number number) noexcept {
  return std::string_view(name_of<Enum>(number)) != "unknown";
}

}  // namespace larder::capi
