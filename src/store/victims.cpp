#include "store/victims.hpp"

#include <algorithm>
#include <cmath>

namespace larder {
namespace {

// The policy's clock ticks in milliseconds, ten years of them before now.
constexpr std::int64_t kTickNs = 1'000'000;
constexpr policy::Tick kNowTick = policy::Tick{10} * 365 * 24 * 3600 * 1000;

// What making probably took where nobody has said: fitted to some 700 compilations, milliseconds by bytes.
std::uint64_t guessed_cost_ns(std::uint64_t bytes) noexcept {
  return static_cast<std::uint64_t>(0.4e6 * std::pow(static_cast<double>(bytes), 0.74));
}

}  // namespace

Victims::Victims(policy::Kind kind, std::int64_t now_unix_ns)
    : policy_(policy::make(kind, {.seed = static_cast<std::uint64_t>(now_unix_ns), .limits = {}})),
      now_unix_ns_(now_unix_ns) {
  policy_->advance_to(kNowTick);
}

policy::Tick Victims::tick_of(std::int64_t unix_ns) const noexcept {
  const std::int64_t age = std::max<std::int64_t>(0, now_unix_ns_ - unix_ns) / kTickNs;
  return kNowTick - std::min(kNowTick, static_cast<policy::Tick>(age));
}

void Victims::add(Id id, const format::IndexRecord& record) {
  policy::Entry entry;
  entry.key = record.key.low;
  entry.weight = std::max<std::uint64_t>(1, record.bytes);
  const auto cost = static_cast<std::uint64_t>(record.cost.count());
  entry.cost = cost != 0 ? cost : guessed_cost_ns(record.bytes);
  policy_->insert(id, entry, {.uses = record.uses, .when = tick_of(record.at_unix_ns)});
}

std::optional<Victims::Id> Victims::next() {
  const Id id = policy_->victim();
  return id == policy::kNoId ? std::nullopt : std::optional(id);
}

void Victims::renew(Id id, const format::IndexRecord& record) {
  policy_->touch(id, {.when = tick_of(record.at_unix_ns)});
}

void Victims::remove(Id id) {
  policy_->remove(id, policy::Departure::evicted);
}

}  // namespace larder
