// A Cache answers requests for products from its tiers, nearest first: memory, disk, bundles. What none of
// them holds it has made, once, and keeps. What a bundle holds is not copied to the disk: put() it there.
// Any thread may call anything at any time; a forked child may go on.
//
//   larder::Cache cache = larder::Cache::open({.dir = "/home/me/.cache/mine"});
//   larder::Recipe recipe("opencl-program");
//   recipe.add("source", source).add("options", options).add("driver", driver_version);
//   larder::Result<larder::Product> product = cache.get_or_make(recipe, [&] { return compile(source,
//   options); });
//
// Nothing that fails in the cache fails its user: at worst a product is made that could have been found. What
// was in the way is told by events, by problems() and by each product's reason.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "larder/bytes.hpp"
#include "larder/counters.hpp"
#include "larder/event.hpp"
#include "larder/export.h"
#include "larder/options.hpp"
#include "larder/recipe.hpp"
#include "larder/result.hpp"

namespace larder {

// How one request goes about it. Numbers are part of the C ABI.
enum class Mode : std::uint8_t {
  as_opened = 0,    // what the options said
  normal = 1,       // find it, else make and keep it
  bypass = 2,       // make it; look nowhere, keep nothing
  refresh = 3,      // make it and keep it in the place of what was kept
  read_only = 4,    // find it, else make it; write nothing to the disk
  require_hit = 5,  // find it; not_found instead of making it
  verify = 6,  // as normal, but a share of the hits is made again and compared; a difference is put aside
};
// `normal` is called `default` in settings.
LARDER_API std::string_view name(Mode mode) noexcept;

// The text of an ingredient that the recipe holds only as a digest (kIngredientInlineMax), kept beside the
// product on disk for `larder show` and `larder why`, compressed, as far as the option attachment_max lets
// it. One that is not what the recipe's digest says is left out.
struct Text {
  std::string_view name;  // the ingredient's
  std::string_view text;
};

struct Request {
  Mode mode = Mode::as_opened;
  bool load_first = false;  // at the next start, preload it before all others
  bool may_map = false;     // a large product may be a mapping of its file: see docs/format.md for when not
  std::span<const Text> texts{};  // kept if this request makes; read during the call only
};

// What a maker has made.
struct Made {
  Bytes bytes{};
  std::string log{};  // what the maker said, kept with the product
  bool keep = true;   // false: hand it out, to those who wait for it too, and keep it nowhere
  // What having it saves, when that is not the time that the maker took.
  std::optional<Nanoseconds> cost{};
};

// What a request gives.
struct Product {
  Bytes bytes{};
  std::string log{};
  Nanoseconds cost{0};  // what making took, whenever that was
  Outcome outcome = Outcome::made;
  Reason reason = Reason::none;  // why it was no hit
};

// What is known of a product that was made elsewhere.
struct Origin {
  Nanoseconds cost{0};
  std::string_view log{};
  std::span<const Text> texts{};
  bool replace = false;  // on disk, in the place of what is kept for this recipe
};

// Which entries are meant; what is left empty says nothing. The default means all.
struct Selector {
  std::string_view kind{};     // recipes of this kind
  std::string_view program{};  // asked for by this program at its last start
  std::string_view path{};     // recipes with an ingredient that is this path, or one of a file below it
  std::optional<std::chrono::nanoseconds> older_than{};  // last used longer ago; negative: nothing is meant
  std::function<bool(const Recipe&)> matches{};
};

struct Cleared {
  std::uint64_t entries = 0;  // on disk
  std::uint64_t bytes = 0;
  std::uint64_t bundle_entries = 0;  // in mounted bundles, selected or not: these stay
};

struct CacheStats {
  CounterTotals totals;
  std::uint64_t memory_entries = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t pending_entries = 0;  // made, not yet written
  std::uint64_t pending_bytes = 0;
  std::uint64_t preloaded_entries = 0;
  std::uint64_t preloaded_bytes = 0;
  std::uint64_t preload_unfit = 0;  // passed over because they do not fit, products unread
  bool has_disk = false;
  std::uint64_t bundles = 0;  // mounted
  std::uint64_t bundle_entries = 0;
};

class CacheCore;

namespace detail {

// A maker with its type taken away. Lives during one call.
struct AnyMaker {
  void* maker;
  Result<Made> (*call)(void* maker);
};

inline Result<Made> to_made(Made made) {
  return made;
}
inline Result<Made> to_made(Bytes bytes) {
  return Made{.bytes = std::move(bytes)};
}
inline Result<Made> to_made(std::string text) {
  return Made{.bytes = Bytes(std::move(text))};
}
inline Result<Made> to_made(std::span<const std::byte> view) {
  return Made{.bytes = Bytes(view)};
}
template <typename T>
Result<Made> to_made(Result<T> made) {
  if (!made) return tl::unexpected<Error>(std::move(made.error()));
  return to_made(std::move(*made));
}

template <typename Maker>
AnyMaker any_maker(Maker& maker) noexcept {
  return {const_cast<void*>(static_cast<const void*>(&maker)),
          [](void* erased) -> Result<Made> { return to_made(std::invoke(*static_cast<Maker*>(erased))); }};
}

}  // namespace detail

class LARDER_API Cache {
 public:
  // Never fails: a tier that cannot be opened is left out, and problems() says why. With nothing said there
  // is memory alone and no file is touched. Throws std::bad_alloc.
  static Cache open(const Options& options = {});
  Cache(Cache&& other) noexcept;
  Cache& operator=(Cache&& other) noexcept;
  // close() with the time that the options give.
  ~Cache();

