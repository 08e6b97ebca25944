#include "store/export.hpp"

#include <algorithm>
#include <vector>

#include "store/bundle_keys.hpp"
#include "store/bundle_writer.hpp"

namespace larder {
namespace {

// none when it is in the bundle now.
Result<bool> add_entry(Store& store, const Key& key, const ExportOptions& options, BundleWriter& writer,
                       ExportReport& report) {
  EntryInfo info;
  if (store.inspect(key, info) != Reason::none) {
    ++report.left_out;
    return false;
  }
  if (options.selects && !options.selects(info)) return false;
  const Result<Recipe> recipe = Recipe::from_canonical(info.recipe);
  const Lookup found = recipe ? store.get(*recipe, key) : Lookup{};
  if (!found) {
    ++report.left_out;
    return false;
  }
  format::EntryHead head;
  head.key = key;
  head.recipe = info.recipe;
  head.log = found.entry.log;
  head.attachment = found.entry.attachment;
  head.made_at_unix_ns = found.entry.made_at_unix_ns;
  head.cost = found.entry.cost;
  if (Result<void> added = writer.add(head, found.entry.product.view()); !added) {
    return fail(added.error().code, std::move(added.error().what));
  }
  return true;
}

}  // namespace

Result<ExportReport> export_entries(Store& store, const std::string& path, const ExportOptions& options) {
  std::optional<bundle_keys::SecretKey> secret;
  if (!options.key_file.empty()) {
    Result<bundle_keys::SecretKey> read = bundle_keys::read_secret(options.key_file);
    if (!read) return fail(read.error().code, std::move(read.error().what));
    secret = *read;
  }
  std::vector<Key> keys;
  store.for_each_key([&](const Key& key) {
    keys.push_back(key);
    return true;
  });
  std::sort(keys.begin(), keys.end());
  Result<BundleWriter> writer = BundleWriter::open(*store.options().files, path);
  if (!writer) return fail(writer.error().code, std::move(writer.error().what));
  ExportReport report;
  std::uint64_t done = 0;
  for (const Key& key : keys) {
    if (options.goes_on && !options.goes_on(done++, keys.size())) {
      report.was_stopped = true;
      return report;
    }
    const Result<bool> added = add_entry(store, key, options, *writer, report);
    if (!added) return fail(added.error().code, added.error().what);
  }
  if (options.needs_entries && writer->entries() == 0)
    return fail(Code::not_found, std::string(kNothingSelected));
  report.entries = writer->entries();
  report.bytes = writer->bytes();
  if (Result<void> finished = writer->finish(secret); !finished) {
    return fail(finished.error().code, std::move(finished.error().what));
  }
  return report;
}

}  // namespace larder
