// A Bundle is a read-only file of many entries that was made elsewhere (`larder export`): it answers requests
// without being unpacked. What is handed out is a private copy, checked before anyone sees it, so that nobody
// who cuts or changes the file can harm a program. Any thread may call; forked children may go on.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "larder/bytes.hpp"
#include "larder/event.hpp"
#include "larder/export.h"
#include "larder/recipe.hpp"
#include "larder/result.hpp"

namespace larder {

// What is known of who made a bundle.
enum class BundleTrust : std::uint8_t {
  none = 1,     // nobody signed it
  unknown = 2,  // signed, by keys that are not trusted here
  trusted = 3,  // a trusted key signed it, and all of it is as it was signed
};
LARDER_API std::string_view name(BundleTrust trust) noexcept;

struct BundleOptions {
  // Files with public keys, as make_bundle_keys writes them.
  std::vector<std::string> key_files{};
  // Use only what a trusted key has signed.
  bool require_signature = false;
};

struct BundleGet {
  // True: products from 64 KiB on, of a file on a local file system, may be shown as a mapping of the file.
  // Never for bytes that will be run as code; and whoever can cut the file can end the program.
  bool may_map = false;
};

struct BundleLookup {
  Reason reason =
      Reason::absent;  // none: a hit. Else absent, other_recipe, truncated, corrupt, unreadable, ...
  Bytes product;
  std::string_view log;  // these views live as long as `product`
  BytesView attachment;
  Nanoseconds cost{0};
  std::int64_t made_at_unix_ns = 0;
  explicit operator bool() const noexcept { return reason == Reason::none; }
};

// What an entry of a bundle says of itself.
struct BundleEntry {
  Key key;
  Reason reason = Reason::none;  // none, or why it cannot be used; then only key and file_bytes are filled
  std::optional<Recipe> recipe;
  std::string log;
  Nanoseconds cost{0};
  std::int64_t made_at_unix_ns = 0;
  std::uint64_t product_bytes = 0;
  std::uint64_t file_bytes = 0;
};

class LARDER_API Bundle {
 public:
  // Opens the file and reads its index. not_found, io, damaged, unsupported (another version), or refused:
  // not trusted (somebody else's file without a trusted signature, a wrong signature by a trusted key, or
  // none where one is required). `what` says what to do.
  static Result<Bundle> open(const std::string& path, const BundleOptions& options = {});
  Bundle(Bundle&&) noexcept;
  Bundle& operator=(Bundle&&) noexcept;
  ~Bundle();

  // The product of exactly this recipe. `key` is recipe.key(). A miss costs no system call.
  BundleLookup get(const Recipe& recipe, const Key& key, BundleGet how = {}) const noexcept;
  BundleLookup get(const Recipe& recipe, BundleGet how = {}) const noexcept {
    return get(recipe, recipe.key(), how);
  }
  bool contains(const Key& key) const noexcept;

  // In the order of keys, reading heads only; stops when `visit` returns false.
  void for_each(const std::function<bool(const BundleEntry&)>& visit) const;
  // As for_each, and reads and checks every product, digest and signature too.
  void verify_each(const std::function<bool(const BundleEntry&)>& visit) const;

  const std::string& path() const noexcept;
  BundleTrust trust() const noexcept;
  std::uint64_t entries() const noexcept;
  std::uint64_t file_bytes() const noexcept;

 private:
  struct Impl;
  friend struct BundleFor;
  explicit Bundle(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

// Something this machine is: an ingredient that entries carry, with the value it has here.
struct MachineFact {
  std::string name;   // `driver`
  std::string value;  // as makers put it into their recipes
};

// Whether a bundle is of use here, and why not.
struct BundleReport {
  bool is_usable = false;  // it can be mounted and at least one entry fits
  std::string detail;      // why it cannot be mounted; empty when it can
  BundleTrust trust = BundleTrust::none;
  std::uint64_t entries = 0;
  std::uint64_t fitting = 0;  // no ingredient named like a fact has another value
  std::uint64_t damaged = 0;  // heads that fail their check
  std::uint64_t file_bytes = 0;
  // Why entries do not fit, the commonest first.
  struct Misfit {
    std::string ingredient;
    std::string theirs;  // cut to a readable length
    std::string ours;
    std::uint64_t entries = 0;
  };
  std::vector<Misfit> misfits;
};

// Reads index and heads, no product.
LARDER_API BundleReport preflight(const std::string& path, const BundleOptions& options,
                                  const std::vector<MachineFact>& machine);

// Makes a pair of Ed25519 keys: PATH (0600, for signing) and PATH.pub (for everybody). invalid_argument when
// one of them exists, io.
LARDER_API Result<void> make_bundle_keys(const std::string& path);

}  // namespace larder
