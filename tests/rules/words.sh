#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# words.sh [ROOT]: no path of somebody's machine, and no note of work to come without its issue:
# a mark is written with the issue's number, as in TO''DO(#12).
set -euo pipefail
# shellcheck source=tests/support/rules.sh
. "$(dirname "$0")/../support/rules.sh"

# In pieces, so that this file does not match itself.
machine_path='(^|[^[:alnum:]_.}/)-])/(wo''rk|ro''ot|ho''me|Us''ers)(/|$|[^[:alnum:]_/.-])'
mark='\b(TO''DO|FIX''ME|X''XX)\b'
owned='(TO''DO|FIX''ME|X''XX)\(#[0-9]+\)'

report() { # WHAT, matches on standard input
  local what=$1 line
  while IFS= read -r line; do fail "${line%%:*}" "$what: ${line#*:}"; done
}

cd "$root"
mapfile -t files < <(list_files)
[ "${#files[@]}" -gt 0 ] || exit 0

report 'a machine path' < <(grep -IHnE -e "$machine_path" -- "${files[@]}" || true)
report 'a mark without an issue' < <(
  # What is left of a line once the owned marks are gone.
  grep -IHnE -e "$mark" -- "${files[@]}" | sed -E "s/$owned//g" | grep -E ":.*$mark" || true
)
finish
