// What the shim knows of one program of its host's. The host keeps the handle that libnvrtc gave it: a real
// program, which is compiled only when larder stands aside; what larder has for it is handed out in its
// place.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "layers/nvrtc/library.hpp"

namespace larder::shim {

struct HostProgram {
  Mutex mutex;
  // Set when it is created.
  std::string source;
  std::string name;
  std::vector<std::pair<std::string, std::string>> headers;  // name, text

  std::vector<std::string> expressions GUARDED_BY(mutex);
  bool has_callback GUARDED_BY(mutex) = false;
  // What its last compilation gave, if larder answered it: one of both.
  Programs::ProgramHandle served GUARDED_BY(mutex);
  std::optional<BuildFailure> failed GUARDED_BY(mutex);
  std::map<std::string, std::string, std::less<>> lowered GUARDED_BY(mutex);
};

// Null: larder does not know it.
std::shared_ptr<HostProgram> find_program(int slot, nvrtc::Program program) noexcept;
void add_program(int slot, nvrtc::Program program, std::shared_ptr<HostProgram> host);
void remove_program(int slot, nvrtc::Program program) noexcept;

}  // namespace larder::shim
