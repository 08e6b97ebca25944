// Drivers that keep a cache of their own, as far as they can be known without loading them: which variable
// names their directory, what their build is, and how their files are laid out. A driver whose layout is not
// known stands here too, so that it can be said that it is left alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace larder {

struct AdoptedDriver {
  std::string name;      // `pocl`
  std::string variable;  // of the environment, which names its directory
  std::string identity;  // its build, what the processor can do, what else it reads of the environment
  // True for a file that is whole and worth keeping, by its name in the directory and its bytes. Null: its
  // layout is not known.
  bool (*is_worth_keeping)(std::string_view name, std::string_view bytes) = nullptr;
  // The part of a file's name that all files of its program begin with. Null: each file is a program.
  std::string_view (*program_of)(std::string_view name) = nullptr;
  // What the driver must be told besides, a line `NAME=value` each.
  std::vector<std::string> also{};
};

// What is there of a driver, and why it is left alone if it is.
struct FoundDriver {
  AdoptedDriver driver;
  std::string why_not;  // empty: it can be adopted
};

// Where to look. Empty places stand for those of the system.
struct DriverPlaces {
  std::string vendors;    // files *.icd: OpenCL's drivers
  std::string mesa;       // files *_dri.so: Mesa's
  std::string libraries;  // libcuda.so.1 and the like
};

// Every driver of this machine that is known to keep a cache, whether it can be adopted or not. Reads
// libraries' headers; a hundredth of a second.
std::vector<FoundDriver> find_drivers(const DriverPlaces& places = {});

}  // namespace larder
