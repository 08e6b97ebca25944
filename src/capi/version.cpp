#include "larder/c/base.h"

#define LARDER_TEXT_OF(x) #x
#define LARDER_TEXT(x) LARDER_TEXT_OF(x)

uint32_t larder_version_number(void) {
  return 10000 * LARDER_VERSION_MAJOR + 100 * LARDER_VERSION_MINOR + LARDER_VERSION_PATCH;
}

const char* larder_version_text(void) {
  return LARDER_TEXT(LARDER_VERSION_MAJOR) "." LARDER_TEXT(LARDER_VERSION_MINOR) "." LARDER_TEXT(
      LARDER_VERSION_PATCH);
}
