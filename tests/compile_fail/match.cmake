# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -D command=<compiler;and;flags> -D source=<file> -D lines=<lines per violation> [-D arguments=ON] -P match.cmake
#
# A line of <source> that must be refused ends in
#     // expect: word, word
# The compiler must print exactly one error for each such line, with all of the words, as whole words, in the line
# that says `error:`, and must name the source line somewhere; and it must print no other error. All of it takes at most
# <lines> lines for each refusal, none longer than 240 characters.
#
# Before such a line there may be
#     // told: arguments
# With <arguments>, for compilers that tell a refusal by the arguments of a type, the error must then hold
# broken<rule::<first word>, <what is told>>, to the letter but for the namespace meshpar.

cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/compiled.cmake)

# Whether <line> holds every word. A number may carry the suffix that some compilers print.
function(holds_words line words result)
  set(${result} TRUE PARENT_SCOPE)
  foreach(word IN LISTS words)
    string(REGEX REPLACE "([.+*()^$?|\\])" "\\\\\\1" pattern "${word}")
    if(NOT line MATCHES "(^|[^A-Za-z0-9_])${pattern}[UL]*($|[^A-Za-z0-9_])")
      set(${result} FALSE PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

file(READ ${source} text)
plain("${text}" text)
cmake_path(GET source FILENAME file)
list(TRANSFORM errors REPLACE "meshpar::(v0::)?" "")

set(complaints "")
set(expectations 0)
set(number 0)
set(told "")
foreach(line IN LISTS text)
  math(EXPR number "${number} + 1")
  if(line MATCHES "// told: (.*[^ ]) *$" AND arguments)
    set(told "${CMAKE_MATCH_1}")
  endif()
  if(NOT line MATCHES "// expect: (.*[^ ]) *$")
    continue()
  endif()
  math(EXPR expectations "${expectations} + 1")
  string(REGEX REPLACE " *, *" ";" words "${CMAKE_MATCH_1}")
  set(type "")
  if(told)
    list(GET words 0 rule)
    set(type "broken<rule::${rule}, ${told}>")
  endif()

  set(met FALSE)
  foreach(error IN LISTS errors)
    holds_words("${error}" "${words}" met)
    string(FIND "${error}" "${type}" at)
    if(at EQUAL -1)
      set(met FALSE)
    endif()
    if(met)
      list(FIND errors "${error}" index)
      list(REMOVE_AT errors ${index})
      break()
    endif()
  endforeach()
  if(NOT met)
    string(REPLACE ";" " " words "${words}")
    string(APPEND complaints "  line ${number}: no error with the words: ${words} ${type}\n")
  elseif(NOT transcript MATCHES "${file}[:(]${number}[:)]|at line ${number}[^0-9]|line ${number} of ")
    string(APPEND complaints "  line ${number}: refused, but the output does not name this line\n")
  endif()
  set(told "")
endforeach()

if(expectations EQUAL 0 AND NOT errors)
  string(APPEND complaints "  nothing is expected and nothing is refused\n")
endif()
if(errors)
  string(REPLACE ";" "\n    " errors "${errors}")
  string(APPEND complaints "  errors that nothing expects:\n    ${errors}\n")
endif()
if(status EQUAL 0)
  string(APPEND complaints "  the compiler accepted the file\n")
endif()
measure(${expectations} too_long)
string(APPEND complaints "${too_long}")
if(complaints)
  message(FATAL_ERROR "${source}\n${complaints}\nThe compiler said:\n${output}")
endif()
message("each as expected: ${measured}")
