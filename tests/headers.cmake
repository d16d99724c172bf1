# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# header_test: every header compiles alone, and twice in one file; and all of them together in two files that link
# into one program, so that a definition which is not inline fails the link.

# The component that a header needs, if any: its path has the component's name as a word.
function(header_needs header result)
  set(${result} "" PARENT_SCOPE)
  foreach(component IN LISTS MESHPAR_KNOWN_COMPONENTS)
    if(header MATCHES "(^|[/_])${component}[/_.]")
      set(${result} ${component} PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# nvcc takes over a second for an empty file: it only compiles the files that include everything.
set(extension cpp)
if(MESHPAR_CUDA)
  set(extension cu)
endif()

# Writes a file that the build sees as changed only when its text is.
function(write_source path text result)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/headers/${path}.${extension})
  file(CONFIGURE OUTPUT ${file} CONTENT "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n${text}" @ONLY)
  set(${result} ${${result}} ${file} PARENT_SCOPE)
endfunction()

file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR}/include CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/*.hpp)
set(sources "")
set(components "")
set(all "")
foreach(header IN LISTS headers)
  header_needs(${header} component)
  meshpar_missing(missing ${component})
  if(missing)
    message(STATUS "Header ${header} is not tested: no ${missing}")
    continue()
  endif()
  list(APPEND components ${component})
  string(APPEND all "#include <${header}>\n")
  if(NOT MESHPAR_CUDA)
    write_source(${header} "#include <${header}>\n#include <${header}>\n" sources)
  endif()
endforeach()
write_source(all_1 "${all}" sources)
write_source(all_2 "${all}int main() {}\n" sources)

add_executable(header_test ${sources})
target_link_libraries(header_test PRIVATE meshpar::meshpar)
list(REMOVE_DUPLICATES components)
foreach(component IN LISTS components)
  target_link_libraries(header_test PRIVATE meshpar::${component})
endforeach()
add_test(NAME header_test COMMAND header_test)
set_tests_properties(header_test PROPERTIES LABELS static)
add_dependencies(tests_static header_test)
