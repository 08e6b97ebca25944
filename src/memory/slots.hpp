// Slots is where the slots of one core come from: chunks that double up to the size of a huge page, so that a
// million slots stand close together and a handful takes a few kilobytes. The core's mutex guards it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace larder::detail {

// Stands at the beginning of its own memory.
struct Chunk {
  Chunk* next = nullptr;  // among those with room
  Chunk* previous = nullptr;
  std::uint32_t capacity = 0;
  std::uint32_t fresh = 0;  // slots never given out stand from here on
  std::uint32_t taken = 0;
  void* free = nullptr;  // slots given back, each pointing to the next
};

class Slots {
 public:
  explicit Slots(std::size_t slot_size) noexcept : slot_size_(slot_size) {}
  ~Slots();
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  struct Place {
    void* slot = nullptr;
    Chunk* chunk = nullptr;
  };
  // Throws std::bad_alloc.
  Place take();
  void give_back(void* slot, Chunk* chunk) noexcept;

  std::size_t taken() const noexcept { return taken_; }

 private:
  void add_chunk();
  void link(Chunk* chunk) noexcept;
  void unlink(Chunk* chunk) noexcept;
  void* place(Chunk* chunk, std::uint32_t index) const noexcept;

  const std::size_t slot_size_;
  Chunk* with_room_ = nullptr;
  std::size_t taken_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace larder::detail
