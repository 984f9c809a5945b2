#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# docs.sh [ROOT]: what the documents say of the sources is so.
#   - relative links lead to files that exist
#   - docs/faults.md names every step of a fault that pt/event.def has
#   - a code block below a line <!-- function NAME of FILE --> is that function, to the letter
#   - every trap that docs/traps.md gives a test function has that function in tests/
set -euo pipefail
# shellcheck source=tests/support/rules.sh
. "$(dirname "$0")/../support/rules.sh"

cd "$root"
mapfile -t documents < <(list_files | grep -E '\.md$' || true)
[ "${#documents[@]}" -gt 0 ] || exit 0

for document in "${documents[@]}"; do
  while IFS= read -r link; do
    target=${link%%#*}
    [ -z "$target" ] || [ -e "$(dirname "$document")/$target" ] ||
      fail "$document" "the link $link leads nowhere"
  done < <(grep -oE '\]\([^)]+\)' "$document" | sed -E 's/^\]\((.*)\)$/\1/' | grep -vE '^[a-z]+:' || true)
done

# The text of a function as it stands in its file: from the line that ends in its name to the brace.
function_text() { # NAME FILE
  awk -v name="$1" '
    !inside && $0 ~ "(^|[ *])" name "\\(" && !/;$/ && /^[a-z]/ { inside = 1 }
    inside { print }
    inside && /^}/ { exit }' "$2"
}

# The code block that follows the marker.
block_text() { # NAME FILE DOCUMENT
  awk -v marker="<!-- function $1 of $2 -->" '
    $0 == marker { found = 1; next }
    found && /^```/ { if (inside) exit; inside = 1; next }
    inside { print }' "$3"
}

for document in "${documents[@]}"; do
  while read -r name file; do
    if [ ! -e "$file" ]; then
      fail "$document" "shows $name of $file, which is not there"
    elif [ "$(function_text "$name" "$file")" != "$(block_text "$name" "$file" "$document")" ]; then
      fail "$document" "shows another $name than $file has"
    fi
  done < <(sed -nE 's/^<!-- function ([a-z_0-9]+) of ([^ ]+) -->$/\1 \2/p' "$document")
done

if [ -e pt/event.def ] && [ -e docs/faults.md ]; then
  while IFS= read -r step; do
    [ "$step" = swap-in ] || grep -qF "\`$step\`" docs/faults.md ||
      fail docs/faults.md "does not name the step $step"
  done < <(sed -n '/^EVENT(TABLE_SPLIT/,/^EVENT(BAD_OOM/p' pt/event.def | sed -nE 's/^EVENT\([A-Z_]+, "([a-z-]+)".*/\1/p')
fi

if [ -e docs/traps.md ]; then
  while IFS= read -r test; do
    grep -rqE "\b$test\b" tests --include='*.c' || fail docs/traps.md "no test is called $test"
  done < <(grep -oE '`p[0-9]+[a-z]?_[a-z0-9_]+`' docs/traps.md | tr -d '`' | sort -u)
fi
finish
