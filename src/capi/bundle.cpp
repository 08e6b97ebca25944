#include "larder/bundle.hpp"

#include "capi/recipe.hpp"
#include "larder/c/bundle.h"

using namespace larder;

struct larder_bundle {
  Bundle bundle;
};

namespace {

static_assert(LARDER_BUNDLE_UNSIGNED == static_cast<int>(BundleTrust::none));
static_assert(LARDER_BUNDLE_TRUSTED == static_cast<int>(BundleTrust::trusted));

BundleOptions to_options(const larder_view* key_files, size_t count, bool require_signature) {
  BundleOptions options;
  for (size_t i = 0; i < count; ++i) options.key_files.emplace_back(capi::to_text(key_files[i]));
  options.require_signature = require_signature;
  return options;
}

larder_bundle_trust to_c(BundleTrust trust) noexcept {
  return static_cast<larder_bundle_trust>(static_cast<int>(trust));
}

std::string reasons(const BundleReport& report) {
  std::string text;
  if (!report.detail.empty()) text += report.detail + '\n';
  for (const BundleReport::Misfit& one : report.misfits) {
    text += std::to_string(one.entries) + (one.entries == 1 ? " entry has " : " entries have ") +
            one.ingredient + " `" + one.theirs + "`, and here it is `" + one.ours + "`\n";
  }
  if (report.damaged != 0)
    text +=
        std::to_string(report.damaged) + (report.damaged == 1 ? " entry is" : " entries are") + " damaged\n";
  return text;
}

}  // namespace

const char* larder_bundle_trust_name(larder_bundle_trust trust) {
  return capi::name_of<BundleTrust>(trust);
}

larder_bundle* larder_bundle_open(larder_view path, const larder_view* key_files, size_t key_file_count,
                                  bool require_signature, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_bundle*> {
    Result<Bundle> bundle = Bundle::open(std::string(capi::to_text(path)),
                                         to_options(key_files, key_file_count, require_signature));
    if (!bundle) return tl::unexpected<Error>(std::move(bundle.error()));
    return new larder_bundle{std::move(*bundle)};
  });
}

void larder_bundle_destroy(larder_bundle* bundle) {
  delete bundle;
}

larder_reason larder_bundle_get(const larder_bundle* bundle, const larder_recipe* recipe,
                                larder_bytes** product) {
  BundleLookup found = bundle->bundle.get(recipe->recipe);
  *product = nullptr;
  if (!found) return static_cast<larder_reason>(static_cast<int>(found.reason));
  *product = capi::guarded(
      nullptr, [&]() -> Result<larder_bytes*> { return new larder_bytes{std::move(found.product)}; });
  return *product != nullptr ? LARDER_REASON_NONE : LARDER_REASON_OUT_OF_RESOURCES;
}

larder_bundle_trust larder_bundle_trusted(const larder_bundle* bundle) {
  return to_c(bundle->bundle.trust());
}
uint64_t larder_bundle_entries(const larder_bundle* bundle) {
  return bundle->bundle.entries();
}
uint64_t larder_bundle_file_bytes(const larder_bundle* bundle) {
  return bundle->bundle.file_bytes();
}

bool larder_bundle_verify(const larder_bundle* bundle, larder_key* damaged, size_t* count) {
  const size_t room = *count;
  *count = 0;
  return capi::guarded(nullptr, [&]() -> Result<bool> {
    bundle->bundle.verify_each([&](const BundleEntry& entry) {
      if (entry.reason == Reason::none) return true;
      if (*count < room) damaged[*count] = capi::to_c(entry.key);
      ++*count;
      return true;
    });
    return *count == 0;
  });
}

larder_bytes* larder_bundle_preflight(larder_view path, const larder_view* key_files, size_t key_file_count,
                                      bool require_signature, const larder_machine_fact* machine,
                                      size_t machine_count, larder_bundle_report* report,
                                      larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_bytes*> {
    std::vector<MachineFact> facts;
    for (size_t i = 0; i < machine_count; ++i) {
      facts.push_back(
          {std::string(capi::to_text(machine[i].name)), std::string(capi::to_text(machine[i].value))});
    }
    const BundleReport found = preflight(std::string(capi::to_text(path)),
                                         to_options(key_files, key_file_count, require_signature), facts);
    if (report != nullptr) {
      *report = {found.is_usable, to_c(found.trust), found.entries,
                 found.fitting,   found.damaged,     found.file_bytes};
    }
    return capi::new_bytes(reasons(found));
  });
}

bool larder_bundle_make_keys(larder_view path, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<bool> {
    Result<void> made = make_bundle_keys(std::string(capi::to_text(path)));
    if (!made) return tl::unexpected<Error>(std::move(made.error()));
    return true;
  });
}
