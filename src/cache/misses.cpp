#include "cache/misses.hpp"

#include <algorithm>
#include <limits>

#include "format/frame.hpp"
#include "format/little_endian.hpp"
#include "store/layout.hpp"

namespace larder {
namespace {

constexpr std::uint8_t kMissVersion = 1;
constexpr std::size_t kMissHeadSize = 1 + 1 + 8 + 2;
// Two notes of this size are kept at most.
constexpr std::uint64_t kMissesNoteMax = std::uint64_t{1} << 20;
// A recipe longer than this is not remembered.
constexpr std::size_t kRecipeMax = 256 * 1024;

}  // namespace

std::string encode_miss(const Miss& miss) {
  const std::string_view program = std::string_view(miss.program).substr(0, 255);
  std::string payload(kMissHeadSize, '\0');
  auto* const bytes = reinterpret_cast<std::byte*>(payload.data());
  format::store(bytes, kMissVersion);
  format::store(bytes + 1, static_cast<std::uint8_t>(miss.reason));
  format::store(bytes + 2, miss.at_unix_ns);
  format::store(bytes + 10, static_cast<std::uint16_t>(program.size()));
  payload.append(program);
  payload.append(miss.recipe.canonical());
  return payload;
}

std::optional<Miss> decode_miss(std::string_view payload) {
  if (payload.size() < kMissHeadSize || payload.front() != static_cast<char>(kMissVersion))
    return std::nullopt;
  const std::byte* const bytes = as_bytes(payload).data();
  const std::size_t program = format::load<std::uint16_t>(bytes + 10);
  if (payload.size() - kMissHeadSize < program) return std::nullopt;
  auto recipe = Recipe::from_canonical(payload.substr(kMissHeadSize + program));
  if (!recipe) return std::nullopt;
  return Miss{.recipe = std::move(*recipe),
              .reason = static_cast<Reason>(format::load<std::uint8_t>(bytes + 1)),
              .at_unix_ns = format::load<std::int64_t>(bytes + 2),
              .program = std::string(payload.substr(kMissHeadSize, program))};
}

bool add_misses(const Notes& notes, const std::vector<Miss>& misses) {
  std::string frames;
  for (const Miss& miss : misses) {
    if (miss.recipe.canonical().size() <= kRecipeMax) format::append_frame(frames, encode_miss(miss));
  }
  return frames.empty() ||
         notes.append(layout::kMisses, frames, std::max<std::uint64_t>(kMissesNoteMax, frames.size()),
                      layout::kMissesOlder);
}

std::vector<Miss> read_misses(const Notes& notes, std::size_t keep) {
  std::vector<Miss> all;
  for (const auto name : {layout::kMissesOlder, layout::kMisses}) {
    format::for_each_frame(notes.read(name, 4 * kMissesNoteMax), [&](std::string_view payload) {
      if (auto miss = decode_miss(payload)) all.push_back(std::move(*miss));
      return true;
    });
  }
  std::reverse(all.begin(), all.end());
  if (all.size() > keep) all.erase(all.begin() + static_cast<std::ptrdiff_t>(keep), all.end());
  return all;
}

void clear_misses(const Notes& notes) {
  notes.remove(layout::kMisses);
  notes.remove(layout::kMissesOlder);
}

void clear_misses(const Notes& notes, const std::function<bool(const Miss&)>& matches) {
  std::vector<Miss> left = read_misses(notes, std::numeric_limits<std::size_t>::max());
  if (std::erase_if(left, matches) == 0) return;
  clear_misses(notes);
  std::reverse(left.begin(), left.end());
  add_misses(notes, left);
}

}  // namespace larder
