#include "format/graph_snapshot.hpp"

#include <algorithm>

#include "format/checksum.hpp"
#include "format/little_endian.hpp"

namespace larder::format {

namespace {

constexpr std::string_view kMark = "LARDGRF\n";
constexpr std::size_t kHeaderSize = 40;
constexpr std::size_t kOutsideSize = 48;
constexpr std::size_t kDigestSize = 16;

template <typename Integer>
void put(std::string& to, Integer value) {
  std::byte bytes[sizeof value];
  store(bytes, value);
  to.append(reinterpret_cast<const char*>(bytes), sizeof value);
}
void put_text(std::string& to, std::string_view text) {
  put(to, static_cast<std::uint32_t>(text.size()));
  to.append(text);
}

class Reader {
 public:
  explicit Reader(BytesView bytes) : left_(bytes) {}
  template <typename Integer>
  bool take(Integer& value) {
    if (left_.size() < sizeof value) return false;
    value = load<Integer>(left_.data());
    left_ = left_.subspan(sizeof value);
    return true;
  }
  bool take_text(std::string_view& text) {
    std::uint32_t size = 0;
    if (!take(size) || left_.size() < size) return false;
    text = as_text(left_.first(size));
    left_ = left_.subspan(size);
    return true;
  }
  std::size_t left() const { return left_.size(); }

 private:
  BytesView left_;
};

bool take_function(Reader& reader, GraphSnapshot::Function& function) {
  std::uint8_t is_input = 0;
  if (!reader.take_text(function.name) || !reader.take_text(function.version) ||
      !reader.take_text(function.key_type) || !reader.take_text(function.value_type) ||
      !reader.take(is_input) || is_input > 1)
    return false;
  function.is_input = is_input == 1;
  return true;
}

bool take_node(Reader& reader, GraphSnapshot& snapshot, std::vector<std::uint32_t>& seen) {
  GraphSnapshot::Node node;
  std::uint8_t condition = 0;
  std::uint8_t kind = 0;
  if (!reader.take(node.function) || node.function >= snapshot.functions.size() || !reader.take(condition) ||
      condition > 2 || !reader.take(kind) || kind > 3 || !reader.take_text(node.key) ||
      !reader.take_text(node.value) || !reader.take_text(node.outside) || !reader.take(node.count) ||
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
    if (!reader.take(dependency) || dependency >= number || seen[dependency] == number) return false;
    seen[dependency] = number;
    snapshot.dependencies.push_back(dependency);
  }
  snapshot.nodes.push_back(node);
  seen.push_back(0xffffffff);
  return true;
}

}  // namespace

std::string encode_graph(const GraphSnapshot& snapshot) {
  std::string bytes(kMark);
  put(bytes, kGraphSnapshotVersion);
  put(bytes, std::uint32_t{0});
  bytes.append(kHeaderSize - bytes.size(), '\0');
  put(bytes, snapshot.revision);
  put(bytes, static_cast<std::uint32_t>(snapshot.functions.size()));
  for (const GraphSnapshot::Function& function : snapshot.functions) {
    put_text(bytes, function.name);
    put_text(bytes, function.version);
    put_text(bytes, function.key_type);
    put_text(bytes, function.value_type);
    put(bytes, static_cast<std::uint8_t>(function.is_input ? 1 : 0));
  }
  put(bytes, static_cast<std::uint32_t>(snapshot.nodes.size()));
  for (const GraphSnapshot::Node& node : snapshot.nodes) {
    put(bytes, node.function);
    put(bytes, static_cast<std::uint8_t>(node.condition));
    put(bytes, static_cast<std::uint8_t>(node.kind));
    put_text(bytes, node.key);
    put_text(bytes, node.value);
    put_text(bytes, node.outside);
    put(bytes, node.count);
    for (std::uint32_t i = 0; i < node.count; ++i) put(bytes, snapshot.dependencies[node.first + i]);
  }
  seal_graph(bytes);
  return bytes;
}

void seal_graph(std::string& bytes) {
  const BytesView payload = as_bytes(std::string_view(bytes)).subspan(kHeaderSize);
  const Checksum check = checksum(payload);
  std::string sums;
  put(sums, static_cast<std::uint64_t>(payload.size()));
  put(sums, check.low);
  put(sums, check.high);
  std::copy(sums.begin(), sums.end(), bytes.begin() + 16);
}

std::optional<GraphSnapshot> decode_graph(BytesView bytes) {
  Reader header(bytes);
  std::uint64_t mark = 0;
  std::uint32_t version = 0;
  std::uint32_t zero = 0;
  std::uint64_t size = 0;
  Checksum check;
  if (!header.take(mark) || as_text(bytes.first(8)) != kMark || !header.take(version) ||
      version != kGraphSnapshotVersion || !header.take(zero) || zero != 0 || !header.take(size) ||
      !header.take(check.low) || !header.take(check.high) || header.left() != size)
    return std::nullopt;
  const BytesView payload = bytes.subspan(kHeaderSize);
  if (checksum(payload) != check) return std::nullopt;
  Reader reader(payload);
  GraphSnapshot snapshot;
  std::uint32_t count = 0;
  if (!reader.take(snapshot.revision) || !reader.take(count)) return std::nullopt;
  for (; count != 0; --count) {
    if (!take_function(reader, snapshot.functions.emplace_back())) return std::nullopt;
  }
  if (!reader.take(count)) return std::nullopt;
  std::vector<std::uint32_t> seen;
  for (; count != 0; --count) {
    if (!take_node(reader, snapshot, seen)) return std::nullopt;
  }
  if (reader.left() != 0) return std::nullopt;
  return snapshot;
}

}  // namespace larder::format
