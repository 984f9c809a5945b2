# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What the scripts in tests/rules share. Sourced; sets root and failures.

# The tree to judge: the script's first argument, or the one it lies in.
root=$(cd "${1:-$(dirname "${BASH_SOURCE[0]}")/../..}" && pwd)
failures=0

# fail WHERE WHAT: one broken rule.
fail() {
  printf '%s: %s\n' "$1" "$2" >&2
  failures=$((failures + 1))
}

# To be called last.
finish() {
  if [ "$failures" -ne 0 ]; then
    printf '%s: %d broken\n' "$(basename "$0")" "$failures" >&2
    exit 1
  fi
}

# skip WHY
skip() {
  printf 'skipped: %s\n' "$1"
  exit 77
}

# is_version PROGRAM VERSION: the tools of the reference system, Debian 12, are the judges.
is_version() {
  [[ "$("$1" --version)" =~ (version|Cppcheck)\ ${2//./\\.}(\.|$'\n'|$) ]]
}

# The files of the tree, one a line, relative to it: tracked or not, but nothing ignored. In a tree
# that is no repository, all but build/.
list_files() {
  if [ -e "$root/.git" ]; then
    git -c safe.directory='*' -C "$root" ls-files -co --exclude-standard
  else
    (cd "$root" && find . -path ./build -prune -o -type f -print | sed 's|^\./||')
  fi | LC_ALL=C sort -u | while IFS= read -r file; do
    # A deleted file stays in git's list until it is staged.
    if [ -f "$root/$file" ]; then printf '%s\n' "$file"; fi
  done
}

# list_sources: what the rules for source text speak of.
list_sources() {
  list_files | grep -E '\.(c|h|def|sh|cmake)$|(^|/)CMakeLists\.txt$|^(demo|tests|\.ci)/run$' || true
}

list_c() {
  list_files | grep -E '\.[ch]$' || true
}
