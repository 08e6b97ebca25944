#include "memory/record.hpp"

#include <cstring>
#include <new>

#include "recipe/canonical.hpp"

namespace larder::detail {

std::string_view Record::kind() const noexcept {
  std::string_view kind;
  canonical::Reader(canonical()).read_kind(kind);
  return kind;
}

Record* make_record(Core& core, void* slot_memory, Chunk* chunk, Key key, std::string_view canonical) {
  void* const memory = ::operator new(sizeof(Record) + canonical.size(), std::align_val_t(alignof(Record)));
  auto* const slot = ::new (slot_memory) Slot;
  slot->home.is_at_home = true;
  slot->used.store(kNotHome, std::memory_order_relaxed);
  auto* const record = ::new (memory) Record(core, *slot, chunk, key, canonical.size());
  std::memcpy(static_cast<void*>(record + 1), canonical.data(), canonical.size());
  slot->record = record;
  return record;
}

void free_record(Record* record) noexcept {
  record->slot.~Slot();
  record->~Record();
  ::operator delete(record, std::align_val_t(alignof(Record)));
}

}  // namespace larder::detail
