#include "format/graph_snapshot.hpp"

#include <algorithm>

#include "format/byte_reader.hpp"
#include "format/checksum.hpp"

namespace larder::format {

namespace {

constexpr std::string_view kSnapshotMark = "LARDGRF\n";
constexpr std::size_t kHeaderSize = 40;
constexpr std::size_t kOutsideSize = 48;
constexpr std::size_t kDigestSize = 16;

void put_text(std::string& to, std::string_view text) {
  append_integer(to, static_cast<std::uint32_t>(text.size()));
  to.append(text);
}

bool take_text(ByteReader& reader, std::string_view& text) {
  std::uint32_t size = 0;
  return reader.read(size) && reader.read(text, size);
}

bool take_function(ByteReader& reader, GraphSnapshot::Function& function) {
  std::uint8_t is_input = 0;
  if (!take_text(reader, function.name) || !take_text(reader, function.version) ||
      !take_text(reader, function.key_type) || !take_text(reader, function.value_type) ||
      !reader.read(is_input) || is_input > 1)
    return false;
  function.is_input = is_input == 1;
  return true;
}

bool take_node(ByteReader& reader, GraphSnapshot& snapshot, std::vector<std::uint32_t>& seen) {
  GraphSnapshot::Node node;
  std::uint8_t condition = 0;
  std::uint8_t kind = 0;
  if (!reader.read(node.function) || node.function >= snapshot.functions.size() || !reader.read(condition) ||
      condition > 2 || !reader.read(kind) || kind > 3 || !take_text(reader, node.key) ||
      !take_text(reader, node.value) || !take_text(reader, node.outside) || !reader.read(node.count) ||
      reader.left() / 4 < node.count)
    return false;
  node.condition = static_cast<SnapshotCondition>(condition);
  node.kind = static_cast<SnapshotValue>(kind);
  if ((node.kind == SnapshotValue::digest && node.value.size() != kDigestSize) ||
      (node.kind == SnapshotValue::none && !node.value.empty()) ||
      (node.kind == SnapshotValue::error &&
       (node.value.empty() || node.value[0] < 1 || node.value[0] > 12)) ||
      (!node.outside.empty() && node.outside.size() != kOutsideSize))
    return false;
  if (snapshot.functions[node.function].is_input && node.count != 0) return false;
  const auto number = static_cast<std::uint32_t>(snapshot.nodes.size());
  node.first = static_cast<std::uint32_t>(snapshot.dependencies.size());
  for (std::uint32_t i = 0; i < node.count; ++i) {
    std::uint32_t dependency = 0;
    // `seen` holds who asked for each node last.
    if (!reader.read(dependency) || dependency >= number || seen[dependency] == number) return false;
    seen[dependency] = number;
    snapshot.dependencies.push_back(dependency);
  }
  snapshot.nodes.push_back(node);
  seen.push_back(0xffffffff);
  return true;
}

}  // namespace

std::string encode_graph(const GraphSnapshot& snapshot) {
  std::string bytes(kSnapshotMark);
  append_integer(bytes, kGraphSnapshotVersion);
  append_integer(bytes, std::uint32_t{0});
  bytes.append(kHeaderSize - bytes.size(), '\0');
  append_integer(bytes, snapshot.revision);
  append_integer(bytes, static_cast<std::uint32_t>(snapshot.functions.size()));
  for (const GraphSnapshot::Function& function : snapshot.functions) {
    put_text(bytes, function.name);
    put_text(bytes, function.version);
    put_text(bytes, function.key_type);
    put_text(bytes, function.value_type);
    append_integer(bytes, static_cast<std::uint8_t>(function.is_input ? 1 : 0));
  }
  append_integer(bytes, static_cast<std::uint32_t>(snapshot.nodes.size()));
  for (const GraphSnapshot::Node& node : snapshot.nodes) {
    append_integer(bytes, node.function);
    append_integer(bytes, static_cast<std::uint8_t>(node.condition));
    append_integer(bytes, static_cast<std::uint8_t>(node.kind));
    put_text(bytes, node.key);
    put_text(bytes, node.value);
    put_text(bytes, node.outside);
    append_integer(bytes, node.count);
    for (std::uint32_t i = 0; i < node.count; ++i)
      append_integer(bytes, snapshot.dependencies[node.first + i]);
  }
  seal_graph(bytes);
  return bytes;
}

void seal_graph(std::string& bytes) {
  const BytesView payload = as_bytes(std::string_view(bytes)).subspan(kHeaderSize);
  const Checksum check = checksum(payload);
  std::string sums;
  append_integer(sums, static_cast<std::uint64_t>(payload.size()));
  append_integer(sums, check.low);
  append_integer(sums, check.high);
  std::copy(sums.begin(), sums.end(), bytes.begin() + 16);
}

std::optional<GraphSnapshot> decode_graph(BytesView bytes) {
  ByteReader header(bytes);
  std::uint64_t mark = 0;
  std::uint32_t version = 0;
  std::uint32_t zero = 0;
  std::uint64_t size = 0;
  Checksum check;
  if (!header.read(mark) || as_text(bytes.first(8)) != kSnapshotMark || !header.read(version) ||
      version != kGraphSnapshotVersion || !header.read(zero) || zero != 0 || !header.read(size) ||
      !header.read(check.low) || !header.read(check.high) || header.left() != size)
    return std::nullopt;
  const BytesView payload = bytes.subspan(kHeaderSize);
  if (checksum(payload) != check) return std::nullopt;
  ByteReader reader(payload);
  GraphSnapshot snapshot;
  std::uint32_t count = 0;
  if (!reader.read(snapshot.revision) || !reader.read(count)) return std::nullopt;
  for (; count != 0; --count) {
    if (!take_function(reader, snapshot.functions.emplace_back())) return std::nullopt;
  }
  if (!reader.read(count)) return std::nullopt;
  std::vector<std::uint32_t> seen;
  for (; count != 0; --count) {
    if (!take_node(reader, snapshot, seen)) return std::nullopt;
  }
  if (!reader.at_end()) return std::nullopt;
  return snapshot;
}

}  // namespace larder::format
