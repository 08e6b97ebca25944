#include "memory/slots.hpp"

#include <algorithm>
#include <new>

#include "base/assert.hpp"
#include "base/pages.hpp"

// A slot that nobody has must not be touched: AddressSanitizer watches.
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define LARDER_POISON(memory, size) ASAN_POISON_MEMORY_REGION(memory, size)
#define LARDER_UNPOISON(memory, size) ASAN_UNPOISON_MEMORY_REGION(memory, size)
#else
#define LARDER_POISON(memory, size) ((void)(memory), (void)(size))
#define LARDER_UNPOISON(memory, size) ((void)(memory), (void)(size))
#endif

namespace larder::detail {
namespace {

constexpr std::size_t kHeaderSize = 128;
constexpr std::size_t kChunkSizeMin = 4096;
static_assert(sizeof(Chunk) <= kHeaderSize);

}  // namespace

Slots::~Slots() {
  LARDER_ASSERT(taken_ == 0);
  while (with_room_ != nullptr) {
    Chunk* const chunk = with_room_;
    unlink(chunk);
    LARDER_UNPOISON(chunk, kHeaderSize + chunk->capacity * slot_size_);
    free_pages(chunk);
  }
}

void* Slots::place(Chunk* chunk, std::uint32_t index) const noexcept {
  return reinterpret_cast<std::byte*>(chunk) + kHeaderSize + index * slot_size_;
}

Slots::Place Slots::take() {
  if (with_room_ == nullptr) add_chunk();
  Chunk* const chunk = with_room_;
  void* slot = chunk->free;
  if (slot != nullptr) {
    LARDER_UNPOISON(slot, slot_size_);
    chunk->free = *static_cast<void**>(slot);
  } else {
    slot = place(chunk, chunk->fresh++);
    LARDER_UNPOISON(slot, slot_size_);
  }
  ++taken_;
  if (++chunk->taken == chunk->capacity) unlink(chunk);
  return {slot, chunk};
}

void Slots::give_back(void* slot, Chunk* chunk) noexcept {
  *static_cast<void**>(slot) = chunk->free;
  LARDER_POISON(slot, slot_size_);
  chunk->free = slot;
  --taken_;
  if (chunk->taken-- == chunk->capacity) link(chunk);
  // One empty chunk stays, lest a slot that comes and goes takes a chunk with it each time.
  if (chunk->taken == 0 && (chunk->next != nullptr || chunk->previous != nullptr)) {
    unlink(chunk);
    capacity_ -= chunk->capacity;
    LARDER_UNPOISON(chunk, kHeaderSize + chunk->capacity * slot_size_);
    free_pages(chunk);
  }
}

void Slots::add_chunk() {
  const std::size_t wanted = kHeaderSize + std::max<std::size_t>(capacity_, 8) * slot_size_;
  std::size_t size = kChunkSizeMin;
  while (size < wanted && size < kHugePageSize) size *= 2;
  auto* const chunk = ::new (allocate_pages(size)) Chunk;
  chunk->capacity = static_cast<std::uint32_t>((size - kHeaderSize) / slot_size_);
  capacity_ += chunk->capacity;
  LARDER_POISON(place(chunk, 0), chunk->capacity * slot_size_);
  link(chunk);
}

void Slots::link(Chunk* chunk) noexcept {
  chunk->previous = nullptr;
  chunk->next = with_room_;
  if (with_room_ != nullptr) with_room_->previous = chunk;
  with_room_ = chunk;
}

void Slots::unlink(Chunk* chunk) noexcept {
  (chunk->previous != nullptr ? chunk->previous->next : with_room_) = chunk->next;
  if (chunk->next != nullptr) chunk->next->previous = chunk->previous;
  chunk->next = chunk->previous = nullptr;
}

}  // namespace larder::detail
