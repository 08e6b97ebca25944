#include "cache/preload.hpp"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>
#include <system_error>

namespace larder {
namespace {

constexpr int kNicer = 10;

// Of this thread alone, as Linux has it.
void lower_priority() noexcept {
  const auto me = static_cast<id_t>(::syscall(SYS_gettid));
  (void)::setpriority(PRIO_PROCESS, me, ::getpriority(PRIO_PROCESS, me) + kNicer);
}

}  // namespace

Preload::Preload(Store& store, PreloadOptions options) : store_(store), options_(std::move(options)) {
  try {
    thread_ = std::make_unique<std::thread>([this] { run(); });
  } catch (const std::system_error&) {
    is_done_ = true;
  }
}

void Preload::forget_thread() noexcept {
  (void)thread_.release();
  is_done_.store(true, std::memory_order_release);
}

void Preload::stop() noexcept {
  if (thread_ == nullptr) return;
  stops_.store(true, std::memory_order_relaxed);
  thread_->join();
  thread_.reset();
}

bool Preload::wait(std::chrono::nanoseconds deadline) const {
  const auto end = std::chrono::steady_clock::now() + deadline;
  while (!is_done_.load(std::memory_order_acquire)) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

PreloadReport Preload::report() const noexcept {
  return {.loaded = loaded_.load(std::memory_order_relaxed),
          .loaded_bytes = loaded_bytes_.load(std::memory_order_relaxed),
          .unfit = unfit_.load(std::memory_order_relaxed),
          .is_done = is_done_.load(std::memory_order_acquire)};
}

void Preload::run() {
  lower_priority();
  try {
    read_ahead();
  } catch (const std::bad_alloc&) {  // then what is left is read when it is asked for
  }
  is_done_.store(true, std::memory_order_release);
}

void Preload::read_ahead() {
  const auto begin = Clock::system().steady();
  for (const FirstUse& use : options_.order) {
    if (stops_.load(std::memory_order_relaxed)) break;
    if (options_.time_max.count() > 0 && Clock::system().steady() - begin > options_.time_max) break;
    EntryInfo info;
    if (store_.inspect(use.key, info) != Reason::none) continue;
    const std::uint64_t after = loaded_bytes_.load(std::memory_order_relaxed) + info.product_bytes;
    if (options_.bytes_max != 0 && after > options_.bytes_max) break;
    const auto recipe = Recipe::from_canonical(info.recipe);
    if (!recipe) continue;
    if (options_.fits && !options_.fits(*recipe)) {
      unfit_.fetch_add(1, std::memory_order_relaxed);
      continue;
    }
    Lookup found = store_.get(*recipe, use.key);
    if (!found) continue;
    options_.take(*recipe, std::move(found.entry));
    loaded_.fetch_add(1, std::memory_order_relaxed);
    loaded_bytes_.store(after, std::memory_order_relaxed);
  }
}

}  // namespace larder
