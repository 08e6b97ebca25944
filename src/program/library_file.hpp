// Which build of a library lies in a file, and which others it would bring along, without loading any of
// them: for drivers of programs that are yet to be started. Any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "larder/export.h"

namespace larder {

// A line `NAME BUILD-ID` for the library in `path`, for each that it depends on, and for each in the folder
// `plugins` (empty: none); sorted, as library_identity would tell it of the loaded ones. Empty when any of
// this cannot be known. `looked` (null: not wanted) becomes the files and folders that this comes from.
std::string library_file_identity(const std::string& path, const std::string& plugins,
                                  std::vector<std::string>* looked = nullptr);

// The same for several libraries, each file read once. One thread at a time.
class LibraryFiles {
 public:
  LibraryFiles();
  ~LibraryFiles();
  LibraryFiles(const LibraryFiles&) = delete;
  LibraryFiles& operator=(const LibraryFiles&) = delete;
  std::string identity(const std::string& path, const std::string& plugins, std::vector<std::string>* looked);

 private:
  struct Known;
  std::unique_ptr<Known> known_;
};

// The one line of that which is about the library itself.
LARDER_API std::string library_file_line(const std::string& path);

// The path of a library as the dynamic loader would find it, without LD_LIBRARY_PATH; empty when there is
// none.
std::string find_library(std::string_view name);

// True when `bytes` has the size that its ELF header promises: whoever wrote it has finished.
bool is_whole_elf(std::string_view bytes) noexcept;

}  // namespace larder
