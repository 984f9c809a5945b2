#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# run.sh: forklab run: its exit statuses, its reports, its options, on kernels, MMUs and the host.
set -euo pipefail
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

# ends_with STATUS WORDS ARGUMENT...: that exit status, and the words (a regular expression) on
# standard error, or nothing there when they are empty.
ends_with() {
  local expected=$1 words=$2 status=0
  shift 2
  "$FORKLAB" run "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
  [ "$status" -eq "$expected" ] ||
    fail "run $*: status $status, not $expected: $(cat "$scratch/err")"
  if [ -n "$words" ]; then
    grep -qE -- "$words" "$scratch/err" || fail "run $*: no \"$words\" in: $(cat "$scratch/err")"
  elif [ -s "$scratch/err" ]; then
    fail "run $*: on standard error: $(cat "$scratch/err")"
  fi
}

# says WORDS: they are in what the last command printed.
says() {
  grep -qE -- "$1" "$scratch/out" || fail "no \"$1\" in: $(cat "$scratch/out")"
}

good=$scratch/good.scn
cat >"$good" <<'SCENARIO'
P mmap A 64K rw private anon at=0x400000 fixed
P poke A 64K 1
P fork C
C write A "HELLO"
P read A 1 = hex:01
C write A+64K "x" = SIGSEGV maperr at A+64K
P wait C = signal SIGSEGV
show maps P
expect rss P A 64K = 64K
expect faults cow-copy = 1
SCENARIO
bad=$scratch/bad.scn
printf 'P mmap A 4K rw private anon\nP write A "hello"\n  P read A 5 = "HELLO"\n' >"$bad"

# Exit statuses.
for kernel in $("$FORKLAB" kernels --names); do
  for mmu in host soft; do
    ends_with 0 '' --kernel "$kernel" --mmu "$mmu" "$good"
    says "every expectation held; 8 operations \\($kernel, $mmu MMU, x86-64\\)"
    ends_with 1 "^$bad:3:3: expected \"HELLO\", came \"hello\"\$" --kernel "$kernel" --mmu "$mmu" \
      "$bad"
  done
done
ends_with 0 '' --geometry i386 --ram 4M --seed 7 "$good"
says '^00400000-00410000 rw-p 00000000 00:00 0 $'
# Linux refuses a mapping when there are more than the limit already: the stack is one of them.
limit=$'P mmap A 4K rw private anon\nP mmap B 4K r private anon\nP mmap C 4K rwx private anon
P mmap D 4K none private anon\nP mmap E 4K rw private anon = ENOMEM\nshow faults\n'
ends_with 0 '' --max-maps 4 - <<<"$limit"
says '^merge-refused-protection +3  not merged: other rights$'
ends_with 1 'expected ENOMEM, came 0x' --max-maps 5 - <<<"$limit"
# A first read takes a frame only where there is no zero page.
reads=$'P mmap A 4K rw private anon\nP read A 1 = hex:00\nexpect frames ='
ends_with 0 '' - <<<"$reads 0"
ends_with 0 '' --no-zero-page - <<<"$reads 1"
ends_with 77 'skipped: .*zero-page' --no-zero-page - <<<"needs zero-page
$reads 0"
ends_with 2 '--host runs on the real kernel' --host --no-zero-page "$good"
printf 'P frok C\n' >"$scratch/wrong.scn"
ends_with 2 "$scratch/wrong.scn:1:3: " "$scratch/wrong.scn"
ends_with 1 'expected exit 0, but P would wait for ever' - <<<'P fork C; P wait C = exit 0'
printf 'needs swap\nP exit\n' >"$scratch/skipped.scn"
ends_with 77 'skipped: .*:1:1: it needs swap' "$scratch/skipped.scn"
ends_with 77 'skipped: .* the geometry tiny' - <<<'needs geometry tiny; P exit'
ends_with 0 '' --geometry tiny - <<<'needs geometry tiny; P exit'

# On the kernel below, where it lets us.
status=0
"$FORKLAB" run --host --quiet - <<<'P exit' >/dev/null 2>&1 || status=$?
if [ "$status" -eq 0 ]; then
  ends_with 0 '' --host "$good"
  says 'the real kernel, Linux '
  says '^1 expectation was left out'
  ends_with 1 "^$bad:3:3: expected \"HELLO\", came \"hello\"\$" --host --quiet "$bad"
  ends_with 77 'needs emulated|emulated' --host - <<<'needs emulated; P exit'
fi

