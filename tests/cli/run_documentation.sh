#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# run_documentation.sh: every example of docs/scenarios.md holds, on every kernel, and on the one
# below.
set -euo pipefail
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

awk -v scratch="$scratch" '
  /^```scenario$/ { count++; inside = 1; next }
  /^```$/ { inside = 0 }
  inside { print >(scratch "/" count ".scn") }' "${FORKLAB_SOURCE_DIR:?}/docs/scenarios.md"

# holds_with OPTION...: of each example.
holds_with() {
  local example status
  for example in "$scratch"/*.scn; do
    status=0
    "$FORKLAB" run --quiet "$@" "$example" >"$scratch/out" 2>&1 || status=$?
    [ "$status" -eq 0 ] || [ "$status" -eq 77 ] ||
      fail "$* $(basename "$example"): status $status: $(cat "$scratch/out")"
  done
}

[ -e "$scratch/5.scn" ] || fail 'docs/scenarios.md has no examples'
mapfile -t kernels < <("$FORKLAB" kernels --names)
for kernel in "${kernels[@]}"; do holds_with --kernel "$kernel" --mmu soft; done
holds_with
holds_with --host
finish
