// Result is a value or the Error that kept it from being made; every fallible operation of larder returns
// one. A miss is never an Error: only what a caller can act on is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "larder/export.h"

namespace larder {

// What went wrong, as coarse as a caller can act on. Numbers are part of the C ABI and never change meaning.
enum class Code : std::uint8_t {
  invalid_argument = 1,  // the caller's mistake: the call can never succeed as it stands
  not_found = 2,         // load of something that had to exist
  io = 3,                // the operating system refused
  damaged = 4,           // bytes that fail their own check
  unsupported = 5,       // this build or machine cannot
  out_of_resources = 6,  // memory, descriptors, device memory; may work after making room
  would_deadlock = 7,    // a maker asked for the product it is making
  maker_failed = 8,      // the user's maker said no; `what` is the maker's
  transient = 9,         // failed for now; asking again may succeed
  closed = 10,           // the object was closed before the call
  refused = 11,          // a policy or trust rule forbids it
  internal = 12,         // a bug in larder
};

// The name of a code as it stands in messages and JSON. Never empty.
LARDER_API std::string_view name(Code code) noexcept;

// `what` reads `open /x/y: Permission denied`: lower case, outermost first, no full stop.
struct Error {
  Code code = Code::internal;
  std::string what;
};

template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
  Result(tl::expected<T, Error> other) : tl::expected<T, Error>(std::move(other)) {}
};

// The error side of any Result: `return fail(Code::io, "open " + path);`
inline tl::unexpected<Error> fail(Code code, std::string what) {
  return tl::unexpected<Error>(Error{code, std::move(what)});
}

}  // namespace larder
