// Misses are the recipes of recent requests that had to be made, kept in a store's notes so that `larder why`
// can say which ingredient was new.
//
//   misses, misses.old := frame*, each with the payload
//   payload := version reason at program_size program recipe
//   version := u8 = 1; reason := u8 (larder/event.hpp); at := i64: nanoseconds since 1970
//   program_size := u16; program := bytes; recipe := canonical bytes, to the end
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "larder/event.hpp"
#include "larder/recipe.hpp"
#include "store/notes.hpp"

namespace larder {

struct Miss {
  Recipe recipe;
  Reason reason = Reason::absent;
  std::int64_t at_unix_ns = 0;
  std::string program;
};

std::string encode_miss(const Miss& miss);
// Nothing when `payload` is no miss.
std::optional<Miss> decode_miss(std::string_view payload);

// `misses` are appended together; about `keep` of the last ones stay readable. False: lost.
bool add_misses(const Notes& notes, const std::vector<Miss>& misses);
// The last `keep`, newest first.
std::vector<Miss> read_misses(const Notes& notes, std::size_t keep);
void clear_misses(const Notes& notes);
// Those that another process appends meanwhile may be lost.
void clear_misses(const Notes& notes, const std::function<bool(const Miss&)>& matches);

}  // namespace larder
