// A graph between two runs of a program, as bytes: functions, keys, dependencies, and values or their
// digests. It may be lost, cut or damaged: then the graph starts cold. Encode and decode, no I/O.
//
//   snapshot   := mark version zero size check payload
//   mark       := "LARDGRF\n"                          at  0
//   version    := u32 = 1                              at  8
//   zero       := u32                                  at 12
//   size       := u64: of payload                      at 16
//   check      := u64 low, u64 high: XXH3-128 of payload   at 24
//   payload    := revision functions nodes             at 40
//   revision   := u64
//   functions  := u32 count, count times: name version key_type value_type is_input
//   nodes      := u32 count, count times: function condition kind key value outside dependencies
//   function   := u32: which one
//   condition  := u8: 0 clean, 1 stale, 2 dirty
//   kind       := u8: of value: 0 none, 1 itself, 2 its digest (16 bytes), 3 an error (its code, then what it
//   says) outside    := text: what was seen of a file or folder (48 bytes), or nothing dependencies := u32
//   count, count times u32: nodes that stand before this one, none twice name, version, key_type, value_type,
//   key, value := text := u32 length, that many bytes is_input   := u8: 0 or 1
//
// Integers are little-endian. A decoder accepts exactly what an encoder writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "larder/bytes.hpp"

namespace larder::format {

inline constexpr std::uint32_t kGraphSnapshotVersion = 1;

enum class SnapshotCondition : std::uint8_t { clean = 0, stale = 1, dirty = 2 };
enum class SnapshotValue : std::uint8_t { none = 0, itself = 1, digest = 2, error = 3 };

// Texts are views: into what was decoded, or into what the encoder's caller keeps.
struct GraphSnapshot {
  struct Function {
    std::string_view name, version, key_type, value_type;
    bool is_input = false;
  };
  struct Node {
    std::uint32_t function = 0;
    SnapshotCondition condition = SnapshotCondition::clean;
    SnapshotValue kind = SnapshotValue::none;
    std::string_view key, value, outside;
    std::uint32_t first = 0, count = 0;  // of `dependencies`
  };
  std::uint64_t revision = 0;
  std::vector<Function> functions;
  std::vector<Node> nodes;
  std::vector<std::uint32_t> dependencies;
};

std::string encode_graph(const GraphSnapshot& snapshot);
// Writes size and check of whatever payload stands behind a header.
void seal_graph(std::string& bytes);
// Nothing where the bytes are not a whole, sound snapshot of this version.
std::optional<GraphSnapshot> decode_graph(BytesView bytes);

}  // namespace larder::format
