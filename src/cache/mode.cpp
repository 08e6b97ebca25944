#include "cache/mode.hpp"

#include <array>

namespace larder {
namespace {

constexpr std::array kModes = {Mode::normal,    Mode::bypass,      Mode::refresh,
                               Mode::read_only, Mode::require_hit, Mode::verify};

}  // namespace

std::string_view name(Mode mode) noexcept {
  switch (mode) {
    case Mode::as_opened:
      return "as opened";
    case Mode::normal:
      return "default";
    case Mode::bypass:
      return "bypass";
    case Mode::refresh:
      return "refresh";
    case Mode::read_only:
      return "read-only";
    case Mode::require_hit:
      return "require-hit";
    case Mode::verify:
      return "verify";
  }
  return "unknown";
}

std::optional<Mode> to_mode(std::string_view text) noexcept {
  for (const Mode mode : kModes) {
    if (name(mode) == text) return mode;
  }
  return std::nullopt;
}

}  // namespace larder
