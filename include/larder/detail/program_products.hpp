// ProgramProducts is the half of a ProgramCache that knows no API: it gets the product of a program from the
// Cache behind, or has it made and keeps it there. Any thread. Nothing here is to be used directly.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "larder/cache.hpp"
#include "larder/export.h"
#include "larder/program_input.hpp"

namespace larder::detail {

// What is kept of a program: what its API needs to make it again, or that its compiler said no.
struct ProgramProduct {
  bool is_failure = false;
  std::int64_t code = 0;  // of the failure, in the API's own numbers
  std::string log;
  Artefacts artefacts;
};

struct GotProduct {
  ProgramProduct product;
  Outcome outcome = Outcome::made;
  Reason reason = Reason::none;
  Nanoseconds cost{0};
};

// A maker with its type taken away. Lives during one call.
struct AnyProductMaker {
  void* maker;
  Result<ProgramProduct> (*call)(void* maker);
};

// Never the same number twice in a process.
LARDER_API std::uint64_t next_program_id() noexcept;

class LARDER_API ProgramProducts {
 public:
  // `cache` may be null: everything is made.
  ProgramProducts(Cache* cache, bool remembers_failures) noexcept
      : cache_(cache), remembers_failures_(remembers_failures) {}

  // A product without artefacts is handed out and not kept. A failure is an error, also one that was kept.
  template <typename Maker>
  Result<GotProduct> get_or_make(const Recipe& recipe, std::span<const Text> texts, Maker&& maker) {
    using Callable = std::remove_reference_t<Maker>;
    return get_or_make_any(recipe, texts, {&maker, [](void* erased) -> Result<ProgramProduct> {
                                             return (*static_cast<Callable*>(erased))();
                                           }});
  }
  // The driver does not take it. True when it was kept.
  bool reject(const Recipe& recipe);

 private:
  Result<GotProduct> get_or_make_any(const Recipe& recipe, std::span<const Text> texts,
                                     AnyProductMaker maker);

  Cache* cache_;
  bool remembers_failures_;
};

}  // namespace larder::detail
