#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# fork.sh: what `forklab fork` gives out, in complete states. No time is judged, only counted.
# shellcheck disable=SC2016 # the dollars in single quotes are jq's
set -euo pipefail
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
command -v jq >/dev/null || skip 'jq is not installed'
[ -n "$TINY" ] || skip 'there is no forklab-tiny on this architecture'

kernels='["2.5.41", "2.5.41-mm2", "2.5.41-mm2-shared", "modern", "modern-shared"]'
modes='["fork", "fork/exit", "fork/exec/exit"]'

# complete GEOMETRY MMU MEMORIES SIZES COLUMNS: every row is there once, with every field.
complete() {
  holds "$1, $2: the head" '(.schema == "forklab-fork-1") and (.experiment == "fork")
    and .geometry == $geometry and .mmu == $mmu and .rounds == 2 and (.commit | length > 0)
    and (.version | test("^[0-9]+[.]")) and (.machine | type == "object")' \
    --arg geometry "$1" --arg mmu "$2"
  holds "$1, $2: all rows are there, once" '([.rows[] | [.memory, .mode, .size_bytes, .kernel]] | sort)
    == ([[$memories, $modes, $sizes, $columns] | combinations] | sort)' \
    --argjson memories "$3" --argjson modes "$modes" --argjson sizes "$4" --argjson columns "$5"
  holds "$1, $2: each has all fields" '[.rows[] | keys] | unique == [["counters", "host_calls",
    "host_us", "kernel", "kernel_us", "median_us", "memory", "min_us", "mode", "p90_us", "phases",
    "samples", "size_bytes", "table_frames", "user_us"]]'
  holds "$1, $2: all counters, the same in each" '([.rows[].counters | keys] | unique | length == 1)
    and (.rows[0].counters | length > 30) and ([.rows[].counters[] | numbers] | length > 0)'
  holds "$1, $2: times are in order" '[.rows[] | select((.min_us <= .median_us
    and .median_us <= .p90_us and .min_us >= 0 and .kernel_us >= 0 and .user_us >= 0
    and .host_us >= 0) | not)] == []'
  consistent "$1, $2"
}

