// Notes are small files beside the entries of a store that help it along and may be lost at any time: counts
// of what happened, recipes of recent misses, the order in which a program used its entries. Any thread may
// call; every failure reads as "no note" and every write may be lost.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "store/directory.hpp"

namespace larder {

class Notes {
 public:
  // `directory` must live longer.
  Notes(Directory& directory, bool read_only) noexcept : directory_(directory), read_only_(read_only) {}

  // `name` is one of store/layout.hpp. Empty when there is none, or it is no file of the user's alone, or it
  // is longer than `size_max`.
  std::string read(std::string_view name, std::size_t size_max) const;
  // One write at the end, so that many processes can append at once. A note that would grow beyond `size_max`
  // first becomes `older`, in the place of what was there.
  bool append(std::string_view name, std::string_view bytes, std::uint64_t size_max,
              std::string_view older) const;
  // All of it in one step.
  bool replace(std::string_view name, std::string_view bytes) const;
  void remove(std::string_view name) const noexcept;
  // Every note whose name begins so.
  void remove_each(std::string_view prefix) const;
  // Nanoseconds since 1970 of the last write; 0 when there is none.
  std::int64_t written_at(std::string_view name) const noexcept;
  // Runs `change` if no other process is changing notes or evicting just now.
  bool alone(const std::function<void()>& change) const;

 private:
  Directory& directory_;
  const bool read_only_;
};

}  // namespace larder
