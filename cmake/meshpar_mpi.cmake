# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Programs on MPI for each implementation found here, side by side: their libraries cannot be in one program, and
# find_package(MPI) finds one of them only.
set(MESHPAR_MPI_IMPLEMENTATIONS openmpi mpich)

# Makes meshpar_mpi_<implementation> from what its compiler wrapper says.
foreach(implementation IN LISTS MESHPAR_MPI_IMPLEMENTATIONS)
  find_program(MESHPAR_MPICC_${implementation} mpicc.${implementation})
  find_program(MESHPAR_MPIRUN_${implementation} mpirun.${implementation})
  mark_as_advanced(MESHPAR_MPICC_${implementation} MESHPAR_MPIRUN_${implementation})
  if(MESHPAR_MPICC_${implementation} AND MESHPAR_MPIRUN_${implementation})
    execute_process(COMMAND ${MESHPAR_MPICC_${implementation}} -show OUTPUT_VARIABLE shown OUTPUT_STRIP_TRAILING_WHITESPACE)
    separate_arguments(shown UNIX_COMMAND "${shown}")
    add_library(meshpar_mpi_${implementation} INTERFACE)
    foreach(word IN LISTS shown)
      if(word MATCHES "^-I(.+)")
        target_include_directories(meshpar_mpi_${implementation} SYSTEM INTERFACE ${CMAKE_MATCH_1})
      elseif(word MATCHES "^-L(.+)")
        target_link_directories(meshpar_mpi_${implementation} INTERFACE ${CMAKE_MATCH_1})
      elseif(word MATCHES "^-(l|Wl,)")
        target_link_libraries(meshpar_mpi_${implementation} INTERFACE ${word})
      endif()
    endforeach()
  endif()
endforeach()

# Declares the executable <target> from <path>.cpp with one implementation and the components named; it must be there:
# if(TARGET meshpar_mpi_<implementation>).
function(meshpar_mpi_program target path implementation)
  meshpar_program(${target} ${path} ${ARGN})
  target_link_libraries(${target} PRIVATE meshpar_mpi_${implementation})
endfunction()

# The words that start processes; "-n <n>", the program and its arguments follow. Ranks may be more than cores, and
# root may run them.
function(meshpar_mpi_launch result implementation)
  set(words ${MESHPAR_MPIRUN_${implementation}})
  if(implementation STREQUAL "openmpi")
    list(APPEND words --allow-run-as-root --oversubscribe --mca mpi_yield_when_idle 1 --mca btl_base_warn_component_unused 0)
  endif()
  set(${result} ${words} PARENT_SCOPE)
endfunction()
