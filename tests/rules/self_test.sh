#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# self_test.sh: the rules fail where they should. Each case is a small made-up tree with one thing
# wrong in it; the same tree without it passes.
set -euo pipefail
rules=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

spdx='SPDX-License-Identifier: GPL-2.0-or-''later'
failures=0

new_tree() {
  rm -rf "${tree:?}"/*
  mkdir -p "$tree"/{pt,pager,demo,tests/unit,build}
  put pt/table.h '#include <stdint.h>'
  put pt/table.c '#include "pt/table.h"' '#include "table.h"' '#include <string.h>'
  put pager/task.h '#include "pt/table.h"'
  put pager/task.c '#include "pager/task.h"' '#include <gelf.h>' '#include "version.h"'
  put pager/host_window.c '#include <sys/mman.h>' '#include <signal.h>' '#include <sigsegv.h>'
  put demo/main.c '#include "pager/task.h"' '#include <jansson.h>'
  put tests/unit/test_task.c '#include "pager/task.h"' '#include "pt/table.h"' '#include <cmocka.h>'
  # What lies in build/ is nobody's source.
  echo '#include "pager/task.h"' >"$tree/build/pt.c"
}

put() { # FILE LINE...
  local file=$tree/$1
  shift
  mkdir -p "$(dirname "$file")"
  { echo "/* $spdx */" && printf '%s\n' "$@"; } >"$file"
}

run() { # SCRIPT
  bash "$rules/$1" "$tree" 2>&1
}

expect_pass() { # SCRIPT WHY
  local output
  if ! output=$(run "$1"); then
    printf 'FAIL: %s refused %s:\n%s\n' "$1" "$2" "$output"
    failures=$((failures + 1))
  fi
}

# The script must fail, and name the file and nothing else.
expect_fail() { # SCRIPT FILE WORDS
  local output status=0
  output=$(run "$1") || status=$?
  if [ "$status" -ne 1 ] || ! grep -q "^$2.*$3" <<<"$output" || ! grep -q ' 1 broken$' <<<"$output"; then
    printf 'FAIL: %s on %s, wanted "%s", got (status %d):\n%s\n' "$1" "$2" "$3" "$status" "$output"
    failures=$((failures + 1))
  fi
  new_tree
}

new_tree
expect_pass includes.sh 'a clean tree'
expect_pass words.sh 'a clean tree'

put pt/bad.c '#include "pager/task.h"'
expect_fail includes.sh pt/bad.c 'upwards'
put pt/bad.h '  #  include "demo/main.h"'
expect_fail includes.sh pt/bad.h 'upwards'
put pager/bad.c '#include "demo/main.h"'
expect_fail includes.sh pager/bad.c 'upwards'
put demo/bad.c '#include "tests/support/x.h"'
expect_fail includes.sh demo/bad.c 'upwards'
put pt/bad.c '#include <gelf.h>'
expect_fail includes.sh pt/bad.c 'not libc'
put pager/bad.c '#include <jansson.h>'
expect_fail includes.sh pager/bad.c 'neither libc'
put pager/bad.c '#include "../pt/table.h"'
expect_fail includes.sh pager/bad.c 'start at the root'
put pt/bad.c '#include "version.h"'
expect_fail includes.sh pt/bad.c 'version.h'
put pt/bad.c '#include "task.h"'
expect_fail includes.sh pt/bad.c 'no file beside'
put pt/bad.c '#include MACRO'
expect_fail includes.sh pt/bad.c 'cannot read'
for header in sys/mman.h signal.h sigsegv.h sys/ucontext.h ucontext.h; do
  put pager/bad.c "#include <$header>"
  expect_fail includes.sh pager/bad.c 'only host_'
done
put pager/host_bad.h '#include <signal.h>'
expect_fail includes.sh pager/host_bad.h 'only host_'
put pager/bad.c '#include "sys/mman.h"'
expect_fail includes.sh pager/bad.c 'only host_'
put demo/bad.c '#include <sys/mman.h>'
expect_fail includes.sh demo/bad.c 'only host_'
put tests/unit/test_bad.c '#include <signal.h>'
expect_fail includes.sh tests/unit/test_bad.c 'only host_'
put tests/unit/host_good.c '#include <signal.h>'
expect_pass includes.sh 'tests/unit/host_good.c'
new_tree

for file in pt/bad.c pt/bad.h tests/bad.sh bad.cmake CMakeLists.txt; do
  echo '' >"$tree/$file"
  expect_fail includes.sh "$file" 'SPDX'
done
put pt/bad.c "$(seq 500)"
expect_fail includes.sh pt/bad.c '501 lines'

# In pieces, so that this file does not break the rules itself.
for path in 'wo''rk/x' 'ro''ot' 'ho''me/someone/x' 'Us''ers/someone'; do
  put demo/bad.c "/* \"/$path\" */"
  expect_fail words.sh demo/bad.c 'machine path'
  put demo/good.c "/* net/$path, a.b/$path */"
  expect_pass words.sh "net/$path"
  new_tree
done
for mark in 'TO''DO' 'FIX''ME' 'X''XX'; do
  put demo/bad.c "/* $mark: later */"
  expect_fail words.sh demo/bad.c 'without an issue'
  put demo/bad.c "/* $mark(#7) and $mark */"
  expect_fail words.sh demo/bad.c 'without an issue'
  put demo/good.c "/* $mark(#12): later */"
  expect_pass words.sh "$mark(#12)"
  new_tree
done

status=0
run format.sh >"$tree/build/format" || status=$?
if [ "$status" -ne 77 ]; then # skipped: not this machine's to judge
  # The tree for this rule: one good file.
  format_tree() {
    rm -rf "${tree:?}"/*
    printf 'BasedOnStyle: LLVM\nReflowComments: false\n' >"$tree/.clang-format"
    printf 'int x;\n' >"$tree/good.c"
  }
  format_tree
  expect_pass format.sh 'a clean tree'
  printf 'int   x ;\n' >"$tree/bad.c"
  expect_fail format.sh . 'clang-format would change'
  format_tree
  printf '/*%098d*/\n' 0 >"$tree/bad.c"
  expect_fail format.sh bad.c:1 'over 100 columns'
fi

if [ "$failures" -ne 0 ]; then
  echo "$failures failed"
  exit 1
fi
echo 'the rules fail where they should'
