#include <map>

#include "larder/bundle.hpp"
#include "recipe/readable.hpp"
#include "settings/units.hpp"
#include "tool/columns.hpp"
#include "tool/interrupt.hpp"
#include "tool/paths.hpp"
#include "tool/place.hpp"
#include "tool/progress.hpp"
#include "tool/shards.hpp"
#include "tool/shown.hpp"

namespace larder::tool {
namespace {

BundleOptions bundle_options(const Call& call) {
  BundleOptions options;
  options.key_files = *call.options().bundle_keys;
  for (const std::string& file : call.values("--trust")) options.key_files.push_back(absolute(call, file));
  options.require_signature = *call.options().require_signature;
  return options;
}

// `driver=535.2` and the like; false, and the complaint told, when one has no `=`.
bool facts_of(const Call& call, std::vector<MachineFact>& facts) {
  for (const std::string& text : call.values("--fact")) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      call.refuse("--fact cannot be " + settings::quoted(text),
                  "it is an ingredient's name and its value here", "write --fact driver=535.2");
      return false;
    }
    facts.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  return true;
}

int check(const Call& call, const std::string& path) {
  std::vector<MachineFact> facts;
  if (!facts_of(call, facts)) return kError;
  const BundleReport report = preflight(path, bundle_options(call), facts);
  if (call.wants_json()) {
    Json json = begin_json();
    json.member("path", path)
        .member("is_usable", report.is_usable)
        .member("detail", report.detail)
        .member("trust", report.detail.empty() ? name(report.trust) : "not known")
        .member("entries", report.entries)
        .member("fitting", report.fitting)
        .member("damaged", report.damaged)
        .member("file_bytes", report.file_bytes)
        .key("misfits")
        .begin_array();
    for (const BundleReport::Misfit& one : report.misfits) {
      json.begin_object()
          .member("ingredient", one.ingredient)
          .member("theirs", one.theirs)
          .member("ours", one.ours)
          .member("entries", one.entries)
          .end_object();
    }
    json.end_array().end_object();
    call.console().out(std::move(json).text());
    return report.is_usable ? kDone : kNo;
  }
  Columns columns({{""}, {""}});
  columns.add({"bundle", to_readable(path, 0, 4096)});
  if (!report.detail.empty()) {
    columns.add({"not usable", to_readable(report.detail, 0, 4096)});
  } else {
    columns.add({"size", entries_text(report.entries) + ", " + settings::readable_size(report.file_bytes)});
    columns.add({"trust", std::string(name(report.trust))});
    columns.add({"fitting", std::to_string(report.fitting) +
                                (facts.empty() ? " (of this machine nothing was said: see --fact)" : "")});
    if (report.damaged != 0) columns.add({"damaged", std::to_string(report.damaged)});
    for (const BundleReport::Misfit& one : report.misfits) {
      columns.add({"misfit", entries_text(one.entries) + ": " + to_readable(one.ingredient, 0, 80) + " is " +
                                 to_quoted(one.theirs, 0, 100) + ", here " + to_quoted(one.ours, 0, 100)});
    }
  }
  call.console().out(columns.text());
  return report.is_usable ? kDone : kNo;
}

struct Import {
  std::uint64_t kept = 0;
  std::uint64_t kept_bytes = 0;
  std::uint64_t there = 0;                        // already
  std::map<Reason, std::uint64_t> refused;        // by the store
  std::vector<std::pair<Key, Reason>> damaged{};  // in the bundle
  bool was_stopped = false;
};

void take(const Bundle& bundle, const BundleEntry& entry, Store& store, Import& import) {
  if (entry.reason != Reason::none || !entry.recipe) {
    import.damaged.emplace_back(entry.key, entry.reason);
    return;
  }
  // Under a key that is not its own it could only be in another's way.
  if (entry.recipe->key() != entry.key) {
    import.damaged.emplace_back(entry.key, Reason::other_recipe);
    return;
  }
  if (store.contains(entry.key)) {
    ++import.there;
    return;
  }
  const BundleLookup found = bundle.get(*entry.recipe, entry.key);
  if (!found) {
    import.damaged.emplace_back(entry.key, found.reason);
    return;
  }
  const PutResult put = store.put(*entry.recipe, entry.key, found.product.view(),
                                  {.cost = found.cost,
                                   .log = found.log,
                                   .attachment = found.attachment,
                                   .made_at_unix_ns = found.made_at_unix_ns});
  if (put.state == PutState::stored) {
    ++import.kept;
    import.kept_bytes += entry.file_bytes;
  } else if (put.state == PutState::already_there) {
    ++import.there;
  } else {
    ++import.refused[put.reason];
  }
}

void report(const Call& call, const Import& import, const StoreUsage& usage) {
  if (call.wants_json()) {
    Json json = begin_json();
    json.member("is_complete", !import.was_stopped)
        .member("kept", import.kept)
        .member("kept_bytes", import.kept_bytes)
        .member("already_there", import.there)
        .key("not_kept")
        .begin_object();
    for (const auto& [reason, count] : import.refused) json.member(name(reason), count);
    json.end_object().key("damaged").begin_array();
    for (const auto& [key, reason] : import.damaged) {
      json.begin_object().member("key", key.hex()).member("reason", name(reason)).end_object();
    }
    json.end_array()
        .member("entries", usage.entries)
        .member("bytes", usage.bytes)
        .member("is_exact", usage.is_exact)
        .end_object();
    call.console().out(std::move(json).text());
    return;
  }
  Console& console = call.console();
  Columns columns({{"KEY"}, {"DAMAGED IN THE BUNDLE"}});
  for (const auto& [key, reason] : import.damaged) columns.add({short_key(key), std::string(name(reason))});
  if (!columns.empty()) console.out(columns.text());
  std::string text =
      "imported " + entries_text(import.kept) + ", " + settings::readable_size(import.kept_bytes);
  if (import.there != 0) text += "; " + std::to_string(import.there) + " were there";
  for (const auto& [reason, count] : import.refused) {
    text += "; " + std::to_string(count) + " not kept: " + std::string(name(reason));
  }
  console.out(text + "; " + usage_text(usage) + " are kept now\n");
}

int run_import(Call& call) {
  const std::string path = absolute(call, call.value("BUNDLE"));
  if (call.has("--check")) return check(call, path);
  const Result<Bundle> bundle = Bundle::open(path, bundle_options(call));
  if (!bundle) {
    return call.refuse("the bundle cannot be used", bundle.error().what, "see `larder import --check`");
  }
  const auto place = open_place(call, Access::make);
  if (!place) return kError;
  Store& store = *place->store;
  Import import;
  {
    Interrupt interrupt;
    Progress progress(call.console(), "importing entries", bundle->entries());
    bundle->for_each([&](const BundleEntry& entry) {
      if ((import.was_stopped = Interrupt::is_requested())) return false;
      take(*bundle, entry, store, import);
      progress.advance();
      return true;
    });
  }
  place->note_counts();
  report(call, import, seen_usage(*place, kNamesMax));
  if (import.was_stopped) {
    call.console().err(remark("interrupted; run it again to go on: what was taken in is there"));
    return kInterrupted;
  }
  return import.damaged.empty() && import.refused.empty() ? kDone : kNo;
}

constexpr Argument kImportArguments[] = {
    {"BUNDLE", "", "the bundle to take in", {}, true},
    {"--check", "", "only say whether it could be used here, and why not"},
    {"--fact",
     "NAME=VALUE",
     "with --check: what this machine's recipes say, driver=535.2 say",
     {},
     false,
     true},
    {"--trust", "KEYFILE", "trust this public key, besides those of bundle-keys", {}, false, true},
};

}  // namespace

extern const Command kImportCommand;
const Command kImportCommand{
    "import",
    "take the entries of a bundle in",
    "Checks every entry of a bundle and keeps those that are not there yet, with the cost and the age they "
    "had. "
    "Exits with 1 when some are damaged or could not be kept. --check reads no product and changes nothing: "
    "it "
    "says who signed the bundle and how many entries fit a machine of which --fact tells. Interrupted, it "
    "has "
    "taken in a part; run again, it passes over what is there.",
    kImportArguments,
    true,
    false,
    run_import,
    "larder import kernels.bundle\nlarder import --check kernels.bundle --fact driver=535.2"};

}  // namespace larder::tool
