# SPDX-License-Identifier: GPL-2.0-or-later
# tests/fuzz/fuzz_NAME.c is a target of libFuzzer; tests/fuzz/corpus/NAME has its inputs.
#
# Every build makes fuzz_NAME_corpus, which runs the corpus once and needs no libFuzzer; CTest does.
# With FORKLAB_FUZZ (preset `fuzz`: clang) there is fuzz_NAME as well, which searches:
#   build/fuzz/fuzz_reader -max_len=4096 -dict=tests/fuzz/words.dict NEW tests/fuzz/corpus/reader

file(GLOB fuzz_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fuzz/fuzz_*.c")
foreach(source IN LISTS fuzz_sources)
  get_filename_component(name "${source}" NAME_WE)
  string(REPLACE "fuzz_" "" subject "${name}")
  add_executable(${name}_corpus "${source}" "${PROJECT_SOURCE_DIR}/tests/fuzz/driver.c")
  target_link_libraries(${name}_corpus PRIVATE forklab_flags forklab_test_support)
  set_target_properties(${name}_corpus PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  file(GLOB corpus CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${subject}/*")
  add_test(NAME ${name}_corpus COMMAND ${name}_corpus ${corpus})
  forklab_register_test(${name}_corpus 300 fuzz)

  if(FORKLAB_FUZZ)
    add_executable(${name} "${source}")
    target_link_libraries(${name} PRIVATE forklab_flags forklab_test_support)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  endif()
endforeach()
