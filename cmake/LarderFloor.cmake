# A floor is a folder of src/: every .cpp in it that is no test is compiled into the core, every *_test.cpp
# into one test program. Which other floors it may include stands in its .deps, checked by scripts/check_floors.py.
set(LARDER_CORE_OBJECTS "" CACHE INTERNAL "")

function(larder_floor name)
  cmake_parse_arguments(FLOOR "" "" "LINK;TEST_LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  if(sources)
    add_library(larder_${name} OBJECT ${sources})
    target_include_directories(larder_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(larder_${name} PUBLIC tl::expected Threads::Threads ${FLOOR_LINK}
                                         PRIVATE larder_warnings)
    target_compile_definitions(larder_${name} PRIVATE LARDER_BUILDING)
    set(LARDER_CORE_OBJECTS ${LARDER_CORE_OBJECTS} larder_${name} CACHE INTERNAL "")
  endif()
  if(LARDER_BUILD_TESTS AND tests)
    larder_test(larder_${name}_test SOURCES ${tests} LINK larder_core ${FLOOR_TEST_LINK})
  endif()
endfunction()
