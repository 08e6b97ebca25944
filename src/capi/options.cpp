#include "larder/options.hpp"

#include "capi/convert.hpp"
#include "capi/options.hpp"
#include "settings/settings.hpp"
#include "settings/suggest.hpp"

using namespace larder;

namespace {

Result<const settings::Row*> row_of(larder_view name) {
  const std::string_view text = capi::to_text(name);
  if (const settings::Row* row = settings::find(text)) return row;
  // The message is the one that setting it would give.
  Options scratch;
  Result<void> wrong = set_option(scratch, text, "");
  return fail(Code::invalid_argument, std::move(wrong.error().what));
}

}  // namespace

larder_options* larder_options_create(larder_error** error) {
  return capi::guarded(error, []() -> Result<larder_options*> { return new larder_options{}; });
}

void larder_options_destroy(larder_options* options) {
  delete options;
}

bool larder_options_set(larder_options* options, larder_view name, larder_view text, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<bool> {
    Result<void> set = set_option(options->options, capi::given_text(name), capi::given_text(text));
    if (!set) return tl::unexpected<Error>(std::move(set.error()));
    return true;
  });
}

larder_bytes* larder_options_get(const larder_options* options, larder_view name, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_bytes*> {
    const Result<const settings::Row*> row = row_of(name);
    if (!row) return tl::unexpected<Error>(row.error());
    if (!settings::is_said(**row, options->options)) {
      return fail(Code::not_found, "options: say nothing of " + std::string((*row)->name));
    }
    return capi::new_bytes(settings::value_text(**row, options->options));
  });
}

larder_bytes* larder_options_resolve(const larder_options* options, larder_view name, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_bytes*> {
    const Result<const settings::Row*> row = row_of(name);
    if (!row) return tl::unexpected<Error>(row.error());
    return capi::new_bytes(settings::value_text(**row, settings::resolve(options->options).values));
  });
}
