// Writing down what happened, for the tool and for the next start, and reading ahead by it.
#include <algorithm>
#include <new>
#include <utility>

#include "cache/cache_core.hpp"
#include "cache/counts.hpp"
#include "cache/late_notes.hpp"

namespace larder {
namespace {

// So many misses wait in memory at most until they are written down.
constexpr std::size_t kMissesWaiting = 256;

}  // namespace

void CacheCore::miss(const Attempt& attempt) {
  if (store_ == nullptr || *settings_.values.misses_kept == 0) return;
  MutexLock lock(notes_mutex_);
  if (misses_.size() >= std::min<std::uint64_t>(kMissesWaiting, *settings_.values.misses_kept))
    misses_.erase(misses_.begin());
  misses_.push_back({attempt.recipe, attempt.reason, clock_.unix_ns(), *settings_.values.program});
}

void CacheCore::take_notes() noexcept {
  if (store_ == nullptr) return;
  try {
    const Notes notes = store_->notes();
    MutexLock lock(notes_mutex_);
    const CounterTotals totals = counters_.totals();
    if (totals != noted_totals_) {
      CounterTotals news = totals;
      news -= noted_totals_;
      auto now = std::make_unique<HistogramSet>(*histograms_);
      auto recorded = std::make_unique<HistogramSet>(*now);
      if (noted_histograms_ != nullptr) *recorded -= *noted_histograms_;
      if (add_counts(notes, news, *recorded, clock_.unix_ns())) {
        noted_totals_ = totals;
        noted_histograms_ = std::move(now);
      }
    }
    if (add_misses(notes, misses_)) misses_.clear();
    order_.save(notes, *settings_.values.program);
  } catch (...) {
    // Out of memory: notes may be lost.
  }
}

bool LateNotes::has_disk(const Cache& cache) noexcept {
  return cache.core_->store_ != nullptr;
}

void LateNotes::put_off(Cache& cache) noexcept {
  cache.core_->puts_notes_off_.store(true, std::memory_order_relaxed);
}

void LateNotes::take_up(Cache& cache) noexcept {
  CacheCore& core = *cache.core_;
  if (core.has_notes_.load(std::memory_order_relaxed) && core.has_notes_.exchange(false))
    core.writes_->remind();
}

bool CacheCore::preload(std::function<bool(const Recipe&)> fits) {
  if (store_ == nullptr || !*settings_.values.preload || !*settings_.values.memory || is_closed_)
    return false;
  MutexLock lock(preload_mutex_);
  if (preload_ != nullptr) return false;
  PreloadOptions options{.order = read_start_order(store_->notes(), *settings_.values.program),
                         .bytes_max = *settings_.values.preload_size_max,
                         .time_max = *settings_.values.preload_time_max,
                         .fits = std::move(fits),
                         .take = [this](const Recipe& recipe, Entry entry) {
                           std::string log(entry.log);
                           // Whoever was faster keeps his.
                           (void)memory_.get_or_make(recipe, [&] {
                             return Kept(std::move(entry.product), std::move(log), entry.cost);
                           });
                         }};
  if (options.order.empty()) return false;
  preload_ = std::make_shared<Preload>(*store_, std::move(options));
  return true;
}

PreloadReport CacheCore::preloaded() const {
  MutexLock lock(preload_mutex_);
  if (preload_ == nullptr) return {};
  return preload_->report();
}

bool CacheCore::wait_for_preload(std::chrono::nanoseconds deadline) const {
  std::shared_ptr<Preload> preload;
  {
    MutexLock lock(preload_mutex_);
    preload = preload_;
  }
  return preload == nullptr || preload->wait(deadline);
}

void CacheCore::before_fork() noexcept {
  preload_mutex_.lock();
  notes_mutex_.lock();
  order_.before_fork();
  negatives_.before_fork();
  refusals_.before_fork();
}

void CacheCore::after_fork() noexcept {
  refusals_.after_fork();
  negatives_.after_fork();
  order_.after_fork();
  notes_mutex_.unlock();
  preload_mutex_.unlock();
}

// What waited to be noted is the parent's to note; counters start at zero by themselves.
void CacheCore::in_child() noexcept {
  noted_totals_ = {};
  misses_.clear();
  try {
    noted_histograms_ = std::make_unique<HistogramSet>(*histograms_);
  } catch (const std::bad_alloc&) {  // some of it is noted by both
  }
  if (preload_ != nullptr) preload_->forget_thread();
  after_fork();
}

}  // namespace larder
