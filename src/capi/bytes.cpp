#include "capi/convert.hpp"

using namespace larder;

larder_bytes* larder_bytes_create(larder_view view, larder_error** error) {
  return capi::guarded(
      error, [&]() -> Result<larder_bytes*> { return capi::new_bytes(std::string(capi::given_text(view))); });
}

larder_view larder_bytes_view(const larder_bytes* bytes) {
  return capi::to_view(bytes->bytes.view());
}

void larder_bytes_destroy(larder_bytes* bytes) {
  delete bytes;
}
