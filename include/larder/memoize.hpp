// memoize(f) is f with a memory: it computes each result once and then finds it again.
//
//   auto area = larder::memoize([](double width, double height) { return slow_area(width, height); });
//   auto ways = larder::memoize<long(int, int)>([](auto& self, int rows, int columns) -> long {
//     return rows == 0 || columns == 0 ? 1 : self(rows - 1, columns) + self(rows, columns - 1);
//   });
//
// Whether f is pure is the caller's promise (for proof, there is the compiler plugin: docs/reuse.md). What it
// costs, next to calling f (docs/benchmarks.md has the figures and their command):
//   - by default each thread has a table of its own: a hit with a number as argument takes 2 ns more than an
//     empty call, with a string of 40 bytes 25 ns, a miss 20 ns, and nothing shared is touched; two threads
//     may both compute a result
//   - shared: a hit is a look-up of a recipe in a MemoryTier, 150 ns, a miss 1 us; each result is computed
//     once, others wait for it, and no lock is held meanwhile
//   - kept (a cache is given): what the thread's table does not have is asked of the cache, which may find it
//     on disk, made by another process. `name` and `version` are part of its identity: change the version
//     whenever f's results change
//
// Arguments are compared by their bits where they are numbers (-0.0 is not 0.0, a NaN is itself), else by ==.
// What f throws goes to its caller and nothing is kept. A memo may be called by any thread, must outlive the
// calls, and is neither copied nor moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "larder/cache.hpp"
#include "larder/detail/memo_recipe.hpp"
#include "larder/detail/memo_table.hpp"
#include "larder/memory.hpp"

namespace larder {

struct MemoOptions {
  // Results kept, per thread; of a shared memo, in all. At least four.
  std::size_t entries_max = 1 << 16;
  // One table for all threads, each result computed once.
  bool is_shared = false;
  // Results outlive the process where this cache has a disk. Must outlive the memo; needs `name`.
  Cache* cache = nullptr;
  std::string_view name{};
  std::string_view version{};
};

struct MemoStats {
  std::uint64_t hits = 0;    // of threads that live
  std::uint64_t misses = 0;  // f was called, or the cache asked
  std::size_t entries = 0;
  std::size_t threads = 0;  // that have a table
};

template <typename Signature, typename F>
class Memo;

template <typename R, typename... Args, typename F>
class Memo<R(Args...), F> {
  using Value = std::decay_t<R>;
  template <typename T>
  using Kept = std::remove_cv_t<std::remove_reference_t<T>>;
  using Table = detail::MemoTable<Value, Kept<Args>...>;
  static constexpr bool has_bytes =
      (detail::is_memo_bytes<Kept<Args>> && ...) && detail::is_memo_bytes<Value>;
  static_assert(!std::is_void_v<R>, "there is nothing to keep of a function that returns nothing");
  static_assert(!std::is_reference_v<R>, "a result that is a reference would outlive what it refers to");
  static_assert(!(std::is_pointer_v<std::decay_t<Args>> || ...),
                "a pointer does not say what it points to: pass the value, or std::string for text");
  static_assert(!(std::is_same_v<Kept<Args>, std::string_view> || ...),
                "a view does not keep what it shows: pass std::string");

 public:
  // Throws std::bad_alloc, and std::invalid_argument for a cache without a name.
  Memo(F f, const MemoOptions& options)
      : f_(std::move(f)),
        core_(detail::MemoCore::open()),
        number_(core_->number()),
        serial_(core_->serial()),
        entries_max_(options.entries_max),
        cache_(options.cache),
        name_(options.name),
        version_(options.version) {
    if (cache_ != nullptr && name_.empty())
      throw std::invalid_argument("larder::memoize: a memo that is kept needs a name");
    if constexpr (has_bytes) {
      if (options.is_shared)
        tier_ = std::make_unique<MemoryTier<Value>>(
            MemoryOptions{.bytes_max = ~std::uint64_t{0} >> 1, .count_max = options.entries_max});
    } else if (options.is_shared || cache_ != nullptr) {
      throw std::invalid_argument(
          "larder::memoize: a shared or kept memo needs arguments and results that are plain values without "
          "padding or pointers, std::string, or std::vector of plain values");
    }
  }
  ~Memo() { core_->close(); }
  Memo(const Memo&) = delete;
  Memo& operator=(const Memo&) = delete;

  // What f returns for these arguments. Throws what f throws.
  Value operator()(const Kept<Args>&... args) {
    detail::MemoThread& thread = detail::memo_thread;
    Table* table = nullptr;
    if (number_ < thread.count && thread.places[number_].serial == serial_) [[likely]]
      table = static_cast<Table*>(thread.places[number_].table);
    else if (tier_ == nullptr)
      table = static_cast<Table*>(core_->enter(thread, make_table, entries_max_));
    const std::uint64_t hash = Table::hash(args...);
    if (table != nullptr) [[likely]] {
      if (const Value* const value = table->find(hash, args...)) return *value;
    }
    return miss(hash, args...);
  }

