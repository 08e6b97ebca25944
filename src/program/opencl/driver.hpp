// What larder knows of OpenCL drivers, by a part of their platforms' names: what decides their products
// beside what OpenCL tells, and whether their compilers can be listened to. Any thread.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace larder::opencl {

struct Driver {
  std::string_view platform;
  std::array<std::string_view, 4> prefixes{};   // of the variables that its compiler reads
  std::array<std::string_view, 2> libraries{};  // that it loads by themselves, by parts of their paths
  // The libraries by which its compiler reaches files, as their files' names begin, where it compiles in this
  // process. Empty: which files it reads cannot be known.
  std::array<std::string_view, 4> compilers{};
  // The folder in which its compiler takes sources to lie, and the driver's own files in it, by what follows
  // the folder's name; null where sources lie in none.
  std::string (*source_folder)() = nullptr;
  bool (*is_own)(std::string_view rest) = nullptr;
  // For the layer, which keeps a host's programs by their binaries: why it leaves this driver's alone; empty:
  // they are whole, and cost next to nothing to ask for.
  std::string_view left_alone = "whether its binaries are whole and cheap to ask for has not been tried";
  // Asking for a binary takes as long as building, or longer: larder's worker does it in a process of its
  // own.
  bool has_dear_binaries = false;
  // clBuildProgram returns when the program is built, also to a program that wants to be called back.
  bool builds_at_once = false;
};

// The row that fits; for an unknown driver one that has whatever any of them reads.
const Driver& driver_of(std::string_view platform_name) noexcept;

}  // namespace larder::opencl
