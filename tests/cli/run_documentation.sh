#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# run_documentation.sh: every example of docs/scenarios.md holds, on every kernel, and on the one
# below; every command works, and every option and statement has its place there.
set -euo pipefail
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

awk -v scratch="$scratch" '
  /^```scenario$/ { count++; inside = 1; next }
  /^```$/ { inside = 0 }
  inside { print >(scratch "/" count ".scn") }' "${FORKLAB_SOURCE_DIR:?}/docs/scenarios.md"

# holds_with OPTION...: of each example.
holds_with() {
  local example status
  for example in "$scratch"/[0-9]*.scn; do
    status=0
    "$FORKLAB" run --quiet "$@" "$example" >"$scratch/out" 2>&1 || status=$?
    [ "$status" -eq 0 ] || [ "$status" -eq 77 ] ||
      fail "$* $(basename "$example"): status $status: $(cat "$scratch/out")"
  done
}

document=$FORKLAB_SOURCE_DIR/docs/scenarios.md

# The commands, without what is said of them.
awk '/^```commands$/ { inside = 1; next }
  /^```$/ { inside = 0 }
  inside { sub(/ +#.*/, ""); print }' "$document" >"$scratch/commands"
cp "$scratch/1.scn" "$scratch/lesson.scn"

# works COMMAND...: as it stands in the document. A step needs a terminal.
works() {
  local status=0
  case " $* " in
    *' --step '*)
      command -v script >/dev/null || return 0
      (cd "$scratch" && printf 'c\n' | script -qec "'$FORKLAB' ${*:2}" /dev/null) \
        >"$scratch/out" 2>&1 || status=$?
      ;;
    *) (cd "$scratch" && "$FORKLAB" "${@:2}" </dev/null) >"$scratch/out" 2>&1 || status=$? ;;
  esac
  [ "$status" -eq 0 ] || { [[ $* == *host* ]] && [ "$status" -eq 77 ]; } ||
    fail "$*: status $status: $(cat "$scratch/out")"
}

[ -s "$scratch/commands" ] || fail 'docs/scenarios.md has no commands'
while read -r -a words; do works "${words[@]}"; done <"$scratch/commands"

accepts run --help
mapfile -t options < <(grep -oE -- '--[a-z][a-z-]*' "$scratch/out" | sort -u)
for option in "${options[@]}"; do
  [ "$option" = --help ] || grep -q -- "^forklab run $option" "$scratch/commands" ||
    fail "docs/scenarios.md has no example of $option"
done
accepts run --grammar
sed -n '/^$/,$p' "$scratch/out" | grep -E '^[a-zA-Z]' | sed 's/|/\\|/g' >"$scratch/forms"
while IFS= read -r form; do
  grep -qF -- "| \`$form\` |" "$document" || fail "docs/scenarios.md lacks the statement $form"
done <"$scratch/forms"

[ -e "$scratch/5.scn" ] || fail 'docs/scenarios.md has no examples'
mapfile -t kernels < <("$FORKLAB" kernels --names)
for kernel in "${kernels[@]}"; do holds_with --kernel "$kernel" --mmu soft; done
holds_with
holds_with --host
finish
