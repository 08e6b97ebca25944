// Any bytes as a cache file: shown or refused, and a product that is called sound has its checksum. The first
// byte says whether the checksums are made right first, as a forger would, so that the rest is reached.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "format/checksum.hpp"
#include "format/entry.hpp"
#include "format/little_endian.hpp"
#include "fuzz/file_in_memory.hpp"
#include "larder/cache_file.hpp"

namespace {

using namespace larder;

void check(bool holds) {
  if (!holds) std::abort();
}

// Makes the checksums of head and product those of the bytes, when the sizes leave room.
void forge(std::string& file) {
  if (file.size() < format::kEntrySizeMin) return;
  auto* const bytes = reinterpret_cast<std::byte*>(file.data());
  std::uint64_t sizes[3];
  for (int i = 0; i < 3; ++i) sizes[i] = format::load<std::uint64_t>(bytes + 32 + 8 * i) % file.size();
  const std::uint64_t head = format::entry_head_size(sizes[0], sizes[1], sizes[2]);
  if (head > file.size() || head < format::kEntryHeaderSize + format::kChecksumSize) return;
  for (int i = 0; i < 3; ++i) format::store(bytes + 32 + 8 * i, sizes[i]);
  format::store(bytes + 56, static_cast<std::uint64_t>(file.size()) - head);
  const format::Checksum product = format::checksum({bytes + head, file.size() - head});
  format::store(bytes + 80, product.low);
  format::store(bytes + 88, product.high);
  const format::Checksum sum = format::checksum({bytes, head - format::kChecksumSize});
  format::store(bytes + head - format::kChecksumSize, sum.low);
  format::store(bytes + head - 8, sum.high);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string file(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 1) forge(file);
  const fuzz::FileInMemory memory(reinterpret_cast<const std::uint8_t*>(file.data()), file.size());
  const auto info = CacheFile::inspect(memory.path());
  if (!info) return 0;
  check(info->file_bytes == file.size());
  check(info->product_bytes <= file.size() || info->reason != Reason::none);
  if (info->layout == CacheFileInfo::Layout::larder && info->reason == Reason::none) {
    format::EntryHead head;
    BytesView product;
    check(info->recipe.has_value());
    check(format::decode_entry(as_bytes(file), head, product) == Reason::none);
    check(product.size() == info->product_bytes);
  }
  return 0;
}
