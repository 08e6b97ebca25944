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
