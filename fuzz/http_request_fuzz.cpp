// Any bytes as what a client sent: whole, cut or refused, never two of these, and a whole one keeps its
// promises.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "http/request.hpp"

namespace {

void demand(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace larder::http;
  const std::string input(reinterpret_cast<const char*>(data), size);
  const Parsed parsed = parse_request(input);
  if (parsed.status == 0) {
    demand(size <= kHeadMax);
    return 0;
  }
  demand(parsed.status == 200 || (parsed.status >= 400 && parsed.status < 600));
  if (parsed.status != 200) return 0;
  demand(parsed.used <= size && parsed.used <= kHeadMax);
  demand(parse_request(input.substr(0, parsed.used - 1)).status == 0);
  const std::string& path = parsed.request.path;
  demand(path.starts_with('/') && path.find('\0') == path.npos);
  demand((path + '/').find("/../") == path.npos && (path + '/').find("/./") == path.npos);
  demand(parsed.request.headers.size() <= kHeadersMax);
  for (const auto& [name, value] : parsed.request.headers)
    demand(!name.empty() && value.find('\n') == value.npos && value.find('\r') == value.npos);
  (void)parsed.request.parameter("page");
  return 0;
}
