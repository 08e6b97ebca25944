// Exporting writes chosen entries of a store into a bundle. The store may be in use meanwhile.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "larder/result.hpp"
#include "store/store.hpp"

namespace larder {

inline constexpr std::string_view kNothingSelected = "export: no entry is selected";

struct ExportOptions {
  // Which entries; empty: all. Called once for each sound entry.
  std::function<bool(const EntryInfo&)> selects{};
  // Signs the bundle with the secret key in this file; empty: not signed.
  std::string key_file{};
  // True: without any entry nothing is written, and not_found with kNothingSelected comes back.
  bool needs_entries = false;
  // Told how far it has come; false stops. May be empty.
  std::function<bool(std::uint64_t done, std::uint64_t total)> goes_on{};
};

struct ExportReport {
  std::uint64_t entries = 0;   // in the bundle
  std::uint64_t bytes = 0;     // of the bundle's entries
  std::uint64_t left_out = 0;  // damaged, or gone before their turn
  bool was_stopped = false;    // then no bundle was written
};

// Puts a bundle at `path`, in the place of what is there. Errors of the key file and of writing; a bundle
// that was there stays then.
Result<ExportReport> export_entries(Store& store, const std::string& path, const ExportOptions& options);

}  // namespace larder
