#define LARDER_CHECKSUM_SET portable
#include "format/checksum_kernel.hpp"
