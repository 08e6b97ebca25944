// The three strategies of Chen et al. (2020), for comparison: chosen by a site or, for all sites, by
// LARDER_REUSE_STRATEGY (round_robin, lru_vector, lru_hash); LARDER_REUSE_CAPACITY says how many results each
// keeps. They store everything and never settle, as in the paper.
#pragma once

#include "table.hpp"

namespace larder::reuse {

// True when the table is to follow one of them; its calls then go to the functions below.
bool prepare_vector(Table& table, Place& place) noexcept;
int find_in_vector(Table& table, const uint64_t* key, uint64_t* value) noexcept;
void put_in_vector(Table& table, const uint64_t* key, const uint64_t* value) noexcept;
void clear_vector(Table& table) noexcept;
void free_vector(Table& table) noexcept;

}  // namespace larder::reuse
