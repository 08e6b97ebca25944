// Large aligned blocks of memory, advised to stand on huge pages where they fill one. Any thread.
#pragma once

#include <cstddef>

namespace larder {

inline constexpr std::size_t kHugePageSize = std::size_t{2} << 20;

// Aligned to 128 bytes, to kHugePageSize when `size` is a multiple of that. Throws std::bad_alloc.
void* allocate_pages(std::size_t size);
void free_pages(void* pages) noexcept;

}  // namespace larder
