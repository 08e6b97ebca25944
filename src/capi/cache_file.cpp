#include "larder/cache_file.hpp"

#include "capi/recipe.hpp"
#include "larder/c/cache_file.h"

using namespace larder;

struct larder_cache_file {
  CacheFile file;
  std::string detail;
};

namespace {

larder_reason to_c(Reason reason) noexcept {
  return static_cast<larder_reason>(static_cast<int>(reason));
}

static_assert(LARDER_LAYOUT_LARDER == static_cast<int>(CacheFileInfo::Layout::larder));
static_assert(LARDER_LAYOUT_FUTHARK == static_cast<int>(CacheFileInfo::Layout::futhark));

}  // namespace

larder_cache_file* larder_cache_file_open(larder_view path, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_cache_file*> {
    Result<CacheFile> file = CacheFile::open(std::string(capi::given_text(path)));
    if (!file) return tl::unexpected<Error>(std::move(file.error()));
    return new larder_cache_file{std::move(*file), {}};
  });
}

void larder_cache_file_destroy(larder_cache_file* file) {
  delete file;
}

larder_reason larder_cache_file_load(larder_cache_file* file, const larder_recipe* recipe,
                                     larder_bytes** product) {
  *product = nullptr;
  CacheFileLoad load = file->file.load(recipe->recipe);
  file->detail = std::move(load.detail);
  if (!load) return to_c(load.reason);
  *product = capi::guarded(
      nullptr, [&]() -> Result<larder_bytes*> { return new larder_bytes{std::move(load.product)}; });
  return *product != nullptr ? LARDER_REASON_NONE : LARDER_REASON_OUT_OF_RESOURCES;
}

larder_reason larder_cache_file_save(larder_cache_file* file, const larder_recipe* recipe,
                                     larder_view product, int64_t cost_ns) {
  if (product.data == nullptr && product.size != 0) {
    file->detail = "a product of " + std::to_string(product.size) + " bytes at NULL";
    return LARDER_REASON_UNREADABLE;
  }
  CacheFileSave save = file->file.save(recipe->recipe, capi::to_bytes(product), Nanoseconds(cost_ns));
  file->detail = std::move(save.detail);
  return to_c(save.reason);
}

bool larder_cache_file_reject(larder_cache_file* file) {
  return file->file.reject();
}

const char* larder_cache_file_detail(const larder_cache_file* file) {
  return file->detail.c_str();
}

bool larder_cache_file_get_or_make(larder_cache_file* file, const larder_recipe* recipe,
                                   larder_cache_file_accept accept, larder_cache_file_make make,
                                   void* context, larder_cache_file_answer* answer, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<bool> {
    if (accept == nullptr || make == nullptr) {
      return fail(Code::invalid_argument, "cache file: accept and make must be given");
    }
    auto answered = file->file.get_or_make(
        recipe->recipe, [&](const Bytes& product) { return accept(capi::to_view(product.view()), context); },
        [&]() -> CacheFile::Made {
          larder_bytes* product = nullptr;
          const larder_made made = make(&product, context);
          const std::unique_ptr<larder_bytes> owner(product);
          if (made == LARDER_MADE_NOTHING_TO_STORE) return std::nullopt;
          if (made != LARDER_MADE || product == nullptr) return fail(Code::maker_failed, "the maker failed");
          return product->bytes;
        });
    if (!answered) return tl::unexpected<Error>(std::move(answered.error()));
    file->detail =
        answered->detail.empty() ? std::move(answered->not_kept_detail) : std::move(answered->detail);
    if (answer != nullptr) {
      *answer = {static_cast<larder_outcome>(static_cast<int>(answered->outcome)), to_c(answered->reason),
                 to_c(answered->not_kept), answered->cost.count()};
    }
    return true;
  });
}

bool larder_cache_file_inspect(larder_view path, larder_cache_file_info* info, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<bool> {
    const Result<CacheFileInfo> found = CacheFile::inspect(std::string(capi::to_text(path)));
    if (!found) return tl::unexpected<Error>(found.error());
    *info = {};
    info->layout = static_cast<larder_cache_file_layout>(static_cast<int>(found->layout));
    info->reason = to_c(found->reason);
    info->file_bytes = found->file_bytes;
    info->said_bytes = found->said_bytes;
    info->product_bytes = found->product_bytes;
    info->key = capi::to_c(found->key);
    std::copy(found->futhark_key.begin(), found->futhark_key.end(), info->futhark_key);
    info->cost_ns = found->cost.count();
    info->made_at_unix_ns = found->made_at_unix_ns;
    return true;
  });
}
