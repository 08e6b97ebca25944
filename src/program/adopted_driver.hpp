// Drivers that keep a cache of their own, as far as they can be known without loading them: which variable
// names their directory, what their build is, and how their files are laid out. A driver whose layout is not
// known stands here too, so that it can be said that it is left alone.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace larder {

// One of many things that a driver keeps in one file, under a name of ours that holds the driver's own.
struct DriverRecord {
  std::string name;
  std::string bytes;
};

// How a driver's files of many records are read and added to, while the driver may be at work.
struct RecordFiles {
  bool (*is_record)(std::string_view name);
  // Those of `names` that the files in `directory` do not hold.
  std::set<std::string> (*lacking)(const std::string& directory, const std::vector<std::string>& names);
  // The names of those that it has added.
  std::set<std::string> (*add)(const std::string& directory, const std::vector<DriverRecord>& records);
  // All whole records but those that are `known`.
  std::vector<DriverRecord> (*read_new)(const std::string& directory, const std::set<std::string>& known);
};

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
  // False for what need not even be read. Null: all need.
  bool (*may_keep)(std::string_view name) = nullptr;
  // Where it keeps many records in one file, too. Null: it does not.
  const RecordFiles* records = nullptr;
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

class KnownBuilds;

// Every driver of this machine that is known to keep a cache, whether it can be adopted or not. Reads
// libraries' headers, a hundredth of a second, where `builds` does not know them (null: none are known).
std::vector<FoundDriver> find_drivers(const DriverPlaces& places = {}, KnownBuilds* builds = nullptr);

}  // namespace larder
