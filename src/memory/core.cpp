#include "memory/core.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <utility>

namespace larder::detail {
namespace {

// Of those that are not finished yet.
constinit std::atomic<std::size_t> shut_cores{0};

void drop_array(Retired* retired) noexcept {
  RecipeTable::free_array(retired);
}

policy::BudgetOptions budget_options(const MemoryOptions& options) {
  policy::BudgetOptions budget;
  budget.limits = {.bytes = options.bytes_max, .entries = options.count_max};
  if (!(options.low_water >= 0 && options.low_water <= 1))  // nor a NaN
    throw std::invalid_argument("memory tier: low_water is a share, from 0 to 1");
  budget.low_water = options.low_water;
  if (!options.policy.empty()) {
    const auto kind = policy::from_name(options.policy);
    if (!kind) throw std::invalid_argument("memory tier: no policy " + std::string(options.policy));
    budget.policy = *kind;
  }
  return budget;
}

}  // namespace

Core::Core(const MemoryOptions& options, const TypeFacts& facts)
    : MemoryCore(options.is_inner),
      facts_(facts),
      bytes_max_(options.bytes_max),
      count_max_(options.count_max),
      retries_max_(options.retries_max),
      slots_(facts.slot_size),
      budget_(budget_options(options)) {}

Core::~Core() {
  strike(*this);
  shut_cores.fetch_sub(1, std::memory_order_relaxed);
}

Key Core::key_of(const Recipe& recipe) noexcept {
  return recipe.key();
}

// --- Recipes and claims

std::uint64_t Core::overhead(const Record& record) const noexcept {
  return facts_.slot_size - facts_.home_size + sizeof(Record) + record.canonical_size;
}

Record& Core::find_or_add(const Recipe& recipe, Key key) {
  if (Record* const known = table_.find_any(key, recipe.canonical())) return *known;
  const Slots::Place place = slots_.take();
  Record* record = nullptr;
  try {
    record = make_record(*this, place.slot, place.chunk, key, recipe.canonical());
    if (Retired* const replaced = table_.insert(record))
      record_bin_.retire(*replaced, RecipeTable::array_bytes(*replaced), drop_array);
  } catch (...) {
    if (record != nullptr) free_record(record);
    slots_.give_back(place.slot, place.chunk);
    throw;
  }
  return *record;
}

// I3, I4: to be called whenever the last claim, the product or the last object went, or a first claim came.
void Core::settle(Record& record) noexcept {
  const bool is_claimed = record.claims.load(std::memory_order_acquire) != 0;
  const bool is_idle = is_claimed && !record.is_kept;
  if (is_idle != record.is_idle) {
    record.is_idle = is_idle;
    idle_bytes_ += is_idle ? overhead(record) : 0 - overhead(record);
  }
  if (is_claimed || record.is_kept || record.objects != 0) return;
  table_.remove(&record);
  if (record.is_shown) {
    record_bin_.retire(record, overhead(record), drop_record);
    return;
  }
  // No reader could find it, and nobody has a claim through which to reach it.
  Slot* const slot = &record.slot;
  Chunk* const chunk = record.chunk;
  free_record(&record);
  slots_.give_back(slot, chunk);
}

void Core::drop_record(Retired* retired) noexcept {
  auto* const record = static_cast<Record*>(retired);
  Core& core = record->core;
  Slot* const slot = &record->slot;
  Chunk* const chunk = record->chunk;
  free_record(record);
  // Whoever collects is inside, so the core stays.
  MutexLock lock(core.mutex_);
  core.slots_.give_back(slot, chunk);
}

Slot* Core::intern_recipe(const Recipe& recipe) {
  Aftermath after;
  Slot* slot = nullptr;
  bool is_crowded = false;
  const Key key = key_of(recipe);
  {
    Pin pin;
    {
      MutexLock lock(mutex_);
      Record& record = find_or_add(recipe, key);
      record.claims.fetch_add(1, std::memory_order_relaxed);
      settle(record);
      slot = &record.slot;
      make_room({idle_bytes_, 0}, after);
      is_crowded = wants_collecting();
    }
    settle_aftermath(after);
  }
  if (is_crowded) collect();
  return slot;
}

void Core::drop_last_claim(Record& record) noexcept {
  bool is_crowded = false;
  {
    MutexLock lock(mutex_);
    come_in();
    if (record.claims.fetch_sub(1, std::memory_order_acq_rel) == 1) settle(record);
    is_crowded = wants_sweeping();
  }
  if (is_crowded) sweep();
  go_out();
}

void Core::forget_object(const Gone& gone) noexcept {
  --gone.record->objects;
  if (gone.was_at_home) gone.record->home_is_taken = false;
  settle(*gone.record);
}

void Core::object_is_gone(Record& record, bool was_at_home) noexcept {
  bool is_crowded = false;
  {
    MutexLock lock(mutex_);
    forget_object({&record, was_at_home});
    is_crowded = wants_sweeping();
    if (!is_shut_ && !is_crowded) return;
    come_in();
  }
  if (is_crowded) sweep();
  go_out();
}

// --- Memory

// The barrier that collecting takes costs microseconds, whatever it brings: so many products share one.
std::size_t Core::crowd() const noexcept {
  constexpr std::size_t kFewest = 64;
  constexpr std::size_t kMost = 1024;
  return std::clamp(budget_.stats().entries / 32, kFewest, kMost);
}

bool Core::wants_collecting() const noexcept {
  return bin_.pending() + record_bin_.pending() >= crowd() || unreclaimed_bytes() > bytes_max_ / 64;
}

bool Core::wants_sweeping() const noexcept {
  return record_bin_.pending() >= swept_.pending + crowd() ||
         record_bin_.pending_bytes() > swept_.bytes + bytes_max_ / 64;
}

void Core::sweep() noexcept {
  {
    MutexLock lock(mutex_);
    record_bin_.close();
  }
  const std::uint64_t oldest = oldest_reader();
  Retired* ripe = nullptr;
  {
    MutexLock lock(mutex_);
    ripe = record_bin_.take_ripe(oldest);
    swept_ = {record_bin_.pending(), record_bin_.pending_bytes()};
  }
  drop_all(ripe);
}

void Core::collect() noexcept {
  collect_own();
  if (shut_cores.load(std::memory_order_relaxed) != 0) collect_orphans();
}

void Core::collect_own() noexcept {
  // A product that goes lets its record go, which goes a round later.
  for (int round = 0; round < 3; ++round) {
    {
      MutexLock lock(mutex_);
      if (unreclaimed() == 0) return;
      bin_.close();
      record_bin_.close();
    }
    const std::uint64_t oldest = oldest_reader();
    Retired* ripe = nullptr;
    Retired* ripe_records = nullptr;
    {
      MutexLock lock(mutex_);
      ripe = bin_.take_ripe(oldest);
      ripe_records = record_bin_.take_ripe(oldest);
      swept_ = {record_bin_.pending(), record_bin_.pending_bytes()};
    }
    if (ripe == nullptr && ripe_records == nullptr) return;
    drop(ripe);
    drop_all(ripe_records);
  }
}

// Of products, as drop_all() would, but their accounts are settled for many at once.
void Core::drop(Retired* ripe) noexcept {
  constexpr std::size_t kTogether = 64;
  std::array<Gone, kTogether> gone;
  std::size_t count = 0;
  const auto settle_gone = [&] {
    MutexLock lock(mutex_);
    for (std::size_t i = 0; i < count; ++i) forget_object(gone[i]);
    count = 0;
  };
  while (ripe != nullptr) {
    Retired* const next = ripe->next;
    if (const Gone one = let_product_go(*ripe); one.record != nullptr) gone[count++] = one;
    if (count == kTogether) settle_gone();
    ripe = next;
  }
  if (count != 0) settle_gone();
}

bool Core::is_finished() noexcept {
  if (!is_shut_ || is_finished_ || inside_ != 0 || slots_.taken() != 0 || unreclaimed() != 0) return false;
  is_finished_ = true;
  return true;
}

void Core::go_out() noexcept {
  bool is_shut = false;
  {
    MutexLock lock(mutex_);
    is_shut = is_shut_;
  }
  if (is_shut) collect_own();
  bool finished = false;
  {
    MutexLock lock(mutex_);
    --inside_;
    finished = is_finished();
  }
  if (finished) delete this;
}

void Core::shut() noexcept {
  {
    MutexLock lock(mutex_);
    come_in();
    is_shut_ = true;  // from here on nothing is kept: what destructors make now would never leave
    shut_cores.fetch_add(1, std::memory_order_relaxed);
  }
  clear_all(Reason::closed);
  go_out();
}

// --- What the templates call

MemoryCore* MemoryCore::open(const MemoryOptions& options, const TypeFacts& facts) {
  auto* const core = new Core(options, facts);
  Core::enlist(*core);
  return core;
}

namespace {
Core& self(MemoryCore& core) noexcept {
  return static_cast<Core&>(core);
}
const Core& self(const MemoryCore& core) noexcept {
  return static_cast<const Core&>(core);
}
}  // namespace

void MemoryCore::close() noexcept {
  self(*this).shut();
}
Slot* MemoryCore::intern(const Recipe& recipe) {
  return self(*this).intern_recipe(recipe);
}

void MemoryCore::add_claim(Slot* slot) noexcept {
  slot->record->claims.fetch_add(1, std::memory_order_relaxed);
}

void MemoryCore::drop_claim(Slot* slot) noexcept {
  Record& record = *slot->record;
  std::uint32_t claims = record.claims.load(std::memory_order_relaxed);
  while (claims > 1) {
    if (record.claims.compare_exchange_weak(claims, claims - 1, std::memory_order_acq_rel)) return;
  }
  record.core.drop_last_claim(record);
}

std::string_view MemoryCore::canonical(const Slot* slot) noexcept {
  return slot->record->canonical();
}
Key MemoryCore::key(const Slot* slot) noexcept {
  return slot->record->key;
}
bool MemoryCore::owns(const Slot* slot) const noexcept {
  return slot == nullptr || self(*this).has(slot);
}

// Runs the user's destructor.
Core::Gone Core::destroy(ObjectHead& object) noexcept {
  if (object.is_at_home) {
    auto* const slot = reinterpret_cast<Slot*>(reinterpret_cast<std::byte*>(&object) - offsetof(Slot, home));
    Record& record = *slot->record;
    record.core.facts().destroy(reinterpret_cast<std::byte*>(slot) + record.core.facts().home_offset);
    return {&record, true};
  }
  auto& away = static_cast<AwayObject&>(object);
  Record& record = *away.slot->record;
  away.destroy(&away);
  return {&record, false};
}

void MemoryCore::finish(ObjectHead* object) noexcept {
  const Core::Gone gone = Core::destroy(*object);
  gone.record->core.object_is_gone(*gone.record, gone.was_at_home);
}

Slot* MemoryCore::find(const Recipe& recipe) const noexcept {
  Record* const record = self(*this).find_record(Core::key_of(recipe), recipe.canonical());
  return record == nullptr ? nullptr : &record->slot;
}

void* MemoryCore::look_closer(Slot& slot, std::uint32_t used) const noexcept {
  const std::uint32_t home_offset = self(*this).facts().home_offset;
  void* const value = home_offset != 0 && (used & kNotHome) == 0
                          ? reinterpret_cast<std::byte*>(&slot) + home_offset
                          : slot.value.load(std::memory_order_acquire);
  if (value != nullptr && !is_fresh(used, stamp())) renew(slot, used, stamp());
  return value;
}

Product MemoryCore::get_or_make(const Request& request) {
  return self(*this).answer(request);
}
bool MemoryCore::erase(Slot* slot) noexcept {
  return self(*this).has(slot) && self(*this).erase_product(slot->record, nullptr);
}
bool MemoryCore::erase(const Recipe& recipe) noexcept {
  return self(*this).erase_product(nullptr, &recipe);
}
bool MemoryCore::set_pinned(Slot* slot, bool pinned) noexcept {
  return self(*this).has(slot) && self(*this).pin_product(*slot->record, pinned);
}
void MemoryCore::clear() noexcept {
  self(*this).clear_all(Reason::cleared);
}
void MemoryCore::relieve(Pressure pressure) noexcept {
  self(*this).shrink(pressure);
}
MemoryStats MemoryCore::stats() const noexcept {
  return self(*this).read_stats();
}

}  // namespace larder::detail
