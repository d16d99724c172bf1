# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Compiles <source> by <command>, for match.cmake and transcript.cmake: the lines that the compiler prints, without its
# closing count of errors, and what is too long about them.

# CMake splits lists at semicolons, but not after a backslash nor inside square brackets: none may stay in a text. The
# lengths of lines stay.
function(plain text result)
  string(REPLACE "\\" "/" text "${text}")
  string(REPLACE ";" "," text "${text}")
  string(REPLACE "[" "(" text "${text}")
  string(REPLACE "]" ")" text "${text}")
  string(REPLACE "\n" ";" text "${text}")
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

execute_process(COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C ${command} ${source}
  OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status
)
plain("${output}" transcript)
list(FILTER transcript EXCLUDE REGEX "^[0-9]+ errors? (generated|detected in the compilation)")
list(POP_BACK transcript last)  # what follows the last line break
set(errors ${transcript})
list(FILTER errors INCLUDE REGEX "error( #[0-9]+(-D)?)?: ")
list(TRANSFORM errors REPLACE "\"}?, \"" "")  # clang 19 cuts a sentence into strings

# At most <lines> lines for each violation, none longer than 240 characters.
function(measure violations result)
  list(LENGTH transcript length)
  math(EXPR budget "${lines} * ${violations}")
  if(length GREATER budget)
    string(APPEND too_long "  ${length} lines, at most ${budget} for ${violations} violations\n")
  endif()
  set(longest 0)
  foreach(line IN LISTS transcript)
    string(LENGTH "${line}" characters)
    if(characters GREATER longest)
      set(longest ${characters})
    endif()
  endforeach()
  if(longest GREATER 240)
    string(APPEND too_long "  a line of ${longest} characters\n")
  endif()
  set(${result} "${too_long}" PARENT_SCOPE)
  set(measured "${violations} violations in ${length} lines, the longest of ${longest} characters" PARENT_SCOPE)
endfunction()
