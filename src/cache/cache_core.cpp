#include "cache/cache_core.hpp"

#include <limits>
#include <utility>

#include "cache/mode.hpp"
#include "cache/store_options.hpp"
#include "events/log_file.hpp"
#include "larder/events.hpp"

namespace larder {
namespace {

constexpr std::size_t kLostRemembered = 256;

std::uint64_t weigh(const Kept& kept) {
  return sizeof(Kept) + kept.bytes.size() + kept.log.size();
}

MemoryOptions memory_options(const Options& said) {
  MemoryOptions options;
  options.is_inner = true;

  const bool keeps = *said.memory && !*said.disable;
  if (!keeps) {
    options.bytes_max = 0;
    options.policy = "lru";  // what keeps nothing need not learn whom to keep
    return options;
  }
  constexpr auto kNoLimit = std::numeric_limits<std::uint64_t>::max();
  options.bytes_max = *said.memory_size_max != 0 ? *said.memory_size_max : kNoLimit;
  if (*said.memory_entries_max != 0) options.count_max = *said.memory_entries_max;
  options.policy = *said.memory_policy;
  return options;
}

}  // namespace

CacheCore::CacheCore(settings::Settings settings)
    : settings_(std::move(settings)),
      mode_(to_mode(*settings_.values.mode).value_or(Mode::normal)),
      is_disabled_(*settings_.values.disable),
      memory_(memory_options(settings_.values), weigh),
      negatives_(*settings_.values.negative_time, clock_) {
  for (const auto& each : settings_.problems) problem(each.text(), Reason::disabled);
  if (is_disabled_) return;
  open_log();
  if (*settings_.values.persistent) open_disk();
  open_bundles();
}

CacheCore::~CacheCore() {
  close(close_time());
}

void CacheCore::problem(std::string text, Reason reason, Tier tier) {
  counters_.count(Counter::warnings);
  emit({.kind = EventKind::warning, .reason = reason, .tier = tier, .detail = text});
  const MutexLock lock(notes_mutex_);
  problems_.push_back(std::move(text));
}

void CacheCore::open_disk() {
  StoreOptions options = to_store_options(settings_.values);
  options.read_only = to_mode(*settings_.values.mode) == Mode::read_only;
  options.counters = &counters_;
  auto opened = Store::open(std::move(options));
  if (!opened) {
    // The store has sent the warning event itself.
    const MutexLock lock(notes_mutex_);
    problems_.push_back(std::move(opened.error().what));
    return;
  }
  store_ = std::move(*opened);
  takes_notes_ = !store_->options().read_only;
  // With no bytes to hold it refuses every write, and still takes the notes.
  writes_ = std::make_unique<WriteBehind>(WriteBehindOptions{
      .bytes_max = *settings_.values.write_behind_size,
      .delay = *settings_.values.write_behind_delay,
      .write = [this](const PendingWrite& each) { write(each); },
      .idle = [this] { take_notes(); },
  });
}

void CacheCore::open_log() {
  const Options& said = settings_.values;
  if (said.log->empty()) return;
  if (Result<void> opened = log_to(*said.log, *said.log_size_max); !opened) {
    problem("log: " + opened.error().what, Reason::unwritable);
  }
}

void CacheCore::open_bundles() {
  const Options& said = settings_.values;
  if (said.bundles->empty()) return;
  bundles_ =
      Bundles(*said.bundles, {.key_files = *said.bundle_keys, .require_signature = *said.require_signature},
              [this](std::string what, Reason reason) { problem(std::move(what), reason, Tier::bundle); });
}

bool CacheCore::flush(std::chrono::nanoseconds deadline) {
  const bool has_written = writes_ == nullptr || writes_->flush(deadline);
  take_notes();
  return has_written;
}

void CacheCore::close(std::chrono::nanoseconds deadline) {
  if (is_closed_.exchange(true)) return;
  if (const MutexLock lock(preload_mutex_); preload_ != nullptr) preload_->stop();
  if (writes_ != nullptr) tell_lost(writes_->close(deadline));
  take_notes();
  memory_.clear();
}

void CacheCore::tell_no_turns() noexcept try {
  if (lacks_turns_.exchange(true, std::memory_order_relaxed)) return;
  problem(
      *settings_.values.runtime_dir +
          ": no lock can be had there, so processes may make the same product at once; see larder doctor, "
          "or set runtime-dir to a directory of yours",
      Reason::unwritable, Tier::disk);
} catch (const std::bad_alloc&) {
  // Nothing can be said then.
}

void CacheCore::tell_lost(const PendingWrites& lost) noexcept {
  if (lost.empty()) return;
  counters_.count(Counter::warnings);
  // The end must not take much longer than it may: of many, the first are enough to ask `larder why` about.
  std::size_t told = 0;
  for (const auto& write : lost) {
    if (told++ == kLostRemembered) break;
    store_->remember_absence(write->key, Reason::closed);
  }
  try {
    emit({.kind = EventKind::warning,
          .reason = Reason::closed,
          .tier = Tier::disk,
          .detail = std::to_string(lost.size()) + (lost.size() == 1 ? " product was" : " products were") +
                    " not written: the time to close was over; raise close-time, or flush before the end"});
  } catch (const std::bad_alloc&) {
    // Counted it is.
  }
}

CacheStats CacheCore::stats() const {
  const MemoryStats memory = memory_.stats();
  CacheStats stats;
  stats.totals = counters_.totals();
  stats.memory_entries = memory.count;
  stats.memory_bytes = memory.bytes;
  if (writes_ != nullptr) {
    stats.pending_entries = writes_->pending_entries();
    stats.pending_bytes = writes_->pending_bytes();
  }
  stats.has_disk = store_ != nullptr;
  stats.bundles = bundles_.size();
  stats.bundle_entries = bundles_.entries();
  const PreloadReport preload = preloaded();
  stats.preloaded_entries = preload.loaded;
  stats.preloaded_bytes = preload.loaded_bytes;
  stats.preload_unfit = preload.unfit;
  return stats;
}

Cache::Cache(std::unique_ptr<CacheCore> core) noexcept : core_(std::move(core)) {}
Cache::Cache(Cache&& other) noexcept = default;
Cache& Cache::operator=(Cache&& other) noexcept = default;
Cache::~Cache() = default;

Cache Cache::open(const Options& options) {
  return Cache(std::make_unique<CacheCore>(settings::resolve(options)));
}

Result<Product> Cache::request(const Recipe& recipe, detail::AnyMaker maker, const Request& how) {
  return core_->request(recipe, maker, how);
}
std::optional<Product> Cache::get(const Recipe& recipe, const Request& how) {
  return core_->get(recipe, how);
}
bool Cache::put(const Recipe& recipe, Bytes bytes, const Origin& origin) {
  return core_->put(recipe, std::move(bytes), origin);
}
bool Cache::reject(const Recipe& recipe) {
  return core_->remove(recipe, Reason::refused);
}
bool Cache::erase(const Recipe& recipe) {
  return core_->remove(recipe, Reason::cleared);
}
Cleared Cache::clear(const Selector& selector) {
  return core_->clear(selector);
}
bool Cache::flush(std::chrono::nanoseconds deadline) {
  return core_->flush(deadline);
}
void Cache::close(std::chrono::nanoseconds deadline) {
  core_->close(deadline);
}
bool Cache::preload(std::function<bool(const Recipe&)> fits) {
  return core_->preload(std::move(fits));
}
bool Cache::wait_for_preload(std::chrono::nanoseconds deadline) const {
  return core_->wait_for_preload(deadline);
}
CacheStats Cache::stats() const {
  return core_->stats();
}
std::vector<std::string> Cache::problems() const {
  return core_->problems();
}

}  // namespace larder
