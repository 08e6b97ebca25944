// The sums of a store: what its entries take together, as far as the index knows. Reads three files; any
// thread may ask while others append and fold.
#pragma once

#include <cstdint>

#include "store/index.hpp"

namespace larder {

struct Sums {
  // Never less than what is there; more by what was told twice or is gone since the last fold.
  std::uint64_t bytes = 0;
  std::uint64_t entries = 0;
  // What is told to be gone since. It may be there all the same: taken back by one process that announced it
  // while another published it.
  std::uint64_t gone_bytes = 0;
  std::uint64_t gone_entries = 0;
  bool is_exact = false;    // every shard has been counted
  bool is_folding = false;  // a fold is under way
  std::uint64_t journal_size = 0;
  std::int64_t rolled_at_unix_ns = 0;
};

Sums read_sums(Index& index) noexcept;

}  // namespace larder
