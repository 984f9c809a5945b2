# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What the scripts in tests/cli share. Sourced; FORKLAB and TINY come from CTest.

: "${FORKLAB:?the program to test}"
: "${TINY:=}"
failures=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# fail WHAT: one thing that is not as it should be.
fail() {
  printf 'FAIL: %s\n' "$*" >&2
  failures=$((failures + 1))
}

# skip WHY
skip() {
  printf 'skipped: %s\n' "$1"
  exit 77
}

# To be called last.
finish() {
  [ "$failures" -eq 0 ] || exit 1
}

# refuses WORDS ARGUMENT...: status 2, nothing on standard output, and one line on standard error
# that has the words (a regular expression) in it and is not cut short.
refuses() {
  local words=$1 status=0
  shift
  "$FORKLAB" "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
  [ "$status" -eq 2 ] || fail "forklab $*: status $status, not 2: $(cat "$scratch/err")"
  [ ! -s "$scratch/out" ] || fail "forklab $*: something on standard output"
  [ "$(wc -l <"$scratch/err")" -eq 1 ] || fail "forklab $*: not one line: $(cat "$scratch/err")"
  grep -qE -- "$words" "$scratch/err" || fail "forklab $*: no \"$words\" in: $(cat "$scratch/err")"
}

# accepts ARGUMENT...: status 0 and nothing on standard error; the output is in $scratch/out.
accepts() {
  local status=0
  "$FORKLAB" "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
  [ "$status" -eq 0 ] || fail "forklab $*: status $status: $(cat "$scratch/err")"
  [ ! -s "$scratch/err" ] || fail "forklab $*: on standard error: $(cat "$scratch/err")"
  [ -s "$scratch/out" ] || fail "forklab $*: no output"
}

# holds WHAT FILTER [JQ ARGUMENT...]: the filter is true of the JSON in $scratch/out.
holds() {
  local what=$1 filter=$2
  shift 2
  jq -e "$@" "$filter" "$scratch/out" >"$scratch/jq" 2>&1 ||
    fail "$what: $(head -c 400 "$scratch/jq")"
}
