#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# tree.sh: what `forklab tree` gives out. No time is judged, only counted.
set -euo pipefail
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
command -v jq >/dev/null || skip 'jq is not installed'

quick=(tree --rounds 3 --maps 2000 --kernels '2.4.9,2.4.9-mmap-rb-4,4.x,modern')

# The post's layout: so many lines for each column, and the table below.
accepts "${quick[@]}" --explain
[ "$(grep -cE '^fork latency due tree rebuild [0-9]+ cpu cycles$' "$scratch/out")" -eq 15 ] ||
  fail 'three lines for each of four kernels and the host'
for name in 2.4.9 2.4.9-mmap-rb-4 4.x modern host; do
  grep -qE "^${name//./\\.} +[0-9]+ " "$scratch/out" || fail "no row for $name"
done
grep -q 'list+avl: 2001 VMAs copied, [0-9.]* steps in the index for each$' "$scratch/out" ||
  fail '--explain does not count the steps'

accepts "${quick[@]}" --json
holds 'the head' '.schema == "forklab-tree-1" and .experiment == "tree" and .rounds == 3
  and (.machine | type == "object") and (.commit | length > 0)'
holds 'a row for each column, in order' '[.forks[].kernel] ==
  ["2.4.9", "2.4.9-mmap-rb-4", "4.x", "modern", "host"]'
holds 'every map is copied, and the stack' '[.forks[] | select(.kernel != "host") | .vmas_copied]
  == [2001, 2001, 2001, 2001]'
# The tree has eleven levels at most; the others look nothing up.
holds 'only 2.4.9 descends' '[.forks[] | select(.kernel != "host") | .index_steps] |
  .[0] > 2001 and .[0] < 2001 * 16 and .[1:] == [0, 0, 0]'
holds 'the first is what the others are compared with' '.forks[0].times_faster == 1'

accepts "${quick[@]}" --no-host --variant merging --json
holds 'what merges is one' '[.forks[].vmas_copied] == [2, 2, 2, 2]'
accepts "${quick[@]}" --no-host --variant down --json
holds 'the order of mapping does not matter' '[.forks[].vmas_copied] == [2001, 2001, 2001, 2001]'
accepts "${quick[@]}" --no-host --variant chosen --json
holds 'what the kernel places merges' '[.forks[].vmas_copied] == [2, 2, 2, 2]'

accepts "${quick[@]}" --csv --no-host
[ "$(wc -l <"$scratch/out")" -eq 5 ] || fail 'CSV has other lines'
[ "$(awk -F, '{print NF}' "$scratch/out" | sort -u)" = 12 ] || fail 'CSV has other columns'

accepts tree --sweep --quick --rounds 1 --no-host --kernels modern --json
holds 'a sweep' '[.sweep[].maps] == [1000, 3000, 10000, 30000, 60000]
  and ([.sweep[].modern | numbers] | length == 5)'

accepts tree --find --quick --rounds 2 --kernels 2.4.9,4.x,modern --json
holds 'lookups' '[.lookups[] | [.maps, .kernel]] == [[1000, "2.4.9"], [1000, "4.x"],
  [1000, "modern"], [55000, "2.4.9"], [55000, "4.x"], [55000, "modern"]]'
holds 'a B-tree is a few levels deep' '[.lookups[] | select(.kernel == "modern") | .find_steps]
  | .[0] <= 3 and .[1] <= 5'
holds 'only what knows gaps finds space without going through all' '[.lookups[]
  | select(.maps == 55000) | .space_steps] | .[0] > 20000 and .[1] < 100 and .[2] < 50'

if command -v gnuplot >/dev/null; then
  accepts "${quick[@]}" --no-host --plot "$scratch/tree.svg"
  grep -q '</svg>' "$scratch/tree.svg" || fail '--plot drew no picture'
fi

refuses 'maps 0: it must be a whole number' tree --maps 0
refuses 'variant sideways: it must be up, down, merging or chosen' tree --variant sideways
refuses 'kernels 2.2: there is no such kernel' tree --kernels 2.2
refuses 'kernels modern: it is named twice' tree --kernels modern,modern
refuses 'exclude each other' tree --json --csv
refuses 'no option --nonsense' tree --nonsense
finish
