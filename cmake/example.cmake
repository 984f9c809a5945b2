# SPDX-License-Identifier: GPL-2.0-or-later
# examples/: policies that are not the library's own, each with a table of kernels in which some have
# it. forklab-NAME is forklab with that table in place of its own (docs/new-policy.md).

file(GLOB example_tables CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*/kernels.c")
foreach(table IN LISTS example_tables)
  get_filename_component(directory "${table}" DIRECTORY)
  get_filename_component(name "${directory}" NAME)
  file(GLOB example_sources CONFIGURE_DEPENDS "${directory}/*.c")
  string(REPLACE "_" "-" name "${name}")
  set(example "forklab-${name}")
  # The table is found before the library is asked for one.
  add_executable(${example} $<TARGET_OBJECTS:forklab_demo> ${example_sources})
  target_link_libraries(${example} PRIVATE forklab_flags forklab_scenario forklab_pager PkgConfig::jansson m)
  list(APPEND forklab_examples "${example}")
endforeach()
