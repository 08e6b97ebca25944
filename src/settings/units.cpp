#include "settings/units.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

#include "base/ascii.hpp"
#include "base/fixed_text.hpp"

namespace larder::settings {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
constexpr std::int64_t kLongest = std::numeric_limits<std::int64_t>::max();

char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_word(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

std::string_view trimmed(std::string_view text) noexcept {
  const std::string_view blanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

// A decimal number at the front of `text`, which loses it: whole digits, then perhaps a point and up to nine
// more, kept as billionths.
struct Number {
  std::uint64_t whole = 0;
  std::uint64_t billionths = 0;
};

bool take_number(std::string_view& text, Number& number, bool& too_large) noexcept {
  too_large = false;
  std::size_t used = 0;
  for (; used < text.size() && is_digit(text[used]); ++used) {
    const auto digit = static_cast<std::uint64_t>(text[used] - '0');
    if (number.whole > (kMost - digit) / 10) {
      too_large = true;
      return false;
    }
    number.whole = number.whole * 10 + digit;
  }
  if (used == 0) return false;
  if (used < text.size() && text[used] == '.') {
    const std::size_t first = ++used;
    std::uint64_t unit = 100'000'000;
    for (; used < text.size() && is_digit(text[used]); ++used, unit /= 10) {
      number.billionths += unit * static_cast<std::uint64_t>(text[used] - '0');
    }
    if (used == first) return false;
  }
  text.remove_prefix(used);
  return true;
}

// number * unit, rounded down; false when it passes `most`.
bool scaled(const Number& number, std::uint64_t unit, std::uint64_t most, std::uint64_t& value) noexcept {
  const auto exact = static_cast<unsigned __int128>(number.whole) * unit +
                     static_cast<unsigned __int128>(number.billionths) * unit / 1'000'000'000u;
  if (exact > most) return false;
  value = static_cast<std::uint64_t>(exact);
  return true;
}

struct Unit {
  FixedText<3> name;
  std::uint64_t size;
};

constexpr std::array<Unit, 6> kBinary{{{"PiB", 1ull << 50},
                                       {"TiB", 1ull << 40},
                                       {"GiB", 1ull << 30},
                                       {"MiB", 1ull << 20},
                                       {"KiB", 1ull << 10},
                                       {"B", 1}}};

constexpr std::array<Unit, 8> kTime{{{"w", 604'800'000'000'000},
                                     {"d", 86'400'000'000'000},
                                     {"h", 3'600'000'000'000},
                                     {"min", 60'000'000'000},
                                     {"s", 1'000'000'000},
                                     {"ms", 1'000'000},
                                     {"us", 1'000},
                                     {"ns", 1}}};

// 0: no such unit.
std::uint64_t size_unit(std::string_view word) noexcept {
  if (word.empty() || same_word(word, "b")) return 1;
  constexpr std::string_view kLetters = "kmgtp";
  const std::size_t power = kLetters.find(lower(word[0]));
  if (power == std::string_view::npos) return 0;
  const std::string_view rest = word.substr(1);
  std::uint64_t unit = 1;
  const bool decimal = same_word(rest, "b");
  if (!rest.empty() && !decimal && !same_word(rest, "ib")) return 0;
  for (std::size_t i = 0; i <= power; ++i) unit *= decimal ? 1000 : 1024;
  return unit;
}

std::uint64_t time_unit(std::string_view word) noexcept {
  for (const Unit& unit : kTime) {
    if (same_word(word, unit.name)) return unit.size;
  }
  return same_word(word, "m") ? kTime[3].size : 0;
}

tl::unexpected<Error> no_fit(std::string_view text, std::string_view wanted) {
  return fail(Code::invalid_argument, quoted(text) + " is no " + std::string(wanted));
}

std::string with_unit(double value, std::string_view unit) {
  char text[48];
  std::snprintf(text, sizeof text, value < 9.95 ? "%.1f " : "%.0f ", value);
  return text + std::string(unit);
}

}  // namespace

std::string quoted(std::string_view text) {
  return '`' + shortened(text) + '`';
}

std::string shortened(std::string_view text) {
  constexpr std::size_t kShown = 60;
  std::string result;
  for (const char c : text.substr(0, kShown)) {
    const bool is_control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    result.push_back(is_control ? '?' : c);
  }
  return result + (text.size() > kShown ? "..." : "");
}

Result<std::uint64_t> to_size(std::string_view text) {
  std::string_view rest = trimmed(text);
  Number number;
  bool too_large = false;
  std::uint64_t bytes = 0;
  if (!take_number(rest, number, too_large)) {
    if (too_large)
      return fail(Code::invalid_argument, quoted(text) + " is larger than any size; the largest is 16383PiB");
    return no_fit(text, "size; write a number and a unit, such as 10G or 512MiB");
  }
  rest = trimmed(rest);
  const std::uint64_t unit = size_unit(rest);
  if (unit == 0) {
    return fail(Code::invalid_argument, quoted(text) + " has the unknown unit " + quoted(rest) +
                                            "; write B, K, M, G, T or P, such as 10G");
  }
  if (!scaled(number, unit, kMost, bytes)) {
    return fail(Code::invalid_argument, quoted(text) + " is larger than any size; the largest is 16383PiB");
  }
  return bytes;
}

Result<std::chrono::nanoseconds> to_duration(std::string_view text) {
  std::string_view rest = trimmed(text);
  if (rest == "0") return std::chrono::nanoseconds(0);
  std::uint64_t total = 0;
  do {
    Number number;
    bool too_large = false;
    if (!take_number(rest, number, too_large) && !too_large) {
      return no_fit(text, "duration; write a number and a unit, such as 7d, 12h or 500ms");
    }
    std::size_t word = 0;
    while (word < rest.size() && !is_digit(rest[word]) && rest[word] != ' ') ++word;
    const std::uint64_t unit = time_unit(rest.substr(0, word));
    if (word == 0 && !too_large) {
      return fail(Code::invalid_argument,
                  quoted(text) + " has no unit; write ns, us, ms, s, min, h, d or w, such as 7d");
    }
    if (unit == 0 && !too_large) {
      return fail(Code::invalid_argument, quoted(text) + " has the unknown unit " +
                                              quoted(rest.substr(0, word)) +
                                              "; write ns, us, ms, s, min, h, d or w, such as 7d");
    }
    std::uint64_t part = 0;
    if (too_large || !scaled(number, unit, kLongest, part) || part > kLongest - total) {
      return fail(Code::invalid_argument,
                  quoted(text) + " is longer than any duration; the longest is 292 years");
    }
    total += part;
    rest = trimmed(rest.substr(word));
  } while (!rest.empty());
  return std::chrono::nanoseconds(static_cast<std::int64_t>(total));
}

Result<bool> to_boolean(std::string_view text) {
  const std::string_view word = trimmed(text);
  for (const std::string_view yes : {"on", "yes", "true", "1"}) {
    if (same_word(word, yes)) return true;
  }
  for (const std::string_view no : {"off", "no", "false", "0"}) {
    if (same_word(word, no)) return false;
  }
  return no_fit(text, "switch; write on or off");
}

Result<std::uint64_t> to_count(std::string_view text) {
  const std::string_view digits = trimmed(text);
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (error == std::errc::result_out_of_range) {
    return fail(Code::invalid_argument,
                quoted(text) + " is larger than any count; the largest is " + std::to_string(kMost));
  }
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) {
    return no_fit(text, "count; write digits only, such as 1000");
  }
  return count;
}

Result<std::uint32_t> to_percent(std::string_view text) {
  std::string_view digits = trimmed(text);
  if (!digits.empty() && digits.back() == '%') digits = trimmed(digits.substr(0, digits.size() - 1));
  const Result<std::uint64_t> count = to_count(digits);
  if (!count || *count > 100) return no_fit(text, "percentage; write 0% to 100%");
  return static_cast<std::uint32_t>(*count);
}

std::string exact_size(std::uint64_t bytes) {
  if (bytes == 0) return "0";
  for (const Unit& unit : kBinary) {
    if (bytes % unit.size == 0) return std::to_string(bytes / unit.size) + std::string(unit.name);
  }
  return std::to_string(bytes) + "B";
}

std::string exact_duration(std::chrono::nanoseconds duration) {
  if (duration.count() == 0) return "0";
  // No duration that can be set: it reads back as an error.
  if (duration.count() < 0) return std::to_string(duration.count()) + "ns";
  const auto ns = static_cast<std::uint64_t>(duration.count());
  for (const Unit& unit : kTime) {
    // Nobody thinks of a week when seven days are meant.
    if (unit.name == "w" && ns < 8 * kTime[0].size) continue;
    if (ns % unit.size == 0) return std::to_string(ns / unit.size) + std::string(unit.name);
  }
  return std::to_string(ns) + "ns";
}

std::string readable_size(std::uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  for (const Unit& unit : kBinary) {
    // 1023.6 KiB would print as 1024 KiB.
    if (static_cast<double>(bytes) >= static_cast<double>(unit.size) * 0.9995) {
      return with_unit(static_cast<double>(bytes) / static_cast<double>(unit.size), unit.name);
    }
  }
  return std::to_string(bytes) + " B";
}

std::string readable_duration(std::chrono::nanoseconds duration) {
  const std::int64_t count = duration.count();
  if (count == 0) return "0 s";
  const std::string sign = count < 0 ? "-" : "";
  const double ns = std::abs(static_cast<double>(count));
  for (const Unit& unit : kTime) {
    if (unit.name == "w") continue;
    if (ns >= static_cast<double>(unit.size) * 0.9995) {
      return sign + with_unit(ns / static_cast<double>(unit.size), unit.name);
    }
  }
  return sign + with_unit(ns, "ns");
}

}  // namespace larder::settings
