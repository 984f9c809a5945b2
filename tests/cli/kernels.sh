#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# kernels.sh: the policy table, for people and for programs.
set -euo pipefail
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
command -v jq >/dev/null || skip 'jq is not installed'

accepts kernels --json
holds 'the head' '(.schema == "forklab-kernels-1") and (.version | test("^[0-9]+[.]"))
  and (.commit | length > 0) and (.machine | type == "object")'
holds 'every row is complete' '[.kernels[] | keys] | unique == [["absent_entry", "at_fork",
  "find_vma", "free_space", "least_shared_entries", "linux", "merging", "missing", "name", "rmap", "seed",
  "sharing", "vma_index"]]'
holds 'the kernels of the fork experiment' '[.kernels[].name] | contains(["2.5.41", "2.5.41-mm2",
  "2.5.41-mm2-shared", "modern", "modern-shared"])'
holds 'no name twice' '[.kernels[].name] | length == (unique | length)'
holds 'their policies' '[.kernels[] | select(.name == ("2.5.41", "2.5.41-mm2", "2.5.41-mm2-shared",
  "modern", "modern-shared")) | [.name, .at_fork, .sharing, .absent_entry, .seed]] == [
  ["2.5.41", "copy all", "none", "-", "004"],
  ["2.5.41-mm2", "copy all", "able, off", "-", "004"],
  ["2.5.41-mm2-shared", "copy all", "leaf", "fill", "004"],
  ["modern", "refault", "none", "-", "-"],
  ["modern-shared", "refault", "leaf", "split", "-"]]'
holds 'what they follow, and how they merge' '[.kernels[] | select(.name == ("2.5.41", "modern")) |
  [.linux, .merging]] == [["2.5.41", "anonymous"], ["6.18", "family"]]'
jq -r '.kernels[].name' "$scratch/out" >"$scratch/names"

accepts kernels
while IFS= read -r name; do
  grep -qE "^${name//./\\.} " "$scratch/out" || fail "the table lacks $name"
done <"$scratch/names"
grep -q '^kernel .* merging .* free space$' "$scratch/out" &&
  grep -q '^kernel .* sharing .* seed$' "$scratch/out" || fail 'the table has other columns'
! grep -nE '.{101}' "$scratch/out" || fail 'a line is wider than 100 columns'

accepts kernels --names
cmp -s "$scratch/out" "$scratch/names" || fail '--names tells other names'

accepts kernels --help
refuses 'no option --nonsense' kernels --nonsense
finish
