#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# scenario.sh FILE: runs a scenario on every kernel, on both MMUs, and on the kernel below. Exit 1
# when some run fails, 77 when it can run nowhere. FORKLAB_SCENARIO_KERNELS names fewer kernels: a
# build with sanitizers, which is slow, runs one.
set -euo pipefail

file=$1
failed=0 held=0
output=$(mktemp)
trap 'rm -f "$output"' EXIT

run() { # OPTION...
  local status=0
  "$FORKLAB" run --quiet "$@" "$file" >"$output" 2>&1 || status=$?
  case $status in
    0) held=$((held + 1)) ;;
    77) echo "$*: $(cat "$output")" ;;
    *)
      failed=$((failed + 1))
      echo "$*: exit status $status"
      cat "$output"
      ;;
  esac
}

if [ -n "${FORKLAB_SCENARIO_KERNELS:-}" ]; then
  read -ra kernels <<<"$FORKLAB_SCENARIO_KERNELS"
else
  mapfile -t kernels < <("$FORKLAB" kernels --names)
fi
[ "${#kernels[@]}" -gt 0 ] || { echo 'no kernel' >&2; exit 1; }
for kernel in "${kernels[@]}"; do
  for mmu in host soft; do
    run --kernel "$kernel" --mmu "$mmu"
  done
done
run --host

[ "$failed" -eq 0 ] || exit 1
[ "$held" -gt 0 ] || exit 77
