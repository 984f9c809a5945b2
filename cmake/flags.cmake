# SPDX-License-Identifier: GPL-2.0-or-later
# forklab_base: what every source sees.  forklab_flags: how our own sources are compiled and linked.
# forklab-tiny uses neither: it has no libc for a sanitizer or a coverage runtime to stand on.

include(CheckIncludeFile)
check_include_file(sys/sdt.h FORKLAB_HAVE_SYS_SDT_H)

add_library(forklab_base INTERFACE)
target_include_directories(forklab_base INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_definitions(
  forklab_base INTERFACE _GNU_SOURCE $<$<BOOL:${FORKLAB_HAVE_SYS_SDT_H}>:FORKLAB_HAVE_SDT=1>)

set(FORKLAB_WARNINGS -Wall -Wextra -Wconversion -Wshadow)
if(FORKLAB_WERROR)
  list(APPEND FORKLAB_WARNINGS -Werror)
endif()

set(FORKLAB_INSTRUMENT "")
if(FORKLAB_SANITIZE)
  list(APPEND FORKLAB_INSTRUMENT -fsanitize=${FORKLAB_SANITIZE} -fno-omit-frame-pointer)
  if(FORKLAB_SANITIZE MATCHES "undefined")
    list(APPEND FORKLAB_INSTRUMENT -fno-sanitize-recover=undefined)
  endif()
endif()
if(FORKLAB_COVERAGE)
  list(APPEND FORKLAB_INSTRUMENT --coverage)
endif()
if(FORKLAB_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "FORKLAB_FUZZ needs clang: cmake --preset fuzz")
  endif()
  list(APPEND FORKLAB_INSTRUMENT -fsanitize=fuzzer-no-link)
endif()

add_library(forklab_flags INTERFACE)
target_compile_options(forklab_flags INTERFACE ${FORKLAB_WARNINGS} ${FORKLAB_INSTRUMENT})
target_link_options(forklab_flags INTERFACE ${FORKLAB_INSTRUMENT})

# The program is optimized as a whole: faults and forks pass through many small files. Tests link the
# same objects file by file, or each of them would optimize everything anew. (clang has no objects
# that serve both.)
set(forklab_whole_program OFF)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_C_COMPILER_ID STREQUAL "GNU"
   AND NOT FORKLAB_SANITIZE AND NOT FORKLAB_COVERAGE)
  set(forklab_whole_program ON)
endif()

function(forklab_whole_program_objects target)
  if(forklab_whole_program)
    target_compile_options(${target} PRIVATE -flto=auto -ffat-lto-objects)
  endif()
endfunction()
