// Any bytes as a bundle, and as a file of public keys: opened or refused, never read beyond the file, and
// every product that comes out has its checksum. The first byte says whether the checksums of header and
// index are made right first, as a forger would, so that the rest is reached.
#include <cstdint>
#include <cstdlib>

#include "format/bundle.hpp"
#include "format/checksum.hpp"
#include "format/little_endian.hpp"
#include "fuzz/file_in_memory.hpp"
#include "larder/bundle.hpp"
#include "store/bundle_keys.hpp"

namespace {

using namespace larder;

void check(bool holds) {
  if (!holds) std::abort();
}

void forge(std::string& file) {
  if (file.size() < format::kBundleHeaderSize) return;
  auto* const bytes = reinterpret_cast<std::byte*>(file.data());
  const auto count = format::load<std::uint64_t>(bytes + 16);
  const auto offset = format::load<std::uint64_t>(bytes + 24);
  format::store(bytes + 40, static_cast<std::uint64_t>(file.size()));
  if (offset <= file.size() && count <= (file.size() - offset) / format::kBundleRecordSize) {
    const format::Checksum index = format::checksum({bytes + offset, count * format::kBundleRecordSize});
    format::store(bytes + 48, index.low);
    format::store(bytes + 56, index.high);
  }
  const format::Checksum header = format::checksum({bytes, 112});
  format::store(bytes + 112, header.low);
  format::store(bytes + 120, header.high);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string file(reinterpret_cast<const char*>(data) + 1, size - 1);
  (void)bundle_keys::parse_public(file);
  if (data[0] % 2 == 1) forge(file);
  const fuzz::FileInMemory memory(reinterpret_cast<const std::uint8_t*>(file.data()), file.size());
  const auto bundle = Bundle::open(memory.path());
  if (!bundle) return 0;
  check(bundle->file_bytes() == file.size());
  std::uint64_t seen = 0;
  bundle->verify_each([&](const BundleEntry& entry) {
    ++seen;
    check(bundle->contains(entry.key));
    if (entry.reason != Reason::none) return true;
    const BundleLookup found = bundle->get(*entry.recipe, entry.key, {.may_map = seen % 2 == 0});
    check(found && found.product.size() == entry.product_bytes);
    return true;
  });
  check(seen == bundle->entries());
  (void)preflight(memory.path(), {}, {{"number", "2"}, {"driver", "x"}});
  return 0;
}
