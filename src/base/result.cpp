#include "larder/result.hpp"

namespace larder {

std::string_view name(Code code) noexcept {
  switch (code) {
    case Code::invalid_argument:
      return "invalid argument";
    case Code::not_found:
      return "not found";
    case Code::io:
      return "i/o error";
    case Code::damaged:
      return "damaged";
    case Code::unsupported:
      return "unsupported";
    case Code::out_of_resources:
      return "out of resources";
    case Code::would_deadlock:
      return "would deadlock";
    case Code::maker_failed:
      return "maker failed";
    case Code::transient:
      return "transient failure";
    case Code::closed:
      return "closed";
    case Code::refused:
      return "refused";
    case Code::internal:
      return "internal error";
  }
  return "unknown";
}

}  // namespace larder
