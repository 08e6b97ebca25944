// The store that a command works on, opened as the command needs it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "larder/counters.hpp"
#include "store/store.hpp"
#include "tool/command.hpp"

namespace larder::tool {

enum class Access : unsigned char {
  look,    // change nothing
  change,  // remove and put, but do not make a store where none is
  make,    // make the store if there is none
};

struct Place {
  std::string root;
  // What the commands' own work counts: evictions of gc, say.
  std::unique_ptr<Counters> counters;
  std::unique_ptr<Store> store;  // null: nothing was ever kept there

  // Adds the counts to those on disk.
  void note_counts() const;
};

// Nothing, and the complaint told, when what is there cannot be used.
std::optional<Place> open_place(const Call& call, Access access);

// For a command that has nothing to work on: says on stderr that nothing was ever kept there.
void tell_no_store(const Call& call, const Place& place);

// Fewer files than this may be too few for a command to read a store with its threads.
inline constexpr unsigned kDescriptorsMin = 8;
inline constexpr std::string_view kMoreDescriptors = "let it open more files: ulimit -n 1024";
// Whether so many files more may be opened.
bool has_descriptors(unsigned count) noexcept;

}  // namespace larder::tool
