// What a traced command did with files: each path that it named in a system call, and for what. A value.
//
// The report says what the arguments of calls named when the kernel had halted them, not what calls came to:
// a path may be there that the call was refused. It is whole for programs that mean no harm. One that
// rewrites a path in another thread between the halt and the call, and wins that race, did something else
// than it says; so nothing that must hold against a hostile command may rest upon it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace larder::trace {

// Bits.
using Uses = std::uint16_t;
inline constexpr Uses kLooked = 1;      // whether it is there and what its attributes are
inline constexpr Uses kRead = 2;        // opened to be read, or the text of a symbolic link
inline constexpr Uses kListed = 4;      // the names in a directory
inline constexpr Uses kWritten = 8;     // made, opened to be written, renamed to, or its attributes set
inline constexpr Uses kRemoved = 16;    // removed or renamed away
inline constexpr Uses kRun = 32;        // started as a program, or what starts one
inline constexpr Uses kPassed = 64;     // a symbolic link on the way to something else
inline constexpr Uses kExtended = 256;  // opened to be written and not cut off: what is there stays or counts
inline constexpr Uses kMoved = 128;     // a directory, renamed to this with what is in it

enum class Was : std::uint8_t { missing, file, directory, link, other };

struct Touch {
  // Absolute, without links but perhaps at its end: where a call follows that one, the link and what it leads
  // to are two touches. Of a path in a directory that is not there, that directory.
  std::string path;
  // What is done to a file that the command itself has made, or replaced, is not looked at or read of it.
  Uses uses = 0;
  // When the command first named it.
  Was before = Was::missing;
  std::int64_t changed_ns = 0;  // its ctime
  std::uint64_t inode = 0;
};

struct Report {
  std::vector<Touch> touches;  // each path once, in the order in which they were first named
  // Why there may be more that it read or wrote, as "it used the network"; empty: this is all.
  std::string why_unknowable;
  bool lacked_rights = false;  // it started a program that has its owner's rights, and had them not
  std::uint64_t calls = 0;     // that were halted
};

}  // namespace larder::trace
