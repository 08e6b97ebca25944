// ProgramProducts is the half of a ProgramCache that knows no API: it gets the product of a program from the
// Cache behind, or has it made and keeps it there. Any thread. Nothing here is to be used directly.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "larder/cache.hpp"
#include "larder/export.h"
#include "larder/program_input.hpp"

namespace larder::format {
struct FileClosures;
}

namespace larder::detail {

// What is kept of a program: what its API needs to make it again, or that its compiler said no.
struct ProgramProduct {
  bool is_failure = false;
  std::int64_t code = 0;  // of the failure, in the API's own numbers
  std::string log;
  Artefacts artefacts;
};

// The files that a product was made from.
class UsedFiles;

struct GotProduct {
  ProgramProduct product;
  Outcome outcome = Outcome::made;
  Reason reason = Reason::none;
  Nanoseconds cost{0};
  std::shared_ptr<const UsedFiles> files{};  // null: it is not known that any decide it
  std::string why_not{};                     // why it could not be kept, when only making it showed that
};

// True while all of them are as they were. Null: true.
LARDER_API bool is_current(const std::shared_ptr<const UsedFiles>& files);

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
  // With `records_files`, `recipe` is what is known before making; files that the maker reads or looks for
  // decide as well, and are remembered (docs/gpu.md).
  template <typename Maker>
  Result<GotProduct> get_or_make(const Recipe& recipe, std::span<const Text> texts, bool records_files,
                                 Maker&& maker) {
    using Callable = std::remove_reference_t<Maker>;
    const AnyProductMaker any{
        &maker, [](void* erased) -> Result<ProgramProduct> { return (*static_cast<Callable*>(erased))(); }};
    return records_files ? get_or_make_recorded(recipe, texts, any) : get_or_make_any(recipe, texts, any);
  }
  // The driver does not take it. True when it was kept.
  bool reject(const Recipe& recipe, bool records_files);

 private:
  struct Recorded;
  Result<GotProduct> get_or_make_any(const Recipe& recipe, std::span<const Text> texts,
                                     AnyProductMaker maker);
  Result<GotProduct> get_or_make_recorded(const Recipe& base, std::span<const Text> texts,
                                          AnyProductMaker maker);
  Recorded record(const Recipe& base, AnyProductMaker maker) const;
  static Result<GotProduct> to_got(const Recipe& base, Recorded& recorded);
  std::string keep(const Recorded& recorded, const Recipe* asked, std::span<const Text> texts,
                   const format::FileClosures& known);

  Cache* cache_;
  bool remembers_failures_;
};

}  // namespace larder::detail
