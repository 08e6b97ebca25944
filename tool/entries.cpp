#include "tool/entries.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <system_error>
#include <thread>

#include "recipe/canonical.hpp"
#include "recipe/readable.hpp"
#include "settings/units.hpp"
#include "store/layout.hpp"
#include "tool/columns.hpp"
#include "tool/shown.hpp"

namespace larder::tool {
namespace {

constexpr std::size_t kSummaryWidth = 100;
constexpr std::size_t kShownMax = 40;  // of one ingredient in a summary
constexpr std::size_t kLookedAt = 64;  // of one ingredient, to tell text from the rest
constexpr unsigned kThreadsMax = 4;
constexpr std::size_t kKeyDigits = 32;

EntryRow row_of(const EntryInfo& info, Reason reason, bool with_summary) {
  EntryRow row;
  row.key = info.key;
  row.reason = reason;
  row.file_bytes = info.file_bytes;
  row.used_at_unix_ns = info.used_at_unix_ns;
  if (reason != Reason::none) return row;
  std::string_view kind;
  canonical::Reader(info.recipe).read_kind(kind);
  row.kind = kind;
  if (with_summary) row.summary = summary_of(info.recipe, kSummaryWidth);
  row.product_bytes = info.product_bytes;
  row.cost = info.cost;
  row.made_at_unix_ns = info.made_at_unix_ns;
  return row;
}

}  // namespace

std::string summary_of(std::string_view canonical, std::size_t width) {
  canonical::Reader reader(canonical);
  std::string_view kind;
  std::string text;
  if (!reader.read_kind(kind)) return text;
  for (Ingredient one; text.size() < width && !reader.at_end() && reader.read_ingredient(one);) {
    if (!text.empty()) text.push_back(' ');
    text += to_readable(one.name, 0, kShownMax) + '=';
    if (one.is_digest || !is_readable(one.bytes.first(std::min(one.bytes.size(), kLookedAt)))) {
      text += '<' + to_size(one.size) + '>';
    } else {
      text += to_quoted(as_text(one.bytes), 0, kShownMax);
    }
  }
  return text;
}

std::vector<EntryRow> read_entries(const Store& store, const Selected& selected, bool with_summaries,
                                   const std::function<void()>& advance) {
  std::atomic<unsigned> next_shard{0};
  const auto read = [&](std::vector<EntryRow>& rows) {
    for (unsigned shard; (shard = next_shard.fetch_add(1)) < layout::kShardCount;) {
      for (const Key& key : keys_of(store, shard)) {
        if (!selected.may_be(key)) continue;
        EntryInfo info;
        const Reason reason = store.glance(key, info);
        const bool is_meant = reason == Reason::none ? selected.is(info) : selected.is_by_key();
        if (is_meant && reason != Reason::absent) rows.push_back(row_of(info, reason, with_summaries));
        if (advance) advance();
      }
    }
  };
  const unsigned wanted = std::clamp(std::thread::hardware_concurrency(), 1u, kThreadsMax);
  std::vector<std::vector<EntryRow>> parts(wanted);
  std::vector<std::exception_ptr> failures(wanted);
  {
    std::vector<std::jthread> threads;
    try {
      for (unsigned i = 1; i < wanted; ++i) {
        threads.emplace_back([&, i] {
          try {
            read(parts[i]);
          } catch (...) {
            failures[i] = std::current_exception();
          }
        });
      }
    } catch (const std::system_error&) {
      // Fewer threads do it as well.
    }
    read(parts[0]);
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  std::vector<EntryRow> all = std::move(parts[0]);
  for (unsigned i = 1; i < wanted; ++i) {
    all.insert(all.end(), std::make_move_iterator(parts[i].begin()), std::make_move_iterator(parts[i].end()));
    parts[i] = {};
  }
  return all;
}

bool to_digits(std::string_view text, std::string& digits) {
  if (text.empty() || text.size() > kKeyDigits) return false;
  digits.clear();
  for (const char c : text) {
    const bool is_upper = c >= 'A' && c <= 'F';
    if (!is_upper && (c < '0' || c > '9') && (c < 'a' || c > 'f')) return false;
    digits.push_back(is_upper ? static_cast<char>(c - 'A' + 'a') : c);
  }
  return true;
}

std::vector<Key> keys_of(const Store& store, unsigned shard) {
  std::vector<Key> keys;
  store.for_each_key(shard, [&](const Key& key) {
    keys.push_back(key);
    return true;
  });
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

std::vector<Key> keys_that_begin(const Store& store, std::string_view digits, std::size_t most) {
  std::vector<Key> keys;
  for (unsigned shard = 0; shard < layout::kShardCount; ++shard) {
    const layout::Path path = layout::shard_path(shard);
    const std::string_view name = path.c_str();
    const std::size_t shared = std::min(name.size(), digits.size());
    if (name.substr(0, shared) != digits.substr(0, shared)) continue;
    const bool goes_on = store.for_each_key(shard, [&](const Key& key) {
      if (key.hex().starts_with(digits)) keys.push_back(key);
      return keys.size() < most;
    });
    if (!goes_on) break;
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::optional<Key> find_key(const Call& call, const Store& store, std::string_view text, int& code) {
  std::string digits;
  code = kError;
  if (!to_digits(text, digits)) {
    call.refuse(settings::quoted(text) + " is no key", "a key is up to 32 hex digits",
                "take one from `larder ls`");
    return std::nullopt;
  }
  constexpr std::size_t kNamed = 5;
  const std::vector<Key> keys = keys_that_begin(store, digits, kNamed + 1);
  if (keys.size() == 1) return keys.front();
  for (unsigned shard = 0; keys.empty() && shard < layout::kShardCount; ++shard) {
    const int error = store.listing_error(shard);
    if (error == 0) continue;
    call.refuse("whether an entry begins with " + digits + " is not known",
                std::string("a directory could not be read: ") + std::strerror(error), "see `larder ls`");
    return std::nullopt;
  }
  if (keys.empty()) {
    code =
        say_no(call, {"no entry begins with " + digits, "it was never kept, or has left", "see `larder ls`"});
    return std::nullopt;
  }
  std::string names;
  // As many digits as tell them apart, twelve at least.
  std::size_t width = 12;
  for (std::size_t i = 1; i < keys.size(); ++i) {
    const std::string other = keys[i].hex(), before = keys[i - 1].hex();
    std::size_t same = 0;
    while (same < kKeyDigits && other[same] == before[same]) ++same;
    width = std::max(width, same + 1);
  }
  for (std::size_t i = 0; i < std::min(keys.size(), kNamed); ++i)
    names += (i == 0 ? "" : ", ") + keys[i].hex().substr(0, width);
  if (keys.size() > kNamed) names += ", ...";
  call.refuse("more than one entry begins with " + digits, names, "write more digits");
  return std::nullopt;
}

}  // namespace larder::tool
