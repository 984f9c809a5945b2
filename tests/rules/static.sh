#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# static.sh [ROOT]: cppcheck and clang-tidy over what the build compiles. It reads the build's
# compile_commands.json: FORKLAB_BUILD_DIR, or the first of build/{dev,release} that has one.
set -euo pipefail
# shellcheck source=tests/support/rules.sh
. "$(dirname "$0")/../support/rules.sh"

build=${FORKLAB_BUILD_DIR:-}
if [ -z "$build" ]; then
  for preset in dev release; do
    if [ -f "$root/build/$preset/compile_commands.json" ]; then
      build=$root/build/$preset
      break
    fi
  done
fi
[ -f "$build/compile_commands.json" ] || skip 'no compile_commands.json; run: cmake --preset dev'
command -v cppcheck >/dev/null || skip 'cppcheck is not installed'
command -v clang-tidy >/dev/null || skip 'clang-tidy is not installed'

jobs=$(nproc)

# The sources of the build, relative to the root; a source in two targets is judged once.
mapfile -t files < <(
  sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' "$build/compile_commands.json" |
    sed -n "s|^$root/||p" | LC_ALL=C sort -u
)
[ "${#files[@]}" -gt 0 ] || {
  fail "$build/compile_commands.json" "names no source of $root"
  finish
}

cd "$root"

# Its cache makes a second run short.
mkdir -p "$build/cppcheck"
cppcheck --quiet -j "$jobs" --project="$build/compile_commands.json" \
  --cppcheck-build-dir="$build/cppcheck" \
  --enable=warning,portability,performance --inline-suppr --error-exitcode=1 \
  --suppress=missingIncludeSystem --suppress='*:*/cmocka*.h' \
  --template='{file}:{line}: {severity}: {message} [{id}]' || fail cppcheck 'see above'

tidy() {
  printf '%s\0' "${files[@]}" | xargs -0 -P "$jobs" -n 1 clang-tidy -p "$build" --quiet \
    --extra-arg=-Wno-ignored-optimization-argument 2>&1 |
    { grep -vE '^[0-9]+ (warnings?|errors?)( and [0-9]+ errors?)? generated\.$' || true; }
}
tidy || fail clang-tidy 'see above'

if [ "$failures" -ne 0 ] && ! { is_version cppcheck 2.10 && is_version clang-tidy 14; }; then
  skip "cppcheck 2.10 and clang-tidy 14 are the judges; what others say above is advice"
fi
finish
