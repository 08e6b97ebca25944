// Any bytes given as what is known of libraries' builds: what is read is written and read back the same, and
// consists of lines of the input.
#include <algorithm>
#include <cstdint>

#include "format/library_builds.hpp"
#include "fuzz/demand.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace larder;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto builds = format::decode_library_builds(text);
  if (!builds) return 0;
  const auto is_of_a_line = [&](std::string_view part) {
    return !part.empty() && part.find('\n') == part.npos && text.find(part) != text.npos;
  };
  for (const auto& [name, build] : *builds) {
    demand(is_of_a_line(name));
    demand(build.identity.empty() || build.identity.ends_with('\n'));
    for (const format::LookedFile& looked : build.looked) demand(is_of_a_line(looked.path));
  }
  demand(format::decode_library_builds(format::encode_library_builds(*builds)) == builds);
  return 0;
}
