// A frame is one record of a note: small files beside the entries to which many processes append, and which
// may be lost, cut or damaged at any time. Encode and decode, no I/O.
//
//   note  := frame*
//   frame := mark size check payload
//   mark  := "LNF\n"            at 0
//   size  := u32: of payload    at 4
//   check := u64: low half of XXH3-128 of payload   at 8
//
// Integers are little-endian. What is torn or damaged is passed over: readers look for the next mark whose
// check holds.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace larder::format {

inline constexpr std::size_t kFrameHeaderSize = 16;
inline constexpr std::size_t kFramePayloadMax = 1 << 20;

// PRECONDITION: payload is at most kFramePayloadMax long.
void append_frame(std::string& note, std::string_view payload);

// Calls `visit` for every payload that is whole, front to back; stops when it returns false.
void for_each_frame(std::string_view note, const std::function<bool(std::string_view)>& visit);

}  // namespace larder::format
