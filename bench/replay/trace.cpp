#include "bench/replay/trace.hpp"

#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace larder::replay {
namespace {

struct Record {
  std::uint64_t key;
  std::uint32_t size_bytes;
  std::uint32_t cost_us;
};
static_assert(sizeof(Record) == 16 && std::endian::native == std::endian::little);

// Nothing for what is no zstd stream, or one cut short.
std::optional<std::string> decompress(const std::string& packed) {
  std::string plain;
  ZSTD_DStream* stream = ZSTD_createDStream();
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  std::vector<char> chunk(ZSTD_DStreamOutSize());
  std::size_t left = 1;  // 0 at the end of a frame
  for (bool is_full = true; in.pos < in.size || is_full;) {
    ZSTD_outBuffer out{chunk.data(), chunk.size(), 0};
    left = ZSTD_decompressStream(stream, &out, &in);
    if (ZSTD_isError(left) != 0) break;
    plain.append(chunk.data(), out.pos);
    is_full = out.pos == out.size && left != 0;
  }
  ZSTD_freeDStream(stream);
  if (left != 0) return std::nullopt;
  return plain;
}

Result<std::vector<Record>> read_records(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(Code::not_found, "open " + path + ": no such trace");
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (path.ends_with(".zst")) {
    auto plain = decompress(bytes);
    if (!plain) return fail(Code::damaged, "read " + path + ": not a whole zstd stream");
    bytes = std::move(*plain);
  }
  if (bytes.empty() || bytes.size() % sizeof(Record) != 0) {
    return fail(Code::damaged, "read " + path + ": no 16-byte records");
  }
  std::vector<Record> records(bytes.size() / sizeof(Record));
  std::memcpy(records.data(), bytes.data(), bytes.size());
  return records;
}

}  // namespace

std::uint64_t Trace::footprint() const noexcept {
  std::uint64_t bytes = 0;
  for (const Object& object : objects) bytes += object.size;
  return bytes;
}

bool Trace::has_cost() const noexcept {
  return std::any_of(objects.begin(), objects.end(), [](const Object& one) { return one.cost_ns != 0; });
}

bool Trace::has_size() const noexcept {
  return std::any_of(objects.begin(), objects.end(), [](const Object& one) { return one.size != 1; });
}

bool Trace::has_groups() const {
  std::unordered_set<std::uint64_t> groups;
  for (const Object& object : objects) groups.insert(object.key >> 32);
  return groups.size() > 1 && groups.size() < objects.size() / 4;
}

Result<Trace> load_trace(const std::string& path) {
  auto records = read_records(path);
  if (!records) return tl::unexpected<Error>(records.error());
  Trace trace;
  const std::string file = std::filesystem::path(path).filename().string();
  trace.name = file.substr(0, file.find('.'));
  std::unordered_map<std::uint64_t, std::uint32_t> seen;
  trace.requests.reserve(records->size());
  for (const Record& record : *records) {
    const auto [at, is_first] =
        seen.try_emplace(record.key, static_cast<std::uint32_t>(trace.objects.size()));
    const std::uint64_t cost_ns = std::uint64_t{record.cost_us} * 1000;
    if (is_first) trace.objects.push_back({record.key, record.size_bytes, cost_ns});
    if (trace.costs_ns.empty() && trace.objects[at->second].cost_ns != cost_ns) {
      for (const std::uint32_t object : trace.requests)
        trace.costs_ns.push_back(trace.objects[object].cost_ns);
    }
    trace.requests.push_back(at->second);
    if (!trace.costs_ns.empty()) trace.costs_ns.push_back(cost_ns);
  }
  return trace;
}

Result<void> save_trace(const Trace& trace, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  for (std::size_t i = 0; i < trace.requests.size(); ++i) {
    const Object& object = trace.objects[trace.requests[i]];
    const Record record{
        object.key, static_cast<std::uint32_t>(std::min<std::uint64_t>(object.size, 0xffffffff)),
        static_cast<std::uint32_t>(std::min<std::uint64_t>(trace.cost_ns(i) / 1000, 0xffffffff))};
    file.write(reinterpret_cast<const char*>(&record), sizeof record);
  }
  if (!file.flush()) return fail(Code::io, "write " + path + ": failed");
  return {};
}

}  // namespace larder::replay
