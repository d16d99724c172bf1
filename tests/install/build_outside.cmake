# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Copies the outside project next to nothing else, builds it in one way and runs it: first without components, then
# with those given.
function(run_or_fail)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    string(REPLACE ";" " " words "${ARGN}")
    message(FATAL_ERROR "${words}\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${scratch})
file(COPY ${CMAKE_CURRENT_LIST_DIR}/outside DESTINATION ${scratch})
if(way STREQUAL "find_package")
  run_or_fail(${CMAKE_COMMAND} --install ${build} --prefix ${scratch}/installed)
  file(RENAME ${scratch}/installed ${scratch}/moved)  # the package holds no absolute path
endif()

list(JOIN components "," components)
foreach(parts IN ITEMS "" "${components}")
  run_or_fail(${CMAKE_COMMAND} -S ${scratch}/outside -B ${scratch}/build -G ${generator}
    -D CMAKE_CXX_COMPILER=${compiler} -D WAY=${way} -D PARTS=${parts} -D EXPECTED_VERSION=${version}
    -D MESHPAR_SOURCE=${source} -D CMAKE_PREFIX_PATH=${scratch}/moved
    -D FETCHCONTENT_SOURCE_DIR_MESHPAR=${source} -D FETCHCONTENT_FULLY_DISCONNECTED=ON
  )
  run_or_fail(${CMAKE_COMMAND} --build ${scratch}/build)
  run_or_fail(${scratch}/build/outside)
endforeach()
