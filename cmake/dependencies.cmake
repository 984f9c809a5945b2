# SPDX-License-Identifier: GPL-2.0-or-later
# What forklab links, under one target each. ./demo/run installs all of it.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

find_package(PkgConfig REQUIRED)
pkg_check_modules(libelf REQUIRED IMPORTED_TARGET libelf)
pkg_check_modules(jansson REQUIRED IMPORTED_TARGET jansson)

# libsigsegv comes without a pkg-config file.
find_path(SIGSEGV_INCLUDE_DIR sigsegv.h)
find_library(SIGSEGV_LIBRARY sigsegv)
if(NOT SIGSEGV_INCLUDE_DIR OR NOT SIGSEGV_LIBRARY)
  message(FATAL_ERROR "libsigsegv was not found; on Debian and Ubuntu: apt-get install libsigsegv-dev")
endif()
add_library(forklab_sigsegv INTERFACE)
target_include_directories(forklab_sigsegv SYSTEM INTERFACE "${SIGSEGV_INCLUDE_DIR}")
target_link_libraries(forklab_sigsegv INTERFACE "${SIGSEGV_LIBRARY}")

if(FORKLAB_TESTS)
  pkg_check_modules(cmocka IMPORTED_TARGET cmocka)
  if(NOT cmocka_FOUND)
    message(FATAL_ERROR "The tests need cmocka; on Debian and Ubuntu: apt-get install libcmocka-dev "
                        "(or configure with -DFORKLAB_TESTS=OFF)")
  endif()
endif()
