# Each installed clang checks the plugin of its version on every source in tests/.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
file(GLOB reuse_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/*.c ${CMAKE_CURRENT_SOURCE_DIR}/tests/*.cpp)
foreach(version IN LISTS LARDER_PLUGIN_VERSIONS)
  find_program(LARDER_CLANG_${version} clang-${version})
  if(NOT LARDER_CLANG_${version})
    continue()
  endif()
  add_test(NAME reuse_rules_${version}
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/tests/check.py ${LARDER_CLANG_${version}}
      $<TARGET_FILE:larder_reuse_plugin_${version}> $<TARGET_FILE:larder_reuse_runtime> ${reuse_sources})
  set_tests_properties(reuse_rules_${version} PROPERTIES LABELS integration TIMEOUT 280)
endforeach()
# A few dozen random programs at every build; `make stress` goes through hundreds.
foreach(version IN LISTS LARDER_PLUGIN_VERSIONS)
  if(NOT LARDER_CLANG_${version})
    continue()
  endif()
  foreach(kind "integration;reuse_random_programs_${version};1;10" "stress;stress_reuse_random_programs_${version};1000;300")
    list(GET kind 0 label)
    list(GET kind 1 name)
    list(GET kind 2 first)
    list(GET kind 3 count)
    add_test(NAME ${name}
      COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/tests/generate.py ${LARDER_CLANG_${version}}
        $<TARGET_FILE:larder_reuse_plugin_${version}> $<TARGET_FILE:larder_reuse_runtime> ${first} ${count})
    set_tests_properties(${name} PROPERTIES LABELS "${label}" TIMEOUT 800)
  endforeach()
endforeach()
