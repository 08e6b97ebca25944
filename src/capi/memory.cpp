#include "larder/memory.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "capi/counters.hpp"
#include "capi/recipe.hpp"
#include "larder/c/memory.h"

using namespace larder;

namespace {

// A caller's object, given back to him when its last holder lets it go.
struct CallersObject {
  explicit CallersObject(const larder_object& from) noexcept : object(from) {}
  CallersObject(CallersObject&& other) noexcept : object(std::exchange(other.object, {})) {}
  ~CallersObject() {
    if (object.destroy != nullptr) object.destroy(object.object, object.context);
  }
  larder_object object;
};

using Objects = MemoryTier<CallersObject>;

static_assert(LARDER_PRESSURE_MODERATE == static_cast<int>(Pressure::moderate));
static_assert(LARDER_PRESSURE_CRITICAL == static_cast<int>(Pressure::critical));

MemoryOptions to_options(const larder_memory_options* from) {
  MemoryOptions options;
  if (from == nullptr) return options;
  if (from->bytes_max != 0) options.bytes_max = from->bytes_max;
  if (from->count_max != 0) options.count_max = from->count_max;
  if (from->policy != nullptr) options.policy = from->policy;
  if (from->low_water != 0) options.low_water = from->low_water;
  return options;
}

}  // namespace

struct larder_memory {
  explicit larder_memory(const MemoryOptions& options)
      : tier(options, [](const CallersObject& each) { return each.object.weight; }) {}
  Objects tier;
};

struct larder_interned {
  InternedRecipe<CallersObject> recipe;
  const larder_memory* memory;  // to be compared only: it may be gone
};

struct larder_held {
  Held<CallersObject> held;
};

struct larder_guard {
  explicit larder_guard(larder_memory& its_memory) : memory(&its_memory), guard(its_memory.tier) {}
  const larder_memory* memory;
  Guard<CallersObject> guard;
};

larder_memory* larder_memory_create(const larder_memory_options* options, larder_error** error) {
  return capi::guarded(error,
                       [&]() -> Result<larder_memory*> { return new larder_memory(to_options(options)); });
}

void larder_memory_destroy(larder_memory* memory) {
  delete memory;
}

larder_interned* larder_memory_intern(larder_memory* memory, const larder_recipe* recipe,
                                      larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_interned*> {
    return new larder_interned{memory->tier.intern(recipe->recipe), memory};
  });
}

void larder_interned_destroy(larder_interned* interned) {
  delete interned;
}

larder_held* larder_memory_get_or_make(larder_memory* memory, const larder_interned* recipe,
                                       larder_memory_make make, void* context,
                                       const larder_make_options* options, larder_answer* answer,
                                       larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_held*> {
    MakeOptions how;
    if (options != nullptr) {
      if (options->parent != nullptr) how.parent = Parent(options->parent->recipe);
      how.pinned = options->pinned;
      how.group = options->group;
    }
    if (recipe->memory != memory)
      return fail(Code::invalid_argument, "get_or_make: the interned recipe is another memory's");
    Answer said;
    auto held = memory->tier.get_or_make(
        recipe->recipe,
        [&]() -> Result<CallersObject> {
          larder_object made{};
          larder_error* why = nullptr;
          const bool is_made = make(&made, &why, context);
          Error failure{Code::maker_failed, "maker: said no"};
          if (why != nullptr) {
            failure = Error{capi::to_enum<Code>(larder_error_code(why)), larder_error_message(why)};
          }
          larder_error_destroy(why);
          if (!is_made) return fail(failure.code, std::move(failure.what));
          return CallersObject(made);
        },
        how, &said);
    if (answer != nullptr) {
      *answer = {static_cast<larder_outcome>(said.outcome), static_cast<larder_reason>(said.reason),
                 said.cost.count()};
    }
    if (!held) return fail(held.error().code, std::move(held.error().what));
    return new larder_held{std::move(*held)};
  });
}

larder_held* larder_memory_get(larder_memory* memory, const larder_interned* recipe) {
  if (recipe->memory != memory) return nullptr;
  return capi::guarded(nullptr, [&]() -> Result<larder_held*> {
    auto held = memory->tier.get(recipe->recipe);
    return held ? new larder_held{std::move(held)} : nullptr;
  });
}

void* larder_held_object(const larder_held* held) {
  return held->held->object.object;
}

void larder_held_destroy(larder_held* held) {
  delete held;
}

larder_guard* larder_guard_create(larder_memory* memory, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_guard*> { return new larder_guard(*memory); });
}

void* larder_guard_get(larder_guard* guard, const larder_interned* recipe) {
  if (recipe->memory != guard->memory) return nullptr;
  const CallersObject* const found = guard->guard.get(recipe->recipe);
  return found == nullptr ? nullptr : found->object.object;
}

void larder_guard_get_many(larder_guard* guard, const larder_interned* const* recipes, void** objects,
                           size_t count) {
  constexpr size_t kBatch = 32;
  std::array<const InternedRecipe<CallersObject>*, kBatch> asked;
  std::array<CallersObject*, kBatch> found;
  for (size_t begin = 0; begin < count; begin += kBatch) {
    const size_t batch = std::min(kBatch, count - begin);
    const auto batch_of = std::span(recipes + begin, batch);
    if (!std::ranges::all_of(batch_of,
                             [&](const larder_interned* each) { return each->memory == guard->memory; })) {
      for (size_t i = 0; i < batch; ++i) objects[begin + i] = larder_guard_get(guard, batch_of[i]);
      continue;
    }
    for (size_t i = 0; i < batch; ++i) asked[i] = &batch_of[i]->recipe;
    guard->guard.get_many(std::span(asked.data(), batch), found);
    for (size_t i = 0; i < batch; ++i) {
      objects[begin + i] = found[i] == nullptr ? nullptr : found[i]->object.object;
    }
  }
}

void larder_guard_destroy(larder_guard* guard) {
  delete guard;
}

bool larder_memory_erase(larder_memory* memory, const larder_interned* recipe) {
  return memory->tier.erase(recipe->recipe);
}

void larder_memory_clear(larder_memory* memory) {
  memory->tier.clear();
}

bool larder_memory_set_pinned(larder_memory* memory, const larder_interned* recipe, bool pinned) {
  return memory->tier.set_pinned(recipe->recipe, pinned);
}

void larder_memory_relieve(larder_memory* memory, larder_pressure pressure) {
  if (pressure == LARDER_PRESSURE_MODERATE || pressure == LARDER_PRESSURE_CRITICAL)
    memory->tier.relieve(capi::to_enum<Pressure>(pressure));
}

larder_memory_stats larder_memory_get_stats(const larder_memory* memory) {
  const MemoryStats stats = memory->tier.stats();
  return {stats.count, stats.interned, stats.bytes, stats.unreclaimed, stats.unreclaimed_bytes};
}

larder_totals* larder_memory_totals(const larder_memory* memory, larder_error** error) {
  return capi::guarded(error,
                       [&]() -> Result<larder_totals*> { return new larder_totals{memory->tier.totals()}; });
}
