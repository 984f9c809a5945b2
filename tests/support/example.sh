#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# example.sh PROGRAM: a forklab with rows of its own (examples/). Each row that forklab itself does
# not have goes through every scenario, and through random runs.
set -euo pipefail

program=$1
failed=0
output=$(mktemp)
trap 'rm -f "$output"' EXIT

mapfile -t own < <(comm -13 <("$FORKLAB" kernels --names | LC_ALL=C sort) \
  <("$program" kernels --names | LC_ALL=C sort))
[ "${#own[@]}" -gt 0 ] || { echo "$program has no kernel of its own" >&2; exit 1; }

try() { # ARGUMENT...
  "$program" "$@" >"$output" 2>&1 && return
  local status=$?
  [ "$status" -eq 77 ] && return
  failed=$((failed + 1))
  echo "$program $*: exit status $status"
  cat "$output"
}

scenarios=0
for kernel in "${own[@]}"; do
  for scenario in "$FORKLAB_SOURCE_DIR"/tests/scenarios/*.scn; do
    scenarios=$((scenarios + 1))
    try run --quiet --kernel "$kernel" --mmu host "$scenario"
    try run --quiet --kernel "$kernel" --mmu soft "$scenario"
  done
  try fuzz --kernel "$kernel" --ops 100000 --seed 1 --ram 64M
  try fuzz --kernel "$kernel" --ops 10000 --seed 2 --low-memory
  try fuzz --kernel "$kernel" --ops 10000 --seed 3 --geometry tiny --ram 1M --tasks 3 --checks
done
echo "$scenarios scenarios on ${own[*]}"
[ "$failed" -eq 0 ]
