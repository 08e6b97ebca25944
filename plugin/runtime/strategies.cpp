// As the paper's section 5.2 has them:
//   round robin  a vector searched from its front; the slots are replaced in turn.
//   LRU vector   each element carries the value of a counter that falls with each use; the element with the
//                highest value is replaced; the search begins at the most recently used element.
//   LRU hash     the same, but elements are found through a hash map. What is replaced is found by looking at
//   all.
#include "strategies.hpp"

#include <stdlib.h>
#include <string.h>

#include <new>

#include "threads.hpp"

namespace larder::reuse {

struct Vector {
  uint64_t strategy = 0;
  uint64_t capacity = 0;
  uint64_t count = 0;
  uint64_t next = 0;             // round robin: replaced next
  uint64_t recent = 0;           // LRU vector: most recently used
  uint64_t counter = 0;          // LRU: falls with each use
  uint64_t* elements = nullptr;  // key words, value words, counter, next of the bucket + 1
  uint64_t* buckets = nullptr;   // LRU hash: element + 1
  uint64_t bytes = 0;
};

namespace {

constexpr uint64_t kCapacity = 1024;

uint64_t words(const Site& site) {
  return site.key_words + site.value_words + 2;
}
uint64_t* element(const Table& table, uint64_t i) {
  return table.vector->elements + i * words(*table.site);
}
uint64_t& counter_of(const Table& table, uint64_t i) {
  return element(table, i)[table.site->key_words + table.site->value_words];
}
uint64_t& link_of(const Table& table, uint64_t i) {
  return element(table, i)[table.site->key_words + table.site->value_words + 1];
}
bool holds(const Table& table, uint64_t i, const uint64_t* key) {
  return memcmp(element(table, i), key, table.site->key_words * 8) == 0;
}
uint64_t& bucket_of(const Table& table, const uint64_t* key) {
  uint64_t hash = 0;
  for (uint64_t i = 0; i < table.site->key_words; ++i) hash ^= (key[i] ^ key[i] >> 32) * larder_reuse_odd[i];
  return table.vector->buckets[(hash >> 20) % table.vector->capacity];
}

// The element with `key`, or `count`.
uint64_t find(const Table& table, const uint64_t* key) {
  const Vector& vector = *table.vector;
  if (vector.strategy == LARDER_REUSE_LRU_HASH) {
    for (uint64_t i = bucket_of(table, key); i != 0; i = link_of(table, i - 1))
      if (holds(table, i - 1, key)) return i - 1;
    return vector.count;
  }
  const uint64_t first = vector.strategy == LARDER_REUSE_LRU_VECTOR ? vector.recent : 0;
  for (uint64_t i = first; i < vector.count; ++i)
    if (holds(table, i, key)) return i;
  for (uint64_t i = 0; i < first; ++i)
    if (holds(table, i, key)) return i;
  return vector.count;
}

uint64_t replaced(Table& table) {
  Vector& vector = *table.vector;
  if (vector.count < vector.capacity) return vector.count++;
  if (vector.strategy == LARDER_REUSE_ROUND_ROBIN) {
    const uint64_t i = vector.next;
    vector.next = (i + 1) % vector.capacity;
    return i;
  }
  uint64_t oldest = 0;
  for (uint64_t i = 1; i < vector.count; ++i)
    if (counter_of(table, i) > counter_of(table, oldest)) oldest = i;
  if (vector.strategy == LARDER_REUSE_LRU_HASH) {
    uint64_t* link = &bucket_of(table, element(table, oldest));
    while (*link != oldest + 1) link = &link_of(table, *link - 1);
    *link = link_of(table, oldest);
  }
  return oldest;
}

void use(Table& table, uint64_t i) {
  counter_of(table, i) = table.vector->counter--;
  table.vector->recent = i;
}

uint64_t strategy_of(const Site& site) {
  const char* name = value_of("LARDER_REUSE_STRATEGY");
  if (name == nullptr) return site.strategy;
  if (strcmp(name, "round_robin") == 0) return LARDER_REUSE_ROUND_ROBIN;
  if (strcmp(name, "lru_vector") == 0) return LARDER_REUSE_LRU_VECTOR;
  if (strcmp(name, "lru_hash") == 0) return LARDER_REUSE_LRU_HASH;
  if (strcmp(name, "adaptive") == 0) return LARDER_REUSE_ADAPTIVE;
  return site.strategy;
}

}  // namespace

bool prepare_vector(Table& table, Place& place) noexcept {
  const uint64_t strategy = strategy_of(*table.site);
  if (strategy == LARDER_REUSE_ADAPTIVE) return false;
  Thread& thread = this_thread();
  void* piece = take_piece(thread, sizeof(Vector));
  if (piece == nullptr) return false;
  auto* vector = new (piece) Vector();
  vector->strategy = strategy;
  vector->capacity =
      number_of("LARDER_REUSE_CAPACITY", table.site->entries_max != 0 ? table.site->entries_max : kCapacity);
  if (vector->capacity == 0) vector->capacity = 1;
  vector->counter = UINT64_MAX;
  // What does not fit the cap is made smaller: another strategy would be none to compare with.
  const uint64_t each = (words(*table.site) + 1) * 8;
  if (vector->capacity > bytes_max() / each) vector->capacity = bytes_max() / each;
  uint64_t size = 0;
  for (; vector->elements == nullptr; vector->capacity /= 2) {
    if (vector->capacity == 0) return false;
    size = vector->capacity * words(*table.site) * 8;
    vector->bytes = vector->capacity * each;
    vector->elements = static_cast<uint64_t*>(take_pages(vector->bytes));
    if (vector->elements != nullptr) break;
  }
  vector->buckets = vector->elements + size / 8;
  table.vector = vector;
  table.phase = Phase::fixed;
  place.slots = nullptr;
  place.countdown = 0;
  return true;
}

int find_in_vector(Table& table, const uint64_t* key, uint64_t* value) noexcept {
  const uint64_t i = find(table, key);
  if (i == table.vector->count) return LARDER_REUSE_COMPUTE;
  memcpy(value, element(table, i) + table.site->key_words, table.site->value_words * 8);
  use(table, i);
  return LARDER_REUSE_HIT;
}

void put_in_vector(Table& table, const uint64_t* key, const uint64_t* value) noexcept {
  const uint64_t i = replaced(table);
  memcpy(element(table, i), key, table.site->key_words * 8);
  memcpy(element(table, i) + table.site->key_words, value, table.site->value_words * 8);
  if (table.vector->strategy == LARDER_REUSE_LRU_HASH) {
    uint64_t& bucket = bucket_of(table, key);
    link_of(table, i) = bucket;
    bucket = i + 1;
  }
  use(table, i);
}

void clear_vector(Table& table) noexcept {
  Vector* const vector = table.vector;
  if (vector == nullptr) return;
  memset(vector->elements, 0, vector->bytes);
  vector->count = vector->next = vector->recent = 0;
  vector->counter = UINT64_MAX;
}

void free_vector(Table& table) noexcept {
  give_pages(table.vector->elements, table.vector->bytes);
  table.vector = nullptr;
}

}  // namespace larder::reuse