  // Forgets every result in memory; what a cache keeps stays. Calls that run meanwhile may keep theirs.
  void clear() noexcept {
    core_->forget();
    if (tier_ != nullptr) tier_->clear();
  }

  MemoStats stats() const {
    if (tier_ != nullptr) {
      const CounterTotals totals = tier_->totals();
      const auto count = [&](Outcome outcome) { return totals[outcome]; };
      return {count(Outcome::memory_hit) + count(Outcome::joined), count(Outcome::made), tier_->stats().count,
              0};
    }
    const detail::MemoSums sums = core_->sums();
    return {sums.hits, sums.misses, sums.entries, sums.threads};
  }

 private:
  static std::unique_ptr<detail::MemoTableBase> make_table(std::size_t entries_max) {
    return std::make_unique<Table>(entries_max);
  }

  Value call(const Kept<Args>&... args) {
    if constexpr (std::is_invocable_v<F&, Memo&, const Kept<Args>&...>)
      return f_(*this, args...);
    else
      return std::invoke(f_, args...);
  }

  Recipe recipe(const Kept<Args>&... args) const {
    Recipe result("function-value");
    result.add("name", name_).add("version", version_);
    (result.add("argument", detail::memo_bytes(args)), ...);
    return result;
  }

  // From the cache, else computed.
  Value obtain(const Kept<Args>&... args) {
    if constexpr (has_bytes) {
      if (cache_ != nullptr) {
        std::optional<Value> made;
        const Result<Product> product = cache_->get_or_make(recipe(args...), [&] {
          made.emplace(call(args...));
          return std::string(detail::memo_bytes(*made));
        });
        if (made) return std::move(*made);
        if (product)
          if (std::optional<Value> value = detail::memo_from_bytes<Value>(product->bytes.text()))
            return std::move(*value);
      }
    }
    return call(args...);
  }

  __attribute__((noinline)) Value miss(std::uint64_t hash, const Kept<Args>&... args) {
    if constexpr (has_bytes) {
      if (tier_ != nullptr) {
        const auto held = tier_->get_or_make(recipe(args...), [&] { return obtain(args...); });
        if (held) return **held;
        return call(args...);  // asked for within its own making, or out of memory: without the tier
      }
    }
    // The arguments may be references into what f changes.
    typename Table::Key key(args...);
    Value value = obtain(args...);
    // Only now: f may have called this memo, and its table may have grown or gone.
    detail::MemoThread& thread = detail::memo_thread;
    if (number_ < thread.count && thread.places[number_].serial == serial_) {
      try {
        static_cast<Table*>(thread.places[number_].table)->insert(hash, std::move(key), value);
      } catch (const std::bad_alloc&) {  // the result is right all the same
      }
    }
    return value;
  }

  F f_;
  const std::shared_ptr<detail::MemoCore> core_;
  const std::size_t number_;
  const std::uint64_t serial_;
  const std::size_t entries_max_;
  Cache* const cache_;
  const std::string name_;
  const std::string version_;
  std::unique_ptr<MemoryTier<Value>> tier_;
};

namespace detail {

template <typename T>
struct SignatureOf;
template <typename R, typename... Args>
struct SignatureOf<R (*)(Args...)> {
  using type = R(Args...);
};
template <typename R, typename... Args>
struct SignatureOf<R (*)(Args...) noexcept> {
  using type = R(Args...);
};
template <typename C, typename R, typename... Args>
struct SignatureOf<R (C::*)(Args...)> {
  using type = R(Args...);
};
template <typename C, typename R, typename... Args>
struct SignatureOf<R (C::*)(Args...) const> {
  using type = R(Args...);
};
template <typename C, typename R, typename... Args>
struct SignatureOf<R (C::*)(Args...) noexcept> {
  using type = R(Args...);
};
template <typename C, typename R, typename... Args>
struct SignatureOf<R (C::*)(Args...) const noexcept> {
  using type = R(Args...);
};
template <typename F>
struct CallableSignature : SignatureOf<decltype(&F::operator())> {};
template <typename R, typename... Args>
struct CallableSignature<R (*)(Args...)> : SignatureOf<R (*)(Args...)> {};
template <typename R, typename... Args>
struct CallableSignature<R (*)(Args...) noexcept> : SignatureOf<R (*)(Args...) noexcept> {};

}  // namespace detail

// `f` is a function, or an object that is called in one way only.
template <typename F>
auto memoize(F f, const MemoOptions& options = {}) {
  return Memo<typename detail::CallableSignature<F>::type, F>(std::move(f), options);
}

// For objects that are called in several ways, and for recursion: where `f` takes the memo itself as its
// first argument, its calls go through the memo.
template <typename Signature, typename F>
Memo<Signature, F> memoize(F f, const MemoOptions& options = {}) {
  return Memo<Signature, F>(std::move(f), options);
}

}  // namespace larder
