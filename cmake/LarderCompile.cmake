# How every target of this repository is compiled. -Werror comes from the presets only.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_library(larder_warnings INTERFACE)
target_compile_options(larder_warnings INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Wvla
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>)
# What the sanitizers put into the code makes GCC see uses of uninitialised values that are none.
if(CMAKE_BUILD_TYPE STREQUAL "None")
  target_compile_options(larder_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
endif()
# Several sources compiled as one are headers to GCC, whose types must not hold some of an anonymous namespace.
if(CMAKE_UNITY_BUILD)
  target_compile_options(larder_warnings INTERFACE
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<COMPILE_LANGUAGE:CXX>>:-Wno-subobject-linkage>)
endif()
