# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/meshpar)
write_basic_package_version_file(meshparConfigVersion.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)

install(DIRECTORY include/meshpar DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS meshpar EXPORT meshparTargets)
install(EXPORT meshparTargets NAMESPACE meshpar:: DESTINATION ${package_dir})
install(FILES
  ${PROJECT_BINARY_DIR}/meshparConfigVersion.cmake
  cmake/meshparConfig.cmake cmake/meshparComponents.cmake cmake/FindoneDNN.cmake cmake/FindNCCL.cmake
  DESTINATION ${package_dir}
)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
