#if defined(__x86_64__)
#define LARDER_CHECKSUM_SET avx2
#include "format/checksum_kernel.hpp"
#endif
