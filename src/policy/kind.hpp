// Kind names the policies; make() makes one. The names stand in one table, which settings and command line
// read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/fixed_text.hpp"
#include "policy/policy.hpp"

namespace larder::policy {

// Numbers are stored in settings and never change meaning.
enum class Kind : std::uint8_t {
  round_robin = 1,
  lru = 2,
  lru_vector = 3,
  clock = 4,
  grouped = 5,
  sieve = 6,
  s3fifo = 7,
  gdsf = 8,
  gdsf_size = 9,
  sampled = 10,
  adaptive = 11,
};

struct Options {
  std::uint64_t seed = 1;
  Limits limits;  // of the tier; some policies divide them
};

struct Named {
  Kind kind;
  FixedText<12> name;  // as in settings: `lru_vector`
  FixedText<72> what;  // one line for help
};

std::span<const Named> kinds() noexcept;
std::string_view name(Kind kind) noexcept;
std::optional<Kind> from_name(std::string_view name) noexcept;

std::unique_ptr<Policy> make(Kind kind, const Options& options = {});

}  // namespace larder::policy
