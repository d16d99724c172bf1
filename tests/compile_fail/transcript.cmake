# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -D command=<compiler;and;flags> -D source=<file> -D lines=<lines per violation> -P transcript.cmake
#
# What a user reads when <source> is refused. For each line `// expect: word, word` of the source there is one error
# whose own line holds all of the words, and there is no other error; all of it takes at most <lines> lines for each
# violation (a compiler's closing count of errors is not counted), none longer than 240 characters.

cmake_minimum_required(VERSION 3.25)

# Semicolons and brackets mean something in CMake's lists; the length stays.
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
set(complaints "")

list(FILTER transcript EXCLUDE REGEX "^[0-9]+ errors? (generated|detected in the compilation)")
list(POP_BACK transcript last)  # what follows the last line break
set(errors ${transcript})
list(FILTER errors INCLUDE REGEX "error: ")

file(READ ${source} text)
plain("${text}" text)
list(FILTER text INCLUDE REGEX "^// expect: ")
list(LENGTH text violations)
list(LENGTH errors found)
if(NOT found EQUAL violations OR violations EQUAL 0 OR status EQUAL 0)
  string(APPEND complaints "  ${found} errors for ${violations} violations, status ${status}\n")
endif()

foreach(expectation IN LISTS text)
  string(REGEX REPLACE "^// expect: *" "" expectation "${expectation}")
  string(REGEX REPLACE " *, *" ";" words "${expectation}")
  set(holding ${errors})
  foreach(word IN LISTS words)
    list(FILTER holding INCLUDE REGEX "(^|[^A-Za-z0-9_])${word}($|[^A-Za-z0-9_])")
  endforeach()
  list(LENGTH holding count)
  if(NOT count EQUAL 1)
    string(APPEND complaints "  ${count} errors say in their first line: ${expectation}\n")
  endif()
endforeach()

list(LENGTH transcript length)
math(EXPR budget "${lines} * ${violations}")
if(length GREATER budget)
  string(APPEND complaints "  ${length} lines, at most ${budget} for ${violations} violations\n")
endif()
set(longest 0)
foreach(line IN LISTS transcript)
  string(LENGTH "${line}" characters)
  if(characters GREATER longest)
    set(longest ${characters})
  endif()
endforeach()
if(longest GREATER 240)
  string(APPEND complaints "  a line of ${longest} characters\n")
endif()
if(complaints)
  message(FATAL_ERROR "${source}\n${complaints}\nThe compiler said:\n${output}")
endif()
message("${violations} violations in ${length} lines, the longest of ${longest} characters")
