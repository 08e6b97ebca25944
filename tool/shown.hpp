// Words and figures as every command shows them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "larder/event.hpp"
#include "tool/command.hpp"
#include "tool/json.hpp"

namespace larder::tool {

// `3.2 d`; a moment in the future, or none, is `-`.
std::string age(std::int64_t now_unix_ns, std::int64_t at_unix_ns);

// `5.0 s ago`, or that this machine's clock cannot say.
std::string ago(std::int64_t now_unix_ns, std::int64_t at_unix_ns);

// `1 entry`, `1234 entries`.
std::string entries_text(std::uint64_t count);

// What a reason means, as the end of a sentence about a miss: `it had to leave to make room`.
std::string_view meaning(Reason reason) noexcept;

// `2026-01-31 23:59:59 UTC`.
std::string date(std::int64_t unix_ns);

// An honest no: the complaint on stderr, with --json also an object with `reason` and `advice` on stdout.
// Gives kNo to return.
int say_no(const Call& call, const Complaint& complaint);

// `larder: ...` on stderr that is no complaint.
inline std::string remark(std::string_view text) {
  return "larder: " + std::string(text) + '\n';
}

}  // namespace larder::tool
