// The functions of NVRTC that larder calls, by pointer, declared by hand: none of CUDA's headers is needed,
// and a shim calls the library that its program holds.
#pragma once

#include <cstddef>
#include <string>

namespace larder::nvrtc {

using Program = void*;  // nvrtcProgram
using Code = int;       // nvrtcResult

inline constexpr Code kSuccess = 0;
inline constexpr Code kOutOfMemory = 1;
inline constexpr Code kInvalidOption = 5;
inline constexpr Code kCompilation = 6;

struct Functions {
  Code (*version)(int* major, int* minor);
  Code (*create_program)(Program* program, const char* source, const char* name, int header_count,
                         const char* const* headers, const char* const* include_names);
  Code (*destroy_program)(Program* program);
  Code (*compile_program)(Program program, int option_count, const char* const* options);
  Code (*get_ptx_size)(Program program, std::size_t* size);
  Code (*get_ptx)(Program program, char* ptx);
  Code (*get_program_log_size)(Program program, std::size_t* size);
  Code (*get_program_log)(Program program, char* log);
  Code (*add_name_expression)(Program program, const char* expression);
  Code (*get_lowered_name)(Program program, const char* expression, const char** lowered);
  const char* (*get_error_string)(Code code);
  // Since 11.1, 11.4 and later: may be null.
  Code (*get_cubin_size)(Program program, std::size_t* size);
  Code (*get_cubin)(Program program, char* cubin);
  Code (*get_lto_ir_size)(Program program, std::size_t* size);
  Code (*get_lto_ir)(Program program, char* ir);
  Code (*get_optix_ir_size)(Program program, std::size_t* size);
  Code (*get_optix_ir)(Program program, char* ir);
  Code (*set_flow_callback)(Program program, int (*callback)(void* payload, void* reserved), void* payload);
};

// From `library`, a handle of dlopen's or RTLD_NEXT, by `find`, which is dlsym's. False when one that every
// release has is missing.
using Find = void* (*)(void* library, const char* name);
bool find_functions(void* library, Functions& functions, Find find) noexcept;

// The loaded libnvrtc of this process, else the one of that name, else what the loader finds. Never unloaded.
// Null when there is none.
const Functions* loaded_functions(const std::string& library);

}  // namespace larder::nvrtc
