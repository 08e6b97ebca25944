#include "base/pages.hpp"

#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace larder {

void* allocate_pages(std::size_t size) {
  const bool huge = size % kHugePageSize == 0;
  void* const pages = std::aligned_alloc(huge ? kHugePageSize : 128, (size + 127) / 128 * 128);
  if (pages == nullptr) throw std::bad_alloc();
#if defined(__linux__)
  if (huge) madvise(pages, size, MADV_HUGEPAGE);
#endif
  return pages;
}

void free_pages(void* pages) noexcept {
  std::free(pages);
}

}  // namespace larder
