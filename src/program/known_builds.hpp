// KnownBuilds remembers between starts which builds libraries are of: reading the headers of the hundred
// libraries that a driver brings along takes longer than many a program. What was found counts as long as
// every file that was read and every folder that was looked into have the stamps that they had; a stamp that
// a later write might leave as it is counts for nothing. Kept in a cache like any other entry, never counted
// as a request. One thread at a time.
#pragma once

#include <string>

#include "format/library_builds.hpp"
#include "larder/cache.hpp"
#include "program/library_file.hpp"

namespace larder {

class KnownBuilds {
 public:
  // Null: nothing is remembered. `cache` outlives it.
  explicit KnownBuilds(Cache* cache = nullptr);

  // As library_file_identity.
  std::string identity_of(const std::string& library, const std::string& plugins);
  // Keeps what is new.
  void keep();

 private:
  Cache* cache_;
  format::LibraryBuilds builds_;  // by library and plugins
  LibraryFiles files_;
  bool has_news_ = false;
};

}  // namespace larder
