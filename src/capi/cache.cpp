#include "larder/cache.hpp"

#include "capi/cache.hpp"
#include "capi/counters.hpp"
#include "capi/options.hpp"
#include "capi/recipe.hpp"
#include "larder/c/cache.h"

using namespace larder;

namespace {

static_assert(LARDER_MODE_VERIFY == static_cast<int>(Mode::verify));

// `texts` holds what the request shows.
Request to_request(const larder_request* from, std::vector<Text>& texts) {
  Request how;
  if (from == nullptr) return how;
  const bool is_mode = from->mode >= LARDER_MODE_AS_OPENED && from->mode <= LARDER_MODE_VERIFY;
  how.mode = is_mode ? capi::to_enum<Mode>(from->mode) : Mode::as_opened;
  how.load_first = from->load_first;
  how.may_map = from->may_map;
  for (const larder_named_text& each : std::span(from->texts, from->text_count)) {
    texts.push_back({capi::to_text(each.name), capi::to_text(each.text)});
  }
  how.texts = texts;
  return how;
}

larder_product to_c(Product&& product) {
  return {new larder_bytes{std::move(product.bytes)}, static_cast<larder_outcome>(product.outcome),
          static_cast<larder_reason>(product.reason), product.cost.count()};
}

// Runs a caller's maker and takes over what it hands out, also when it says no.
Result<Made> run(larder_cache_make make, void* context) {
  larder_made_product made{};
  larder_error* why = nullptr;
  const bool is_made = make(&made, &why, context);
  const std::unique_ptr<larder_bytes, void (*)(larder_bytes*)> bytes(made.bytes, larder_bytes_destroy);
  const std::unique_ptr<larder_error, void (*)(larder_error*)> failure(why, larder_error_destroy);
  if (!is_made) {
    if (failure == nullptr) return fail(Code::maker_failed, "maker: said no");
    return fail(capi::to_enum<Code>(larder_error_code(failure.get())), larder_error_message(failure.get()));
  }
  if (bytes == nullptr) {
    return fail(Code::maker_failed, "maker: said yes and gave no product; an empty one is bytes of size 0");
  }
  return Made{.bytes = bytes->bytes, .log = std::string(capi::given_text(made.log)), .keep = !made.discard};
}

}  // namespace

larder_cache* larder_cache_open(const larder_options* options, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_cache*> {
    return new larder_cache{Cache::open(options != nullptr ? options->options : Options())};
  });
}

void larder_cache_destroy(larder_cache* cache) {
  delete cache;
}

bool larder_cache_get_or_make(larder_cache* cache, const larder_recipe* recipe, larder_cache_make make,
                              void* context, const larder_request* how, larder_product* product,
                              larder_error** error) {
  *product = {};
  return capi::guarded(error, [&]() -> Result<bool> {
    std::vector<Text> texts;
    auto made = cache->cache.get_or_make(
        recipe->recipe, [&] { return run(make, context); }, to_request(how, texts));
    if (!made) return fail(made.error().code, std::move(made.error().what));
    *product = to_c(std::move(*made));
    return true;
  });
}

bool larder_cache_get(larder_cache* cache, const larder_recipe* recipe, const larder_request* how,
                      larder_product* product, larder_error** error) {
  *product = {};
  return capi::guarded(error, [&]() -> Result<bool> {
    std::vector<Text> texts;
    auto found = cache->cache.get(recipe->recipe, to_request(how, texts));
    if (!found) return false;
    *product = to_c(std::move(*found));
    return true;
  });
}

bool larder_cache_put(larder_cache* cache, const larder_recipe* recipe, larder_view product, int64_t cost_ns,
                      larder_error** error) {
  return capi::guarded(error, [&]() -> Result<bool> {
    return cache->cache.put(recipe->recipe, Bytes(capi::given_bytes(product)),
                            {.cost = Nanoseconds(cost_ns)});
  });
}

bool larder_cache_reject(larder_cache* cache, const larder_recipe* recipe) {
  return capi::guarded(nullptr, [&]() -> Result<bool> { return cache->cache.reject(recipe->recipe); });
}

bool larder_cache_erase(larder_cache* cache, const larder_recipe* recipe) {
  return capi::guarded(nullptr, [&]() -> Result<bool> { return cache->cache.erase(recipe->recipe); });
}

larder_cleared larder_cache_clear(larder_cache* cache, const larder_selector* selector) {
  larder_cleared result{};
  (void)capi::guarded(nullptr, [&]() -> Result<bool> {
    Selector meant;
    if (selector != nullptr) {
      meant.kind = capi::given_text(selector->kind);
      meant.program = capi::given_text(selector->program);
      meant.path = capi::given_text(selector->path);
      if (selector->older_than_ns != 0) meant.older_than = Nanoseconds(selector->older_than_ns);
    }
    const Cleared cleared = cache->cache.clear(meant);
    result = {cleared.entries, cleared.bytes, cleared.bundle_entries};
    return true;
  });
  return result;
}

bool larder_cache_preload(larder_cache* cache, larder_cache_fits fits, void* context) {
  return capi::guarded(nullptr, [&]() -> Result<bool> {
    if (fits == nullptr) return cache->cache.preload();
    return cache->cache.preload([fits, context](const Recipe& recipe) {
      const larder_recipe kept{recipe};
      return fits(&kept, context);
    });
  });
}

bool larder_cache_wait_for_preload(const larder_cache* cache, int64_t deadline_ns) {
  return cache->cache.wait_for_preload(Nanoseconds(deadline_ns));
}

bool larder_cache_flush(larder_cache* cache, int64_t deadline_ns) {
  return capi::guarded(nullptr,
                       [&]() -> Result<bool> { return cache->cache.flush(Nanoseconds(deadline_ns)); });
}

void larder_cache_close(larder_cache* cache, int64_t deadline_ns) {
  (void)capi::guarded(nullptr, [&]() -> Result<bool> {
    cache->cache.close(Nanoseconds(deadline_ns));
    return true;
  });
}

larder_cache_stats larder_cache_get_stats(const larder_cache* cache) {
  const CacheStats stats = cache->cache.stats();
  return {stats.memory_entries,    stats.memory_bytes,    stats.pending_entries, stats.pending_bytes,
          stats.preloaded_entries, stats.preloaded_bytes, stats.preload_unfit,   stats.has_disk,
          stats.bundles,           stats.bundle_entries};
}

larder_totals* larder_cache_totals(const larder_cache* cache, larder_error** error) {
  return capi::guarded(
      error, [&]() -> Result<larder_totals*> { return new larder_totals{cache->cache.stats().totals}; });
}

larder_bytes* larder_cache_problems(const larder_cache* cache, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_bytes*> {
    std::string lines;
    for (const std::string& each : cache->cache.problems()) lines += each + '\n';
    return capi::new_bytes(std::move(lines));
  });
}
