# larder_test(NAME SOURCES ... [LINK ...] [LABELS ...]): a GoogleTest program whose cases ctest sees one by one.
# Cases whose suite name begins with "Stress" get the label stress and belong to `make stress`.
if(LARDER_BUILD_TESTS)
  include(GoogleTest)
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
  # Half the time of a build went into optimising tests; what they test is optimised as ever.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1> $<$<CONFIG:None>:-O0>)
  target_precompile_headers(${name} PRIVATE <gtest/gtest.h> <string> <vector> <thread> <functional>)
  gtest_discover_tests(${name}
    TEST_FILTER -Stress*
    DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS "${TEST_LABELS}" TIMEOUT ${TEST_TIMEOUT} SKIP_RETURN_CODE 77)
  gtest_discover_tests(${name}
    TEST_FILTER Stress*
    DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS "stress" TIMEOUT 900 SKIP_RETURN_CODE 77)
endfunction()
