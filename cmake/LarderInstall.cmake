# make install, find_package(larder) and pkg-config --libs larder.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/larder)

install(TARGETS larder EXPORT larderTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT larderTargets NAMESPACE larder:: DESTINATION ${package_dir})

configure_package_config_file(cmake/larderConfig.cmake.in ${PROJECT_BINARY_DIR}/larderConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/larderConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/LarderReuse.cmake
  ${PROJECT_BINARY_DIR}/larderConfig.cmake ${PROJECT_BINARY_DIR}/larderConfigVersion.cmake DESTINATION ${package_dir})

# An install tree may be moved: pkg-config finds the prefix from where the file lies.
file(RELATIVE_PATH larder_prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/larder.pc.in ${PROJECT_BINARY_DIR}/larder.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/larder.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
# The README and what it links to.
install(FILES LICENSE README.md ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
