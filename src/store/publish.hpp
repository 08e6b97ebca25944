// Publishing writes an entry beside its place and moves it there in one step, so that readers see all of it
// or nothing, and never a second version of it. Any thread may call.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "larder/bytes.hpp"
#include "larder/event.hpp"
#include "store/directory.hpp"

namespace larder::publish {

struct How {
  bool durable = false;
  std::uint64_t unique = 0;  // names the temporary file
  std::atomic<bool>* lacks_no_replace =
      nullptr;  // remembers that the file system cannot rename without replacing
};

struct Outcome {
  bool is_stored = false;
  bool was_there = false;        // somebody else published it first
  Reason reason = Reason::none;  // when neither
};

Outcome publish(Directory& directory, const Key& key, std::string_view head, BytesView product,
                How how) noexcept;

// What a call's errno (negative) means for who wanted to write.
Reason reason_of_write(int error) noexcept;

}  // namespace larder::publish
