# larder_test(NAME SOURCES ... [LINK ...] [LABELS ...]): a GoogleTest program whose cases ctest sees one by one.
# Cases whose suite name begins with "Stress" get the label stress and belong to `make stress`.
# Half the time of a build went into optimising tests; what they test is optimised as ever.
set(LARDER_TEST_OPTIMISES $<$<CONFIG:Release>:-O1> $<$<CONFIG:None>:-O0>)

# Tests are compiled eight files as one behind one precompiled header for all of them: a third of the time of a build.
if(LARDER_BUILD_TESTS)
  include(GoogleTest)
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/test_prelude.cpp CONTENT "int main() {}\n")
  add_executable(larder_test_prelude ${PROJECT_BINARY_DIR}/test_prelude.cpp)
  target_link_libraries(larder_test_prelude PRIVATE GTest::gmock GTest::gtest rapidcheck larder_warnings)
  target_compile_options(larder_test_prelude PRIVATE ${LARDER_TEST_OPTIMISES})
  target_precompile_headers(larder_test_prelude PRIVATE <gtest/gtest.h> <gmock/gmock.h> <rapidcheck.h>
    <algorithm> <array> <atomic> <chrono> <filesystem> <fstream> <functional> <map> <memory> <optional> <string>
    <thread> <unordered_map> <vector>)
endif()

function(larder_test name)
  cmake_parse_arguments(TEST "" "TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
  if(NOT TEST_LABELS)
    set(TEST_LABELS unit)
  endif()
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 300)
  endif()
  add_executable(${name} ${TEST_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(${name} PRIVATE ${TEST_LINK} GTest::gmock GTest::gtest_main rapidcheck larder_warnings)
  target_compile_options(${name} PRIVATE ${LARDER_TEST_OPTIMISES} $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  target_precompile_headers(${name} REUSE_FROM larder_test_prelude)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  gtest_discover_tests(${name}
    TEST_FILTER -Stress*
    DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS "${TEST_LABELS}" TIMEOUT ${TEST_TIMEOUT} SKIP_RETURN_CODE 77)
  gtest_discover_tests(${name}
    TEST_FILTER Stress*
    DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS "stress" TIMEOUT 900 SKIP_RETURN_CODE 77)
endfunction()
