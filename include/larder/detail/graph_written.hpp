// How keys and values of a graph are written down for a snapshot. Numbers, enumerators, texts, Bytes, and
// vectors, pairs, tuples and optionals of these know how; a program teaches others by specialising
// larder::Written with `write` and `read`. What nobody taught is not saved.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "larder/bytes.hpp"

namespace larder {

// `static void write(const T&, std::string& to)` appends; `static bool read(std::string_view, T&)` takes all
// of what was written, and says no to anything else.
template <typename T>
struct Written;

namespace detail {

template <typename T>
concept IsWritten = requires(const T& object, T& into, std::string& to) {
  Written<T>::write(object, to);
  { Written<T>::read(std::string_view(), into) } -> std::same_as<bool>;
};

// A part: its length in four bytes, then itself.
template <typename T>
void write_part(const T& object, std::string& to) {
  const std::size_t at = to.size();
  to.append(4, '\0');
  Written<T>::write(object, to);
  const std::uint64_t size = to.size() - at - 4;
  for (unsigned i = 0; i < 4; ++i) to[at + i] = static_cast<char>(size >> (8 * i));
}
template <typename T>
bool read_part(std::string_view& from, T& into) {
  if (from.size() < 4) return false;
  std::size_t size = 0;
  for (unsigned i = 0; i < 4; ++i) size |= std::size_t{static_cast<unsigned char>(from[i])} << (8 * i);
  if (from.size() - 4 < size || !Written<T>::read(from.substr(4, size), into)) return false;
  from.remove_prefix(4 + size);
  return true;
}

}  // namespace detail

template <typename T>
requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) struct Written<T> {
  static void write(const T& object, std::string& to) {
    to.append(reinterpret_cast<const char*>(&object), sizeof object);
  }
  static bool read(std::string_view from, T& into) {
    if (from.size() != sizeof into) return false;
    if constexpr (std::is_same_v<T, bool>) {
      if (from[0] != 0 && from[0] != 1) return false;
    }
    std::memcpy(&into, from.data(), sizeof into);
    return true;
  }
};
template <>
struct Written<std::monostate> {
  static void write(const std::monostate&, std::string&) {}
  static bool read(std::string_view from, std::monostate&) { return from.empty(); }
};
template <>
struct Written<std::string> {
  static void write(const std::string& text, std::string& to) { to.append(text); }
  static bool read(std::string_view from, std::string& into) {
    into.assign(from);
    return true;
  }
};
template <>
struct Written<Bytes> {
  static void write(const Bytes& bytes, std::string& to) {
    to.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  static bool read(std::string_view from, Bytes& into) {
    into = Bytes(std::string(from));
    return true;
  }
};
template <detail::IsWritten T>
struct Written<std::vector<T>> {
  static void write(const std::vector<T>& all, std::string& to) {
    for (const T& each : all) detail::write_part<T>(each, to);
  }
  static bool read(std::string_view from, std::vector<T>& into) {
    into.clear();
    while (!from.empty()) {
      T each{};
      if (!detail::read_part(from, each)) return false;
      into.push_back(std::move(each));
    }
    return true;
  }
};
template <detail::IsWritten T>
struct Written<std::optional<T>> {
  static void write(const std::optional<T>& object, std::string& to) {
    if (object) detail::write_part(*object, to);
  }
  static bool read(std::string_view from, std::optional<T>& into) {
    into.reset();
    return from.empty() || (detail::read_part(from, into.emplace()) && from.empty());
  }
};
template <detail::IsWritten... T>
struct Written<std::tuple<T...>> {
  static void write(const std::tuple<T...>& objects, std::string& to) {
    std::apply([&](const T&... each) { (detail::write_part(each, to), ...); }, objects);
  }
  static bool read(std::string_view from, std::tuple<T...>& into) {
    return std::apply([&](T&... each) { return (detail::read_part(from, each) && ...); }, into) &&
           from.empty();
  }
};
template <detail::IsWritten A, detail::IsWritten B>
struct Written<std::pair<A, B>> {
  static void write(const std::pair<A, B>& objects, std::string& to) {
    detail::write_part(objects.first, to);
    detail::write_part(objects.second, to);
  }
  static bool read(std::string_view from, std::pair<A, B>& into) {
    return detail::read_part(from, into.first) && detail::read_part(from, into.second) && from.empty();
  }
};

}  // namespace larder
