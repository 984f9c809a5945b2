#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# fuzz.sh: a small slice of the random runs (tests/nightly has the large ones), and what the command
# refuses.
set -euo pipefail
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

# agrees ARGUMENT...: no difference, and the closing line tells of so many operations.
agrees() {
  local operations=$1
  shift
  accepts fuzz --ops "$operations" "$@"
  grep -qE "^$operations operations in [0-9]+ episodes? .*: no difference\$" "$scratch/out" ||
    fail "forklab fuzz $*: $(cat "$scratch/out")"
}

agrees 100000 --seed 11 --against copied --ram 64M
agrees 10000 --seed 12 --against copied --mmu host --ram 64M
agrees 10000 --seed 13 --against soft --mmu host --ram 64M
agrees 10000 --seed 14 --checks --geometry tiny --ram 1M --tasks 3 --against copied
agrees 10000 --seed 15 --low-memory
"$FORKLAB" kernels --names >"$scratch/names"
while IFS= read -r kernel; do
  agrees 10000 --seed 16 --kernel "$kernel"
done <"$scratch/names"
# The kernel below is asked by a helper process for each task.
agrees 3000 --seed 17 --against host --kernel modern
agrees 3000 --seed 18 --against host --kernel modern-shared

# The same for a seed.
"$FORKLAB" fuzz --quiet --ops 1000 --seed 19 >"$scratch/out"
[ ! -s "$scratch/out" ] || fail '--quiet says something where nothing is wrong'

refuses 'no such kernel; it is one of .*modern-shared' fuzz --kernel modern-share
refuses 'no sister that copies' fuzz --kernel 2.5.41 --against copied
refuses 'low-memory --against copied' fuzz --low-memory --against copied
refuses 'geometry tiny --against host' fuzz --geometry tiny --against host
refuses 'kernel 2.5.41 --against host' fuzz --kernel 2.5.41 --against host
refuses 'nobody.*model' fuzz --against nobody
refuses 'ops 0' fuzz --ops 0
refuses 'tasks 33' fuzz --tasks 33
refuses 'seed x' fuzz --seed x
refuses 'no option --nonsense' fuzz --nonsense
finish
