# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -D command=<compiler;and;flags> -D source=<file> -D lines=<lines per violation> -P transcript.cmake
#
# What a user reads when <source> is refused. For each line `// expect: word, word` of the source there is one error
# whose own line holds all of the words, and there is no other error; all of it takes at most <lines> lines for each
# violation (a compiler's closing count of errors is not counted), none longer than 240 characters.

cmake_minimum_required(VERSION 3.25)

include(${CMAKE_CURRENT_LIST_DIR}/compiled.cmake)
set(complaints "")

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

measure(${violations} too_long)
string(APPEND complaints "${too_long}")
if(complaints)
  message(FATAL_ERROR "${source}\n${complaints}\nThe compiler said:\n${output}")
endif()
message("${measured}")
