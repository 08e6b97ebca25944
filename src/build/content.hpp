// What is in a file, by its digest, and by its fingerprint where that is proof enough.
//
// A fingerprint stands for a content only if nothing can have been written since without changing it: the
// kernel moves a file's change time at every write, but in ticks of some milliseconds. So a fingerprint is
// trusted only if, when the digest was begun, the clock that the kernel stamps files with had gone beyond
// both of its times; else the file is digested again next time. Times without nanoseconds come from file
// systems with coarse clocks, which get three seconds.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "format/checksum.hpp"

namespace larder::build {

using Digest = format::Checksum;

struct Fingerprint {
  std::int64_t changed_ns = 0;   // ctime
  std::int64_t modified_ns = 0;  // mtime
  std::uint64_t inode = 0;       // mixed with the device
  std::uint64_t size = 0;        // mixed with type and permission to execute
  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

Fingerprint fingerprint(const struct stat& status) noexcept;

// What is kept of a fingerprint, of which there is one for every file: whether another is the same. 96 bits
// of checksums, of the time of modification by itself; all zero stands for nothing, as with fingerprints.
struct Imprint {
  std::uint32_t modified = 0;
  std::uint32_t low = 0;  // of all of it
  std::uint32_t high = 0;
  friend bool operator==(const Imprint&, const Imprint&) = default;
};
Imprint imprint(const Fingerprint& print) noexcept;

// The clock that the kernel stamps files with.
std::int64_t file_clock_ns() noexcept;

// Whether no later write can leave `print` as it is, when `now_ns` was read before the file was.
bool is_settled(const Fingerprint& print, std::int64_t now_ns) noexcept;

// Stands, among what a step was found to read, for that nothing was there. No content has it.
inline constexpr Digest kNotThere{.low = 0x6e6f742074686572, .high = 0x652e2e2e2e2e2e2e};
// The same for that something was, whatever it holds.
inline constexpr Digest kSomethingThere{.low = 0x6974207761732074, .high = 0x686572652e2e2e2e};

enum class Kind : std::uint8_t { missing, file, directory, other };
struct Seen {
  Kind kind = Kind::missing;
  Fingerprint print;
};
// Follows symbolic links; one that leads nowhere is `other`. `directory` is where a relative path begins.
Seen look_at(const char* path, int directory = AT_FDCWD) noexcept;

struct Digested {
  Seen seen;  // as it was when the digest was begun
  Digest digest;
  bool is_settled = false;
};
// Of a file: its bytes and whether it may be executed; of a thin archive its members', too. Of a directory:
// the names in it, or where `as_output` that it is one. Of a link that leads nowhere: its text. Of anything
// else: which device it is; it is never read. A file that cannot be read has the digest of its errno.
// `missing` when there is nothing.
Digested digest(const char* path, bool as_output) noexcept;

// What digest() says of a file that holds `bytes`.
Digest digest_of_bytes(BytesView bytes, bool may_execute) noexcept;

std::string hex(const Digest& digest);

}  // namespace larder::build
