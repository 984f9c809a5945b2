# SPDX-License-Identifier: GPL-2.0-or-later
# forklab-tiny: the very small executable that the emulated exec maps. It is read, never run by
# forklab, so it is built for x86-64 alone.

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
  set(tiny_script "${PROJECT_SOURCE_DIR}/demo/tiny/tiny.ld")

  add_executable(forklab-tiny "${PROJECT_SOURCE_DIR}/demo/tiny/tiny.c")
  set_target_properties(forklab-tiny PROPERTIES LINK_DEPENDS "${tiny_script}")
  target_compile_options(
    forklab-tiny
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
    forklab-tiny
    PRIVATE
    -nostdlib
    -static
    -no-pie
    "LINKER:-T,${tiny_script}"
    LINKER:-z,norelro
    LINKER:-z,max-page-size=0x1000
    LINKER:--build-id=none
    LINKER:--strip-all)

  install(TARGETS forklab-tiny RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/forklab")
endif()