# What is printed.
ends_with 0 '' --quiet "$good"
[ ! -s "$scratch/out" ] || fail "--quiet says something: $(cat "$scratch/out")"
ends_with 0 '' --trace "$good"
says '^ +4  C write A "HELLO"$'
says '^ +table-split +0x400000'
says '^ +cow-copy +0x400000 frame [0-9]+$'
says '^ +-> SIGSEGV maperr at 0x410000$'
ends_with 0 '' --mmu soft - <<<'P mmap A 4K rw private anon; P write A "x"; show diff'
says '^# show diff$'
says '-> anon pfn [0-9]+ rwu A D excl$'
# A step names the frame that came, and the picture shows it there.
ends_with 0 '' --mmu soft --trace - <<<'P mmap A 4K rw private anon; P write A "x"; show diff; P fork C'
frame=$(sed -nE 's/^ +zero-fill +0x[0-9a-f]+ frame ([0-9]+)$/\1/p' "$scratch/out")
says "none -> anon pfn ${frame:-of-no-zero-fill} "
says '^ +fork$'

ends_with 0 '' --json "$good"
holds 'JSON of a good run' '[.schema, .end, .done, .lost, (.operations | length), .failures,
  (.operations[4] | .line, .statement, .outcome, .faults, [.steps[].step])] ==
  ["forklab-run-1", "held", 8, "", 8, [],
  4, "C write A \"HELLO\"", "ok faults 1", 1, ["table-split", "cow-copy"]]'
holds 'what was shown' '.shown | startswith("00400000-00410000 rw-p")'
holds 'who and where' '(.version | type) == "string" and (.commit | type) == "string" and
  (.machine | type) == "object"'
ends_with 1 '' --json "$bad"
holds 'JSON of a bad run' '[.end, .failures[0].line, .failures[0].column, (.failures | length)] ==
  ["failed", 3, 3, 1] and (.failures[0].what | endswith("expected \"HELLO\", came \"hello\""))'

odd=$scratch/$'odd\xff.scn'
cp "$bad" "$odd"
ends_with 1 '' --json "$odd"
holds 'a path that is no text' '[.path, .failures[0].what | contains("odd?.scn")] | all'

accepts run --grammar
says '^TASK mremap \[NAME\] ADDRESS OLD NEW'
says '^show maps\|smaps\|tables TASK'
accepts run --help

# A step at a time.
ends_with 2 'needs a terminal' --step "$good" </dev/null
ends_with 2 'needs a terminal' --step -
if command -v script >/dev/null && script -qec true /dev/null </dev/null >/dev/null 2>&1; then
  printf '\n\nc\n' | script -qec "'$FORKLAB' run --mmu soft --step '$good'" /dev/null \
    >"$scratch/out" 2>&1 || fail '--step ends badly'
  says 'Enter: do it'
  says 'VMAs'
  says 'every expectation held'
  printf 'q\n' | script -qec "'$FORKLAB' run --mmu soft --step '$good'" /dev/null \
    >"$scratch/out" 2>&1 || fail '--step does not end by q'
  ! grep -q -- '->' "$scratch/out" || fail 'q does something before it ends'
  says 'stopped; so far every expectation held; 0 operations'
fi

# Memory that ends in the middle of a file makes no file, not a part of one.
printf 'file F 4K fill 1 8M = ENOMEM\nfile F 4K\nfread F 0 1\n' >"$scratch/little.scn"
accepts run --ram 1M --mmu soft "$scratch/little.scn"

# What is wrong with the words.
refuses 'which scenario.*FILE' run
refuses 'one file too many' run "$good" "$bad"
refuses 'nowhere: No such file' run "$scratch/nowhere"
refuses 'Is a directory|cannot be read|input/output|Input/output' run "$scratch"
refuses 'no such kernel; it is one of .*modern-shared' run --kernel 2.7 "$good"
refuses '--mmu hard: it must be host or soft' run --mmu hard "$good"
refuses '--geometry vax: it must be' run --geometry vax "$good"
for ram in 0 lots 4K 2048G; do
  refuses "--ram $ram: it must be a size from 256K to 1024G" run --ram "$ram" "$good"
done
refuses '--max-maps 3: it must be a whole number from 4' run --max-maps 3 "$good"
refuses '--seed x: it must be a whole number' run --seed x "$good"
refuses 'exclude each other' run --quiet --json "$good"
refuses 'are for emulated ones' run --host --kernel modern "$good"
refuses 'no option --nonsense' run --nonsense "$good"
finish
