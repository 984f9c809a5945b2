# SPDX-License-Identifier: GPL-2.0-or-later
# Run by version.cmake: cmake -DSOURCE_DIR= -DVERSION= -DOUTPUT= -P write_version.cmake

set(commit "unknown")
find_program(GIT git)
# Sources unpacked inside some other repository must not take that one's commit for theirs.
if(GIT AND EXISTS "${SOURCE_DIR}/.git")
  set(ENV{GIT_OPTIONAL_LOCKS} 0)
  execute_process(
    COMMAND "${GIT}" -C "${SOURCE_DIR}" describe --always --dirty
    OUTPUT_VARIABLE described
    RESULT_VARIABLE failed
    ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT failed AND NOT described STREQUAL "")
    set(commit "${described}")
  endif()
endif()

file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT [[
/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Written by the build. */
#ifndef FORKLAB_VERSION_H
#define FORKLAB_VERSION_H

#define FORKLAB_VERSION "@VERSION@"
#define FORKLAB_COMMIT "@commit@"

#endif
]])
