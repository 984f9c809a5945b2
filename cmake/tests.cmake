# SPDX-License-Identifier: GPL-2.0-or-later
# Tests are found by name: tests/unit/test_*.c and tests/host/host_test_*.c (a cmocka program each),
# tests/cli/*.sh, tests/scenarios/*.scn, tests/rules/*.sh.
# A test may exit with 77: skipped. A word in its file's name gives it a label:
#   threads  runs under the thread sanitizer too
#   timing   judges times: runs alone, and not under a sanitizer
#   slow     takes long (among the rules: static.sh)

set(test_environment
    "TINY=$<$<TARGET_EXISTS:forklab-tiny>:$<TARGET_FILE:forklab-tiny>>"
    "FORKLAB_SOURCE_DIR=${PROJECT_SOURCE_DIR}"
    "FORKLAB_BUILD_DIR=${PROJECT_BINARY_DIR}"
    "UBSAN_OPTIONS=print_stacktrace=1"
    "TSAN_OPTIONS=second_deadlock_stack=1")
if(TARGET forklab)
  list(APPEND test_environment "FORKLAB=$<TARGET_FILE:forklab>")
endif()
if(FORKLAB_SANITIZE)
  list(APPEND test_environment "FORKLAB_SCENARIO_KERNELS=modern-shared")
endif()

function(forklab_register_test name timeout)
  set(labels ${ARGN})
  foreach(label IN ITEMS threads timing slow)
    if(name MATCHES "(^|_)${label}(_|$)")
      list(APPEND labels ${label})
    endif()
  endforeach()
  set_tests_properties(
    ${name} PROPERTIES ENVIRONMENT "${test_environment}" SKIP_RETURN_CODE 77 TIMEOUT ${timeout}
                       LABELS "${labels}")
  if("timing" IN_LIST labels)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()

# What several test programs share.
add_library(forklab_test_base INTERFACE)
target_link_libraries(forklab_test_base INTERFACE forklab_scenario forklab_pager forklab_pt PkgConfig::cmocka)
if(forklab_whole_program)
  target_link_options(forklab_test_base INTERFACE -fno-lto)
endif()

file(GLOB support_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/support/*.c"
                                        "${PROJECT_SOURCE_DIR}/examples/*/vma_*.c")
if(support_sources)
  add_library(forklab_test_support STATIC ${support_sources})
  target_link_libraries(forklab_test_support PRIVATE forklab_flags PUBLIC forklab_test_base)
else()
  add_library(forklab_test_support ALIAS forklab_test_base)
endif()

file(GLOB unit_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/unit/test_*.c")
foreach(source IN LISTS unit_sources)
  get_filename_component(name "${source}" NAME_WE)
  add_executable(${name} "${source}")
  target_link_libraries(${name} PRIVATE forklab_flags forklab_test_support m)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  add_test(NAME ${name} COMMAND ${name})
  forklab_register_test(${name} 300 unit)
endforeach()

# tests/host/: the host MMU over a fake kernel, which stands in for the pager.
file(GLOB host_test_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/host/host_test_*.c")
file(GLOB host_mmu_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/pager/host_*.c")
if(host_test_sources)
  add_library(
    forklab_fake_kernel STATIC
    ${host_mmu_sources} "${PROJECT_SOURCE_DIR}/pager/mmu_soft.c" "${PROJECT_SOURCE_DIR}/pager/clock.c"
    "${PROJECT_SOURCE_DIR}/tests/host/fake_kernel.c")
  target_link_libraries(
    forklab_fake_kernel
    PRIVATE forklab_flags
    PUBLIC forklab_pt forklab_sigsegv Threads::Threads PkgConfig::cmocka)
  if(forklab_whole_program)
    target_link_options(forklab_fake_kernel PUBLIC -fno-lto)
  endif()
endif()
foreach(source IN LISTS host_test_sources)
  get_filename_component(name "${source}" NAME_WE)
  add_executable(${name} "${source}")
  target_link_libraries(${name} PRIVATE forklab_flags forklab_fake_kernel)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  add_test(NAME ${name} COMMAND ${name})
  forklab_register_test(${name} 300 host)
endforeach()

include(cmake/fuzz.cmake)

find_program(BASH_PROGRAM bash REQUIRED)

file(GLOB cli_scripts CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/cli/*.sh")
if(TARGET forklab)
  foreach(script IN LISTS cli_scripts)
    get_filename_component(name "${script}" NAME_WE)
    add_test(NAME cli_${name} COMMAND "${BASH_PROGRAM}" "${script}")
    forklab_register_test(cli_${name} 300 cli)
  endforeach()
endif()

# tests/scenarios/: each on every kernel, on both MMUs and on the host.
file(GLOB scenario_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/scenarios/*.scn")
if(TARGET forklab)
  foreach(scenario IN LISTS scenario_files)
    get_filename_component(name "${scenario}" NAME_WE)
    add_test(NAME scenario_${name}
             COMMAND "${BASH_PROGRAM}" "${PROJECT_SOURCE_DIR}/tests/support/scenario.sh" "${scenario}")
    forklab_register_test(scenario_${name} 300 scenario)
  endforeach()
endif()

# examples/: every scenario, and random runs, on the rows of each.
foreach(example IN LISTS forklab_examples)
  add_test(NAME example_${example} COMMAND "${BASH_PROGRAM}" "${PROJECT_SOURCE_DIR}/tests/support/example.sh"
                                           "$<TARGET_FILE:${example}>")
  forklab_register_test(example_${example} 600 example)
endforeach()

# The rules judge the sources, which are the same however they are built.
file(GLOB rule_scripts CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/rules/*.sh")
if(NOT FORKLAB_SANITIZE AND NOT FORKLAB_COVERAGE)
  foreach(script IN LISTS rule_scripts)
    get_filename_component(name "${script}" NAME_WE)
    add_test(NAME rules_${name} COMMAND "${BASH_PROGRAM}" "${script}" "${PROJECT_SOURCE_DIR}")
    forklab_register_test(rules_${name} 300 rules)
  endforeach()
  if(TEST rules_static)
    set_tests_properties(rules_static PROPERTIES LABELS "rules;slow" TIMEOUT 900)
  endif()
endif()
