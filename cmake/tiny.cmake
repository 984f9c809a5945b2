# SPDX-License-Identifier: GPL-2.0-or-later
# forklab-tiny and forklab-shell: the executables that the emulated exec maps. They are read, never
# run by forklab, so they are built for x86-64 alone.

function(forklab_add_tiny name source)
  set(script "${PROJECT_SOURCE_DIR}/demo/tiny/${source}.ld")

  add_executable(${name} "${PROJECT_SOURCE_DIR}/demo/tiny/${source}.c")
  set_target_properties(${name} PROPERTIES LINK_DEPENDS "${script}")
  target_compile_options(
    ${name}
    PRIVATE ${FORKLAB_WARNINGS}
            -Os
            -g0
            -ffreestanding
            -fno-pie
            -fno-stack-protector
            -fcf-protection=none
            -fno-asynchronous-unwind-tables
            -fno-unwind-tables)
  target_link_options(
    ${name}
    PRIVATE
    -nostdlib
    -static
    -no-pie
    "LINKER:-T,${script}"
    LINKER:-z,norelro
    LINKER:-z,max-page-size=0x1000
    LINKER:--build-id=none
    LINKER:--strip-all)

  install(TARGETS ${name} RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/forklab")
endfunction()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
  forklab_add_tiny(forklab-tiny tiny)
  forklab_add_tiny(forklab-shell shell)
endif()
