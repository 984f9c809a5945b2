#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# lat.sh: what `forklab lat` gives out, and what find_vma's caches answer. No time is judged.
set -euo pipefail
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
command -v jq >/dev/null || skip 'jq is not installed'
[ -n "$TINY" ] || skip 'there is no forklab-tiny on this architecture'

accepts lat --quick --rounds 2 --explain
for test in 'Protection fault' 'Process fork+exit' 'Process fork+execve' \
  'Process fork+/bin/sh -c' 'Pagefaults on a file'; do
  grep -qF "$test: " "$scratch/out" || fail "no line for $test"
done
grep -q '^"mappings$' "$scratch/out" || fail 'no mappings'
grep -qE '^0\.524288 [0-9.]+ / [0-9.]+ / [0-9.]+$' "$scratch/out" || fail 'no line for 0.5M'
grep -q 'in paired rounds of fresh machines, with the interval' "$scratch/out" ||
  fail '--explain compares nothing'
grep -qE '^[0-9]+ of 11 intervals leave 1 out' "$scratch/out" || fail 'no count of intervals'
# The post's own ratios: 0.4338/0.4292, 66/43, 161/151.
grep -qE '^Protection fault .* 1\.011  (within ours|not seen here)$' "$scratch/out" ||
  fail "not the post's protection fault"
grep -qE '^4\.194304 .* 1\.535  ' "$scratch/out" || fail "not the post's mapping of 4M"
grep -qE '^16\.777216 .* 1\.066  ' "$scratch/out" || fail "not the post's mapping of 16M"

accepts lat --quick --rounds 2 --no-host --kernels 2.6.28,2.6.28-find_vma,4.x,modern --json
holds 'the head' '.schema == "forklab-lat-1" and .experiment == "lat" and .rounds == 2'
holds 'the tests' '[.tests[].test] == ["Protection fault", "Process fork+exit",
  "Process fork+execve", "Process fork+/bin/sh -c", "Pagefaults on a file", "0.524288", "1.048576",
  "2.097152", "4.194304", "8.388608", "16.777216"]'
holds 'the caches' '[.caches[] | [.kernel, .find_vma]] == [["2.6.28", "last"],
  ["2.6.28-find_vma", "neighbours"], ["4.x", "slots"], ["modern", "none"]]'
holds 'the same lookups with and without neighbours' '.caches[0]["vma-lookups"]
  == .caches[1]["vma-lookups"] and .caches[0]["vma-lookups"] > 0'
holds 'neighbours answer more, and nothing less' '.caches[1]["lookup-neighbour-hits"] > 0
  and .caches[0]["lookup-neighbour-hits"] == 0
  and .caches[1].answered_percent > .caches[0].answered_percent
  and .caches[1].answered_percent < 100'
holds 'slots are another kind' '.caches[2]["lookup-slot-hits"] > 0
  and .caches[2]["lookup-last-hits"] == 0'
holds 'no cache, no hits' '.caches[3].answered_percent == 0'

holds 'each test of each kernel, with its spread' '(.series | length) == 11 * 4 and
  ([.series[] | select(.minimum_us > 0 and .minimum_us <= .median_us and .median_us <= .p90_us)]
  | length) == 44'
holds 'hits by kind add up' '(.tests[] | select(.test == "Process fork+/bin/sh -c")) as $test |
  [.series[] | select(.test == $test.test)] as $series |
  $series[1]["lookup-last-hits"] + $series[1]["lookup-neighbour-hits"] == $test.hits_of_second and
  $series[1]["lookup-neighbour-hits"] > 0 and $series[1]["index-steps"] < $series[0]["index-steps"]'
# Map, unmap, and a lookup for each of 128 pages; since 3.15 a fault maps sixteen.
holds 'a lookup for each fault' '[.series[] | select(.test == "Pagefaults on a file")
  | .["vma-lookups"]] == [130, 130, 10, 10]'

# As many kernels as there may be: none is left out.
many=$("$FORKLAB" kernels --names | head -n 12 | paste -sd,)
accepts lat --quick --rounds 1 --kernels "$many" --json
holds 'a time of each kernel and of the host' '(.caches | length) == 12 and
  ([.caches[].kernel] + ["host"]) as $names | all(.tests[]; [.[$names[]]] | all(. > 0))'

# A kernel against itself does the same work twice.
accepts lat --quick --rounds 2 --no-host --control --json
holds 'two names' '[.caches[].kernel] == ["2.6.28", "2.6.28 again"]'
holds 'the same counts' '.caches[0]["vma-lookups"] == .caches[1]["vma-lookups"] and
  all(.tests[]; .hits_of_first == .hits_of_second and .index_steps_of_first == .index_steps_of_second)'
accepts lat --quick --rounds 2 --no-host --control --explain --kernels modern,4.x
grep -q '^modern again over modern, ' "$scratch/out" || fail '--control takes another kernel'
! grep -q "the post's is" "$scratch/out" || fail "--control judges the post"

accepts lat --quick --rounds 1 --no-host --csv
[ "$(wc -l <"$scratch/out")" -eq 12 ] || fail 'CSV has other lines'
refuses 'rounds 0: it must be a whole number' lat --rounds 0
refuses 'no option --nonsense' lat --nonsense
finish
