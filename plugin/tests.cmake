# Each clang checks the plugin of its version on every source in tests/, and on random programs: a few at every
# build, hundreds under `make stress`. Where LLVM's headers or that clang are missing, the tests skip and say so.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
file(GLOB reuse_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/*.c ${CMAKE_CURRENT_SOURCE_DIR}/tests/*.cpp)

function(larder_reuse_test name label script version)
  find_program(LARDER_CLANG_${version} clang-${version})
  if(version IN_LIST LARDER_PLUGIN_VERSIONS AND LARDER_CLANG_${version})
    set(tools ${LARDER_CLANG_${version}} $<TARGET_FILE:larder_reuse_plugin_${version}>)
  else()
    set(tools missing llvm-${version}-dev)
  endif()
  add_test(NAME ${name}
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/tests/${script} ${tools}
      $<TARGET_FILE:larder_reuse_runtime> ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT 900 SKIP_RETURN_CODE 77)
endfunction()

foreach(version 14 16 19)
  larder_reuse_test(reuse_rules_${version} integration check.py ${version} ${reuse_sources})
  larder_reuse_test(reuse_random_programs_${version} integration generate.py ${version} 1 10)
  if(TARGET larder_reuse_plugin_${version} AND LARDER_CLANG_${version})
    set(tools ${LARDER_CLANG_${version}})
  else()
    set(tools missing llvm-${version}-dev)
  endif()
  add_test(NAME reuse_cc_${version}
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/cc_test.sh $<TARGET_FILE:larder_command> ${tools})
  add_test(NAME reuse_cmake_${version}
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/cmake_test.sh ${PROJECT_BINARY_DIR} ${tools})
  set_tests_properties(reuse_cc_${version} reuse_cmake_${version}
    PROPERTIES LABELS integration TIMEOUT 900 SKIP_RETURN_CODE 77)
  add_test(NAME e2e_reuse_real_programs_${version}
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/real_programs.sh $<TARGET_FILE:larder_command> ${tools})
  set_tests_properties(e2e_reuse_real_programs_${version} PROPERTIES LABELS e2e TIMEOUT 900 SKIP_RETURN_CODE 77)
  larder_reuse_test(stress_reuse_random_programs_${version} stress generate.py ${version} 1000 300 --every-level)
endforeach()

# Every rule taken away from a copy of the plugin, to see its test fail.
set(newest missing llvm-19-dev)
foreach(version 14 16 19)
  if(version IN_LIST LARDER_PLUGIN_VERSIONS AND LARDER_CLANG_${version})
    set(newest ${LARDER_CLANG_${version}} ${version})
  endif()
endforeach()
add_test(NAME stress_reuse_rules_are_needed
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/tests/mutate.py ${newest})
set_tests_properties(stress_reuse_rules_are_needed PROPERTIES LABELS stress TIMEOUT 1800 SKIP_RETURN_CODE 77)
