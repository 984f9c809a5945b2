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
grep -q 'in paired rounds, with the interval' "$scratch/out" || fail '--explain compares nothing'

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

accepts lat --quick --rounds 1 --no-host --csv
[ "$(wc -l <"$scratch/out")" -eq 12 ] || fail 'CSV has other lines'
refuses 'rounds 0: it must be a whole number' lat --rounds 0
refuses 'no option --nonsense' lat --nonsense
finish
