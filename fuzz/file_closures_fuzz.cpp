// Any bytes given as a program's closures: what is read is within its bounds and encodes to the same bytes.
#include <cstdint>
#include <cstdlib>

#include "format/file_closures.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace larder;
  const BytesView bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto closures = format::decode_file_closures(bytes);
  if (!closures) return 0;
  if (closures->files.size() > format::kFilesMax || closures->closures.size() > format::kClosuresMax)
    std::abort();
  for (const format::FileClosure& closure : closures->closures) {
    if (closure.keys.size() > format::kClosureKeysMax) std::abort();
    for (const format::FileUse& use : closure.uses) {
      if (use.file >= closures->files.size()) std::abort();
    }
  }
  if (format::encode_file_closures(*closures) != as_text(bytes)) std::abort();
  return 0;
}
