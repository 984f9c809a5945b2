# SPDX-License-Identifier: GPL-2.0-or-later
# version.h: FORKLAB_VERSION and FORKLAB_COMMIT. Every build looks for the commit anew and writes the
# file only when it changed. (#include "version.h" wherever forklab_base is linked.)

set(FORKLAB_GENERATED_DIR "${PROJECT_BINARY_DIR}/generated")
set(write_version
    "${CMAKE_COMMAND}" "-DSOURCE_DIR=${PROJECT_SOURCE_DIR}" "-DVERSION=${PROJECT_VERSION}"
    "-DOUTPUT=${FORKLAB_GENERATED_DIR}/version.h"
    -P "${PROJECT_SOURCE_DIR}/cmake/write_version.cmake")

execute_process(COMMAND ${write_version} COMMAND_ERROR_IS_FATAL ANY)
add_custom_target(
  forklab_version
  COMMAND ${write_version}
  BYPRODUCTS "${FORKLAB_GENERATED_DIR}/version.h"
  COMMENT "Looking up the commit"
  VERBATIM)

add_dependencies(forklab_base forklab_version)
target_include_directories(forklab_base INTERFACE "${FORKLAB_GENERATED_DIR}")
