// A driver's own cache, adopted for one run of a program: the driver is given a directory of larder's, in
// which lies beforehand what is known of it, and out of which what is new is taken as ordinary entries, one
// for each file. Whether a file is fresh is the driver's own business: it finds files by names of its own.
// Their recipes hold the driver's build, the processor, and that name. One thread at a time; a driver of
// which anything is unknown is left alone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "larder/cache.hpp"
#include "program/adopted_driver.hpp"

namespace larder {

struct AdoptionReport {
  std::uint64_t laid_files = 0;  // written into the directory beforehand
  std::uint64_t laid_bytes = 0;
  std::uint64_t taken_files = 0;  // that the driver has added
  std::uint64_t taken_bytes = 0;
  std::uint64_t known_files = 0;    // there before, and there now
  std::uint64_t removed_files = 0;  // so that the directory stays within its bound

  // Programs that the driver was asked for while it ran, as far as it read their files.
  std::uint64_t asked_programs = 0;
  std::uint64_t there_programs = 0;   // found in the directory, where an earlier run had left them
  std::uint64_t disk_programs = 0;    // laid there beforehand from the store, ...
  std::uint64_t bundle_programs = 0;  // ... from a bundle, ...
  std::uint64_t remote_programs = 0;  // ... from a remote tier
  std::uint64_t made_programs = 0;    // all or a part of it
  Nanoseconds saved{0};               // what making had cost of what was found
  std::map<std::string, std::uint64_t> not_kept;  // why, and how many files
};

// A file of the driver's, by its name in the directory.
struct AdoptedFile {
  std::string name;
  std::uint64_t bytes = 0;
  Nanoseconds changed{0};  // since 1970
  bool was_read = false;   // since it was laid, or found there
};

class Adoption {
 public:
  // `root` is larder's own directory; the driver's lies in it, for the user alone. An error: this driver
  // cannot be adopted now, and what() says why.
  static Result<Adoption> open(Cache& cache, AdoptedDriver driver, const std::string& root);

  // What is kept for a recipe of ours, which is no request of anybody's.
  static std::optional<Product> look(Cache& cache, const Recipe& recipe);

  const AdoptedDriver& driver() const noexcept { return driver_; }
  const std::string& directory() const noexcept { return directory_; }

  // Before the program: writes what the cache knows and the directory lacks.
  void lay();
  // After it: keeps what is new, and counts what was used. What a file cost is the time between the birth of
  // its folder and its last change, where the driver makes a folder for it and the file system tells; else
  // its share of `cost`, what the whole run took. The directory shrinks to `bytes_max`, by the programs that
  // were not used for longest, never by those used within the last hour.
  void take_in(Nanoseconds cost, std::uint64_t bytes_max);
  const AdoptionReport& report() const noexcept { return report_; }

 private:
  Adoption(Cache& cache, AdoptedDriver driver, std::string directory)
      : cache_(&cache), driver_(std::move(driver)), directory_(std::move(directory)) {}

  Recipe recipe_of(std::string_view file) const;
  Recipe index_recipe() const;
  std::vector<std::string> index();
  bool is_record(std::string_view name) const;
  void lay_records(const std::vector<std::string>& names);
  std::string program_of(const std::string& file) const;
  // The dearest way by which one of a program's files came.
  using Programs = std::map<std::string, Outcome>;
  Programs used(const std::vector<AdoptedFile>& files);
  void keep(const std::vector<std::string>& fresh, std::vector<std::string> known, Nanoseconds cost,
            Programs& programs);
  void remove_oldest(const std::vector<AdoptedFile>& files, std::uint64_t bytes_max);

  Cache* cache_;
  AdoptedDriver driver_;
  std::string directory_;
  std::map<std::string, Outcome> there_;  // files that lay there when the program began, and where from
  std::vector<std::string> lost_;         // indexed, but neither the directory nor the cache has them
  Nanoseconds began_{0};                  // since 1970
  AdoptionReport report_;
};

}  // namespace larder
