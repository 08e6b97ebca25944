// The system calls that a trace halts, and what each says of files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "trace/report.hpp"

namespace larder::trace {

// More uses, which no report has: what a call makes of what it writes.
inline constexpr Uses kMakes = 1 << 13;     // may make what is missing
inline constexpr Uses kReplaces = 1 << 14;  // nothing is left that was there before
inline constexpr Uses kOnlyNew = 1 << 15;   // fails where anything is there

enum class Form : std::uint8_t {
  path,      // names one path
  two,       // names two
  open,      // its flags say what for
  open_how,  // so does a structure that it points to
  by_fd,     // names an open file
  maybe_fd,  // a path, or an open file where that is null
  run,       // starts a program
  connect,   // a socket's address
  socket,
  opaque,  // what comes of it is not known
};

// How a call says whether a symbolic link at the end is followed.
enum class Follows : std::uint8_t { yes, no, unless_told, if_told };

struct Path {
  int directory = -1;  // the argument that holds its directory; -1: the working directory
  int text = -1;       // the argument that points to it
  Uses uses = 0;
  Follows follows = Follows::yes;
};

struct Call {
  int number;
  Form form;
  int flags = -1;  // the argument that holds them
  Path first{};
  Path second{};
  bool moves_names = false;       // may make known paths lead elsewhere
  bool leaves_directory = false;  // another working directory is in use from then on
  const char* what = nullptr;     // of opaque ones
};

// In the order of their numbers.
std::span<const Call> traced_calls() noexcept;
const Call* find_call(int number) noexcept;

}  // namespace larder::trace
