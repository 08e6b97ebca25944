// A driver's own cache, adopted for one run of a program: the driver is given a directory of larder's, in
// which lies beforehand what is known of it, and out of which what is new is taken as ordinary entries, one
// for each file. Whether a file is fresh is the driver's own business: it finds files by names of its own.
// Their recipes hold the driver's build, the processor, and that name. One thread at a time; a driver of
// which anything is unknown is left alone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "larder/cache.hpp"

namespace larder {

// A driver that keeps a cache, as far as it can be known without loading it.
struct AdoptedDriver {
  std::string name;      // `pocl`
  std::string variable;  // of the environment, which names its directory
  std::string identity;  // its build, what the processor can do, what else it reads of the environment
  // True for a file that is whole and worth keeping, by its name in the directory and its bytes.
  bool (*is_worth_keeping)(std::string_view name, std::string_view bytes) = nullptr;
};

// PoCL, when the OpenCL loader of this machine would load it; `vendors` is the loader's directory of drivers.
std::optional<AdoptedDriver> find_pocl(const std::string& vendors);

struct AdoptionReport {
  std::uint64_t laid_files = 0;  // written into the directory beforehand
  std::uint64_t laid_bytes = 0;
  std::uint64_t taken_files = 0;  // that the driver has added
  std::uint64_t taken_bytes = 0;
  std::uint64_t known_files = 0;    // there before, and there now
  std::uint64_t removed_files = 0;  // so that the directory stays within its bound
};

class Adoption {
 public:
  // `root` is larder's own directory; the driver's lies in it, for the user alone. An error: this driver
  // cannot be adopted now, and what() says why.
  static Result<Adoption> open(Cache& cache, AdoptedDriver driver, const std::string& root);

  const AdoptedDriver& driver() const noexcept { return driver_; }
  const std::string& directory() const noexcept { return directory_; }

  // Before the program: writes what the cache knows and the directory lacks.
  void lay();
  // After it: keeps what is new. `cost` is what making all of it took; the directory shrinks to `bytes_max`,
  // by the programs that were not used for longest, never by those used within the last hour.
  void take_in(Nanoseconds cost, std::uint64_t bytes_max);
  const AdoptionReport& report() const noexcept { return report_; }

 private:
  Adoption(Cache& cache, AdoptedDriver driver, std::string directory)
      : cache_(&cache), driver_(std::move(driver)), directory_(std::move(directory)) {}

  Recipe recipe_of(std::string_view file) const;
  Recipe index_recipe() const;
  std::vector<std::string> index();
  void remove_oldest(std::uint64_t bytes_max);

  Cache* cache_;
  AdoptedDriver driver_;
  std::string directory_;
  std::vector<std::string> lost_;  // indexed, but neither the directory nor the cache has them
  AdoptionReport report_;
};

}  // namespace larder
