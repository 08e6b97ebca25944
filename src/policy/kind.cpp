#include "policy/kind.hpp"

#include <array>

#include "base/assert.hpp"
#include "policy/adaptive.hpp"
#include "policy/clock.hpp"
#include "policy/gdsf.hpp"
#include "policy/grouped.hpp"
#include "policy/lru.hpp"
#include "policy/lru_vector.hpp"
#include "policy/round_robin.hpp"
#include "policy/s3fifo.hpp"
#include "policy/sampled.hpp"
#include "policy/sieve.hpp"

namespace larder::policy {
namespace {

constexpr std::array<Named, 11> kKinds = {{
    {Kind::round_robin, "round_robin", "who came first, whatever was used since"},
    {Kind::lru, "lru", "whose last use lies longest ago"},
    {Kind::lru_vector, "lru_vector", "the same for small tables: a vector, searched from the most recent"},
    {Kind::clock, "clock", "numbered lines with used bits, the next that is clear"},
    {Kind::grouped, "grouped", "of the group used longest ago, the entry used last"},
    {Kind::sieve, "sieve", "in order of insertion, the next that was not visited"},
    {Kind::s3fifo, "s3fifo", "small, main and ghost queue"},
    {Kind::gdsf, "gdsf", "least uses * cost / size, aged"},
    {Kind::gdsf_size, "gdsf_size", "least uses / size, aged"},
    {Kind::sampled, "sampled", "of 16 drawn, the highest age * size / (uses * cost)"},
    {Kind::adaptive, "adaptive", "by the score that would have missed the least cost lately"},
}};

}  // namespace

std::span<const Named> kinds() noexcept {
  return kKinds;
}

std::string_view name(Kind kind) noexcept {
  for (const Named& one : kKinds) {
    if (one.kind == kind) return one.name;
  }
  return "unknown";
}

std::optional<Kind> from_name(std::string_view name) noexcept {
  for (const Named& one : kKinds) {
    if (one.name == name) return one.kind;
  }
  return std::nullopt;
}

std::unique_ptr<Policy> make(Kind kind, const Options& options) {
  switch (kind) {
    case Kind::round_robin:
      return std::make_unique<RoundRobin>();
    case Kind::lru:
      return std::make_unique<Lru>();
    case Kind::lru_vector:
      return std::make_unique<LruVector>();
    case Kind::clock:
      return std::make_unique<ClockLines>();
    case Kind::grouped:
      return std::make_unique<Grouped>();
    case Kind::sieve:
      return std::make_unique<Sieve>();
    case Kind::s3fifo:
      return std::make_unique<S3Fifo>(options.limits);
    case Kind::gdsf:
      return std::make_unique<Gdsf>(true);
    case Kind::gdsf_size:
      return std::make_unique<Gdsf>(false);
    case Kind::sampled:
      return std::make_unique<Sampled>(options.seed);
    case Kind::adaptive:
      return std::make_unique<Adaptive>(options.seed, options.limits);
  }
  LARDER_ASSERT(false);  // a number that is no kind
  return nullptr;
}

}  // namespace larder::policy
