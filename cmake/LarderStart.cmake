# Links a program so that it starts fast: what a process pays for before main() is libraries to find, names to look up,
# places to move and pages to touch (docs/decisions/028-start-of-the-tool.md). Sanitizers' builds are left as they are:
# their run-times want to be found before all others.
option(LARDER_STATIC_TOOL "Link the C++ library and the compiler's own into the command" ON)

include(CheckCXXSourceCompiles)
include(CheckLinkerFlag)
set(CMAKE_REQUIRED_LINK_OPTIONS -static-libstdc++ -static-libgcc)
check_cxx_source_compiles("#include <string>\n#include <stdexcept>\nint main(int n, char** w) { if (n > 9) throw std::runtime_error(w[0]); }"
  LARDER_HAS_ARCHIVES_OF_COMPILER)
unset(CMAKE_REQUIRED_LINK_OPTIONS)
check_linker_flag(CXX -Wl,-z,pack-relative-relocs LARDER_LINKER_PACKS_RELOCATIONS)
check_linker_flag(CXX -Wl,-z,noseparate-code LARDER_LINKER_JOINS_CODE)
# __cxa_finalize by hand: see src/library_end.c.
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_LINK_OPTIONS -shared -fPIC -nostartfiles)
set(CMAKE_REQUIRED_FLAGS -fPIC)
check_c_source_compiles("__attribute__((visibility(\"hidden\"))) void* __dso_handle;
  void __cxa_finalize(void*); void end(void) { __cxa_finalize(__dso_handle); }"
  LARDER_CAN_END_LIBRARIES)
unset(CMAKE_REQUIRED_LINK_OPTIONS)
unset(CMAKE_REQUIRED_FLAGS)

function(larder_starts_fast target)
  if(CMAKE_BUILD_TYPE STREQUAL "None")
    return()
  endif()
  if(LARDER_STATIC_TOOL AND LARDER_HAS_ARCHIVES_OF_COMPILER)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
  target_link_options(${target} PRIVATE -Wl,--gc-sections -Wl,-O1 -Wl,--as-needed)
  if(LARDER_LINKER_PACKS_RELOCATIONS)
    target_link_options(${target} PRIVATE -Wl,-z,pack-relative-relocs)
  endif()
endfunction()

# Compiles for size what runs once in a process: there the code that has to be brought in is dearer than its steps.
function(larder_runs_once target)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "None" AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_options(${target} PRIVATE -Os)
  endif()
endfunction()

# The same for a shared library, whose C++ library stays that of its program: few segments, few pages that the loader
# touches, few names to look up (docs/decisions/029-start-of-the-library.md). Call it before sources are added: what
# ends the library comes first.
function(larder_library_starts_fast target)
  if(CMAKE_BUILD_TYPE STREQUAL "None")
    return()
  endif()
  target_link_options(${target} PRIVATE -Wl,--gc-sections -Wl,-O1 -Wl,-Bsymbolic-functions)
  if(LARDER_LINKER_PACKS_RELOCATIONS)
    target_link_options(${target} PRIVATE -Wl,-z,pack-relative-relocs)
  endif()
  if(LARDER_LINKER_JOINS_CODE)
    target_link_options(${target} PRIVATE -Wl,-z,noseparate-code)
  endif()
  if(LARDER_CAN_END_LIBRARIES)
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src/library_end.c)
    target_link_options(${target} PRIVATE -nostartfiles)
  endif()
endfunction()
