# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# oneDNN::oneDNN, from the header and the library. The library's own package file is not asked: Debian's ends the
# configuration where OpenCL is not installed, which nothing here uses.
find_path(oneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(oneDNN_LIBRARY dnnl)
mark_as_advanced(oneDNN_INCLUDE_DIR oneDNN_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(oneDNN REQUIRED_VARS oneDNN_LIBRARY oneDNN_INCLUDE_DIR)
if(oneDNN_FOUND AND NOT TARGET oneDNN::oneDNN)
  add_library(oneDNN::oneDNN UNKNOWN IMPORTED)
  set_target_properties(oneDNN::oneDNN PROPERTIES
    IMPORTED_LOCATION ${oneDNN_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${oneDNN_INCLUDE_DIR}
    INTERFACE_LINK_LIBRARIES gomp  # the OpenMP runtime that Debian's is built on: we tell it the number of threads
  )
endif()