# What one round of an emulated kernel counts agrees with itself.
consistent() {
  local emulated='select(.kernel | IN("floor", "host") | not)'
  holds "$1: one fork, one exit, one exec, where the mode has them" "[.rows[] | $emulated | .mode as \$mode
    | select([.counters.fork, .counters.exit, .counters.exec] != (if \$mode == \"fork\" then [1, 0, 0]
      elif \$mode == \"fork/exit\" then [1, 1, 0] else [1, 1, 1] end))] == []"
  holds "$1: host calls are the host's calls" "[.rows[] | $emulated
    | select(.host_calls != .counters[\"host-mprotect\"] + .counters[\"host-mmap\"])] == []"
  holds "$1: a whole life gives back what it took" "[.rows[] | $emulated | select(.mode != \"fork\")
    | .counters | select(.[\"tables-taken\"] != .[\"tables-freed\"] or .[\"rmap-added\"] != .[\"rmap-removed\"]
      or .[\"pages-installed\"] != .[\"pages-revoked\"])] == []"
  holds "$1: chains hold an element for each entry that fork copies" "[.rows[] | select(.mode == \"fork\")
    | select(.kernel | startswith(\"2.5.41\")) | .counters
    | select(.[\"rmap-added\"] != .[\"entries-copied\"])] == []"
  holds "$1: those that copy have an entry for each page" "[.rows[] | select(.mode == \"fork\")
    | select(.kernel | IN(\"2.5.41\", \"2.5.41-mm2\"))
    | select(.counters[\"entries-copied\"] < .size_bytes / 4096 or .counters[\"tables-shared\"] != 0)] == []"
  holds "$1: the one that shares copies next to nothing" "[.rows[] | select(.mode == \"fork\")
    | select(.kernel == \"2.5.41-mm2-shared\")
    | select(.counters[\"entries-copied\"] > 15 or .counters[\"tables-shared\"] == 0)] == []"
  holds "$1: able, off counts what 2.5.41 counts" '[.rows[] | select(.kernel == "2.5.41")
    | [.memory, .mode, .size_bytes, .table_frames, .counters]] == [.rows[] | select(.kernel == "2.5.41-mm2")
    | [.memory, .mode, .size_bytes, .table_frames, .counters]]'
}

# own_tables MOST: the child's own, at 40M, after it has written its stack and its data.
own_tables() {
  holds "at most $1 table frames of a sharing child's own" '[.rows[]
    | select(.mode == "fork/exit" and .size_bytes == 41943040)
    | select(.kernel | IN("2.5.41-mm2-shared", "modern-shared")) | .table_frames]
    | length > 0 and all(. > 0 and . <= $most)' --argjson most "$1"
}

all_columns=$(jq -cn "$kernels + [\"floor\", \"host\"]")
emulated=$(jq -cn "$kernels")

# Everything, as by default but for the rounds.
accepts fork --rounds 2 --memory shm,anon,file --json
complete x86-64 host '["shm", "anon", "file"]' '[409600, 4194304, 41943040]' "$all_columns"
own_tables 6
holds 'columns are compared' '[.comparisons[] | select(.numerator == "2.5.41-mm2"
  and .denominator == "2.5.41-mm2-shared")] | length == 27'

accepts fork --rounds 2 --memory shm,anon --sizes 4M,40M --geometry i386 --no-host --no-floor --json
complete i386 host '["shm", "anon"]' '[4194304, 41943040]' "$emulated"
own_tables 4

# The soft MMU has the whole space: the stack's upper tables are far from the others.
for geometry in x86-64 i386; do
  accepts fork --rounds 2 --mmu soft --sizes 400K,40M --geometry "$geometry" --no-host --json
  complete "$geometry" soft '["shm", "anon"]' '[409600, 41943040]' "$emulated"
  if [ "$geometry" = i386 ]; then own_tables 4; else own_tables 7; fi
  holds 'no host call' '[.rows[] | select(.host_calls != 0)] == []'
done

# The order of lists, and one row alone.
accepts fork --rounds 2 --memory anon,shm --sizes 4M,400K --modes fork/exit,fork --mmu soft \
  --kernels modern-shared,2.5.41 --no-host --json
holds 'rows stand in the order asked for' '[.rows[] | [.memory, .mode, .size_bytes, .kernel]]
  == [[["anon", "shm"], ["fork/exit", "fork"], [4194304, 409600], ["modern-shared", "2.5.41"]]
  | combinations]'

# Parents that write between forks, and worn machines.
accepts fork --rounds 2 --dirty 50 --memory shm,anon,file --sizes 400K --no-host --no-floor --json
holds 'dirty: all rows' '.dirty_percent == 50 and (.rows | length == 45)'
consistent 'dirty'
accepts fork --rounds 2 --aged --sizes 4M --no-host --no-floor --json
holds 'aged: all rows' '.aged and (.rows | length == 30)'
consistent 'aged'

# Phases.
accepts fork --rounds 1 --sizes 400K --memory shm --explain --no-host --no-floor --json
holds 'phases' '[.rows[] | select(.kernel == "modern") | [.mode, [.phases[].phase]]] == [["fork", ["fork"]],
  ["fork/exit", ["fork", "writes", "exit", "wait"]],
  ["fork/exec/exit", ["fork", "writes", "exec", "program", "exit", "wait"]]]'

# CSV: the same rows, every line with every field.
accepts fork --rounds 1 --sizes 400K --mmu soft --no-host --csv
[ "$(wc -l <"$scratch/out")" -eq 31 ] || fail "CSV: $(wc -l <"$scratch/out") lines, not 31"
[ "$(awk -F, '{ print NF }' "$scratch/out" | sort -u)" = 13 ] || fail 'CSV: not 13 fields everywhere'
head -1 "$scratch/out" | grep -q '^memory,mode,size_bytes,kernel,samples,median_us,' || fail 'CSV: its heading'

# Text: readable on 100 columns.
accepts fork --rounds 2 --quick --sizes 400K,40M --explain
! grep -nE '.{101}' "$scratch/out" || fail 'a line is wider than 100 columns'
for words in 'shared memory object' 'private anonymous memory' '^fork/exec/exit$' '^40M ' \
  'post +here +paired' 'To bear in mind' 'By phase' '  entries-copied' 'exec is not slower' "child's own tables"; do
  grep -qE -- "$words" "$scratch/out" || fail "text: no \"$words\""
done

# A picture, and nothing beside it.
if command -v gnuplot >/dev/null; then
  mkdir "$scratch/pictures"
  accepts fork --rounds 1 --mmu soft --no-host --plot "$scratch/pictures/fork.svg"
  [ "$(ls "$scratch/pictures")" = fork.svg ] || fail "pictures: $(ls "$scratch/pictures")"
  grep -q '<svg' "$scratch/pictures/fork.svg" || fail 'the picture is no SVG'
fi
finish
