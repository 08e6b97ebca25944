#include <atomic>

#include "larder/detail/program_products.hpp"
#include "program/product_bytes.hpp"

namespace larder::detail {
std::uint64_t next_program_id() noexcept {
  static constinit std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

Result<GotProduct> ProgramProducts::get_or_make_any(const Recipe& recipe, std::span<const Text> texts,
                                                    AnyProductMaker maker) {
  if (cache_ == nullptr) {
    auto made = maker.call(maker.maker);
    if (!made) return fail(made.error().code, std::move(made.error().what));
    return GotProduct{std::move(*made), Outcome::made, Reason::absent};
  }
  bool has_nothing_to_keep = false;
  const auto make = [&]() -> Result<Made> {
    auto made = maker.call(maker.maker);
    if (!made) {
      const auto failure = remembers_failures_ ? build_failure(made.error()) : std::nullopt;
      if (!failure) return fail(made.error().code, std::move(made.error().what));
      return Made{.bytes = encode_product({true, failure->code, failure->log, {}})};
    }
    has_nothing_to_keep = made->artefacts.empty();
    return Made{.bytes = encode_product(*made), .keep = !has_nothing_to_keep};
  };
  for (bool is_second = false;; is_second = true) {
    auto got = cache_->get_or_make(recipe, make, {.texts = texts});
    if (!got) return fail(got.error().code, std::move(got.error().what));
    // A program without a binary serves whoever is waiting for it now, and nobody later.
    if (has_nothing_to_keep) cache_->erase(recipe);
    auto product = decode_product(got->bytes);
    if (product && product->is_failure) {
      Error error = to_error({product->code, std::move(product->log)});
      return fail(error.code, std::move(error.what));
    }
    if (product) return GotProduct{std::move(*product), got->outcome, got->reason, got->cost};
    // Sound bytes that are no product of this version: made anew, once.
    if (is_second) return fail(Code::internal, "program product: what was just made cannot be read");
    cache_->reject(recipe);
  }
}

}  // namespace larder::detail
