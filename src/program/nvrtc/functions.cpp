#include "program/nvrtc/functions.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstring>
#include <map>

#include "base/mutex.hpp"

namespace larder::nvrtc {
namespace {

template <typename Function>
void get(Find find, void* library, const char* name, Function& function) noexcept {
  function = reinterpret_cast<Function>(find(library, name));
}

int find_loaded(dl_phdr_info* info, std::size_t, void* to) {
  if (info->dlpi_name == nullptr) return 0;
  const char* const slash = std::strrchr(info->dlpi_name, '/');
  const char* const name = slash == nullptr ? info->dlpi_name : slash + 1;
  if (std::strncmp(name, "libnvrtc.so", 11) != 0 && std::strncmp(name, "libnvrtc.alt.so", 15) != 0) return 0;
  *static_cast<std::string*>(to) = info->dlpi_name;
  return 1;
}

void* load(const std::string& library) {
  if (!library.empty()) return ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::string path;
  ::dl_iterate_phdr(find_loaded, &path);
  if (!path.empty()) return ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  for (const char* const name : {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"}) {
    if (void* const found = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return found;
  }
  return nullptr;
}

}  // namespace

bool find_functions(void* library, Functions& f, Find find) noexcept {
  f = {};
  get(find, library, "nvrtcVersion", f.version);
  get(find, library, "nvrtcCreateProgram", f.create_program);
  get(find, library, "nvrtcDestroyProgram", f.destroy_program);
  get(find, library, "nvrtcCompileProgram", f.compile_program);
  get(find, library, "nvrtcGetPTXSize", f.get_ptx_size);
  get(find, library, "nvrtcGetPTX", f.get_ptx);
  get(find, library, "nvrtcGetProgramLogSize", f.get_program_log_size);
  get(find, library, "nvrtcGetProgramLog", f.get_program_log);
  get(find, library, "nvrtcAddNameExpression", f.add_name_expression);
  get(find, library, "nvrtcGetLoweredName", f.get_lowered_name);
  get(find, library, "nvrtcGetErrorString", f.get_error_string);
  get(find, library, "nvrtcGetCUBINSize", f.get_cubin_size);
  get(find, library, "nvrtcGetCUBIN", f.get_cubin);
  get(find, library, "nvrtcGetLTOIRSize", f.get_lto_ir_size);
  get(find, library, "nvrtcGetLTOIR", f.get_lto_ir);
  if (f.get_lto_ir == nullptr) {
    get(find, library, "nvrtcGetNVVMSize", f.get_lto_ir_size);
    get(find, library, "nvrtcGetNVVM", f.get_lto_ir);
  }
  get(find, library, "nvrtcGetOptiXIRSize", f.get_optix_ir_size);
  get(find, library, "nvrtcGetOptiXIR", f.get_optix_ir);
  get(find, library, "nvrtcSetFlowCallback", f.set_flow_callback);
  return f.version != nullptr && f.create_program != nullptr && f.destroy_program != nullptr &&
         f.compile_program != nullptr && f.get_ptx_size != nullptr && f.get_ptx != nullptr &&
         f.get_program_log_size != nullptr && f.get_program_log != nullptr &&
         f.add_name_expression != nullptr && f.get_lowered_name != nullptr && f.get_error_string != nullptr;
}

const Functions* loaded_functions(const std::string& library) {
  static Mutex* const mutex = new Mutex;
  static auto* const known = new std::map<void*, Functions>;
  void* const handle = load(library);
  if (handle == nullptr) return nullptr;
  const MutexLock lock(*mutex);
  const auto [place, is_new] = known->try_emplace(handle);
  if (is_new && !find_functions(handle, place->second, ::dlsym)) {
    known->erase(place);
    return nullptr;
  }
  return &place->second;
}

}  // namespace larder::nvrtc
