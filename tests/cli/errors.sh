#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# errors.sh: whatever is wrong with what forklab is asked for ends in one line that says so, and
# status 2, before anything is measured or written.
set -euo pipefail
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

# The program itself.
refuses 'no subcommand is given.*fork, fault, tree, mmap, lat, kernels'
refuses 'spoon is no subcommand.*fork, fault, tree, mmap, lat, kernels' spoon
refuses '--sizes is no option of forklab itself' --sizes 4M

# Options that are none.
refuses 'no option --nonsense.*forklab fork --help' fork --nonsense
refuses 'no option -z' fork -z
refuses 'no option --no-' fork --no-
refuses '--sizes needs an argument: --sizes LIST' fork --sizes
refuses '--quick takes no argument' fork --quick=3
refuses 'stray is no option' fork stray
refuses 'choose one of them' fork --json --csv

# Sizes.
refuses '12Q is no size.*400K' fork --sizes 12Q
refuses '4\.5M is no size' fork --sizes 4.5M
refuses '-4M is no size' fork --sizes=-4M
refuses 'K is no size' fork --sizes K
refuses '99999999999G is no size' fork --sizes 99999999999G
refuses '0 is not one or more whole pages' fork --sizes 0
refuses '0M is not one or more whole pages' fork --sizes 4M,0M
refuses '401 is not one or more whole pages' fork --sizes 401
refuses 'an item is missing' fork --sizes 4M,
refuses 'an item is missing' fork --sizes ''
refuses '4096K is there twice' fork --sizes 4M,4096K
refuses 'more than 32 sizes' fork --sizes "$(seq -s, -f '%gM' 1 33)"

# Names and numbers.
refuses 'no 2\.7; choose of .*2\.5\.41-mm2-shared' fork --kernels 2.7
refuses '2\.5\.41 is there twice' fork --kernels 2.5.41,modern,2.5.41
refuses 'no vfork; choose of fork,fork/exit' fork --modes vfork
refuses 'fork is there twice' fork --modes fork,fork
refuses 'no disk; choose of shm, anon, file' fork --memory disk
refuses 'shm is there twice' fork --memory shm,shm
refuses 'no vax; choose' fork --geometry vax
refuses 'no hard; choose host or soft' fork --mmu hard
for rounds in 0 -1 x 1.5 '' 1000001; do
  refuses '--rounds: .* no whole number from 1 to 1000000' fork --rounds="$rounds"
done
refuses '--dirty: 101 is no whole number from 0 to 100' fork --dirty 101
refuses '--seed: x is no' fork --seed x
refuses '--ram: lots is no size' fork --ram lots

# More than there is.
refuses '40M takes RAM of .*: --ram [0-9]+M or more' fork --mmu soft --sizes 40M --ram 8M
refuses '3G does not fit into the address space' fork --mmu soft --geometry i386 --sizes 3G
refuses '8192G does not fit into the address space' fork --sizes 8192G
refuses 'of memory in all, and .* free here' fork --mmu soft --sizes 8192G
refuses 'geometry tiny: .*choose x86-64 or i386' fork --mmu soft --geometry tiny --sizes 16K

# Pictures. Nothing is left beside the file that was asked for.
if command -v gnuplot >/dev/null; then
  refuses 'directory that can be written' fork --plot "$scratch/nowhere/x.svg"
  mkdir "$scratch/directory"
  refuses 'no regular file' fork --plot "$scratch/directory"
  refuses 'no 2\.7' fork --plot "$scratch/x.svg" --kernels 2.7
  refuses 'does not fit' fork --plot "$scratch/x.svg" --mmu soft --geometry i386 --sizes 3G
  for left in "$scratch"/x.svg* "$scratch"/directory?*; do
    [ ! -e "$left" ] || fail "left over: $left"
  done
fi
status=0
env PATH="$scratch/nowhere" "$FORKLAB" fork --plot "$scratch/y.svg" >"$scratch/out" 2>"$scratch/err" ||
  status=$?
[ "$status" -eq 2 ] || fail "--plot without gnuplot: status $status"
grep -q 'needs gnuplot.*install' "$scratch/err" || fail '--plot without gnuplot: no word about it'
[ ! -e "$scratch/y.svg" ] || fail '--plot without gnuplot wrote something'

# Programs for the child to exec.
exec_refuses() { # WORDS FILE
  refuses "$1" fork --mmu soft --exec "$2"
}
exec_refuses 'No such file' "$scratch/nothing"
exec_refuses 'no regular file' "$scratch"
: >"$scratch/empty"
exec_refuses 'ELF' "$scratch/empty"
echo 'echo hello' >"$scratch/script"
exec_refuses 'not an ELF file' "$scratch/script"

# put_number FILE OFFSET NUMBER: eight bytes, the lowest first.
put_number() {
  local bytes='' i
  for i in 0 8 16 24 32 40 48 56; do
    bytes+=$(printf '\\x%02x' $((($3 >> i) & 255)))
  done
  printf '%b' "$bytes" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

if [ -n "$TINY" ]; then
  second=$((64 + 56)) # the second program header: data
  head -c 40 "$TINY" >"$scratch/header"
  exec_refuses 'ELF' "$scratch/header"
  head -c 100 "$TINY" >"$scratch/cut"
  exec_refuses 'no program headers|cut short' "$scratch/cut"
  head -c 4000 "$TINY" >"$scratch/half"
  exec_refuses 'past the end of the file' "$scratch/half"
  cp "$TINY" "$scratch/overlap"
  put_number "$scratch/overlap" $((second + 16)) $((0x400000))
  exec_refuses 'segments overlap' "$scratch/overlap"
  cp "$TINY" "$scratch/beyond"
  put_number "$scratch/beyond" $((second + 32)) $((0x100000))
  put_number "$scratch/beyond" $((second + 40)) $((0x100000))
  exec_refuses 'past the end of the file' "$scratch/beyond"
  cp "$TINY" "$scratch/high"
  put_number "$scratch/high" $((second + 16)) $((0x7ffffffff000))
  exec_refuses 'does not fit into the address space' "$scratch/high"
  cp "$TINY" "$scratch/readonly"
  printf '\x04' | dd of="$scratch/readonly" bs=1 seek=$((second + 4)) conv=notrunc status=none
  exec_refuses 'no segment that may be written' "$scratch/readonly"
  # As it is, it is no mistake.
  accepts fork --mmu soft --exec "$TINY" --sizes 400K --rounds 1 --no-host
fi
finish