  // The product of `recipe`, from the nearest tier that has it, else what `maker()` returns: bytes, text,
  // Made, or a Result of these. Whoever asks meanwhile, in this process or another, gets the same product
  // without making it; a process that makes too long is not waited for (options: wait-min, wait-max). What
  // the maker throws or returns as an error reaches everyone who waits, and is not kept; see
  // MemoryTier::get_or_make for transient failures and want of resources. not_found in mode require_hit.
  template <typename Maker>
  Result<Product> get_or_make(const Recipe& recipe, Maker&& maker, const Request& how = {}) {
    return request(recipe, detail::any_maker(maker), how);
  }
  // Nothing when no tier has it.
  std::optional<Product> get(const Recipe& recipe, const Request& how = {});
  // Keeps a product made elsewhere. False: kept nowhere; an event says why.
  bool put(const Recipe& recipe, Bytes bytes, const Origin& origin = {});
  // The consumer (a driver, say) did not accept what it was given: removes it everywhere, so that the next
  // request makes it anew, with reason refused. In a bundle, which is read-only, this cache passes it over
  // from then on. True when it was kept.
  bool reject(const Recipe& recipe);
  // True when it was kept in memory or on disk. What is being made or written is not kept afterwards either.
  // A bundle keeps what it has, and answers the next request.
  bool erase(const Recipe& recipe);

  // Begins to load, on a thread of low priority, what this program's previous run used first: those that it
  // flagged load_first before the others, within the bounds that the options give. Say in `fits` which
  // recipes this machine can use (its driver, its build): of the others only the recipe is read. A request
  // never waits for it. False: nothing to load, or switched off, or called before.
  bool preload(std::function<bool(const Recipe&)> fits = {});
  // True when preloading has ended or was never begun; false when `deadline` passed.
  bool wait_for_preload(std::chrono::nanoseconds deadline) const;

  // Removes what is selected from memory, from what waits to be written or preloaded, from disk, and from the
  // recent misses and start orders remembered there, in one call; nothing made or asked to be written before
  // comes back after it. Bundles are read-only and stay: the result says how many entries they hold.
  Cleared clear(const Selector& selector = {});

  // Writes what waits to be written, and what was counted and missed; false when `deadline` passed first.
  bool flush(std::chrono::nanoseconds deadline = std::chrono::seconds(5));
  // Writes what waits, until `deadline`; what is unwritten then is lost. Ends the threads. Requests
  // afterwards make. Takes longer than `deadline` only for the one file that is being written when it passes.
  void close(std::chrono::nanoseconds deadline);

  CacheStats stats() const;
  // What could not be used and what to do about it, a line each; empty when all is well.
  std::vector<std::string> problems() const;

 private:
  friend class Adoption;   // counts what drivers used, not what it looked at
  friend class Pipelines;  // adds to what is kept
  friend class LateNotes;  // says when notes may be taken
  explicit Cache(std::unique_ptr<CacheCore> core) noexcept;
  Result<Product> request(const Recipe& recipe, detail::AnyMaker maker, const Request& how);

  std::unique_ptr<CacheCore> core_;
};

}  // namespace larder
