# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Which components of <list> are absent here.
function(meshpar_missing result)
  set(missing "")
  foreach(component IN LISTS ARGN)
    if(NOT TARGET meshpar::${component})
      list(APPEND missing ${component})
    endif()
  endforeach()
  set(${result} "${missing}" PARENT_SCOPE)
endfunction()

# Declares the executable <target> from <path>.cpp, or <path>.cu where that is what the folder has.
function(meshpar_program target path)
  set(source ${path}.cpp)
  if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${source} AND EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${path}.cu)
    set(source ${path}.cu)
  endif()
  add_executable(${target} ${source})
  target_link_libraries(${target} PRIVATE meshpar::meshpar)
  foreach(component IN LISTS ARGN)
    target_link_libraries(${target} PRIVATE meshpar::${component})
  endforeach()
endfunction()
