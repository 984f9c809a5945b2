#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# run_errors.sh: whatever is wrong with a scenario ends in one line with its place, and status 2,
# before anything is performed.
set -euo pipefail
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"

# wrong WORDS TEXT: the text (with the escapes of printf) is refused with the words.
wrong() {
  printf '%b' "$2" >"$scratch/wrong.scn"
  refuses "wrong\\.scn:$1" run --mmu soft "$scratch/wrong.scn"
  # No control character reaches the terminal.
  ! LC_ALL=C grep -qP '[\x00-\x09\x0b-\x1f\x7f-\xff]' "$scratch/err" || fail "$2: raw bytes"
}

# Words.
wrong '1:3: expected an operation, found "frok"; did you mean fork\?' 'P frok C\n'
wrong '1:1: expected a task before mmap' 'mmap A 4K rw private anon\n'
wrong '2:1: expected a task, found Q, which does not exist yet' 'P brk 0\nQ brk 0\n'
wrong '3:3: expected a task that is alive, found P, which ended in line 2' \
  '# dead\nP exit 3\n  P brk 0\n'
wrong '1:33: expected a task that is alive, found C, which ended in line 1' \
  'P fork C; C read 0 1 = SIGSEGV; C brk 0\n'
wrong '1:8: expected a region, found A, which no mmap has given' 'P read A 4K\n'
wrong '1:20: expected .*, found "F"' 'P mmap 4K r shared F\n'
wrong '1:7: expected a pin, found K' 'unpin K\n'
wrong '1:15: expected = or the end of the statement' 'P munmap 0 4K extra\n'

# Numbers: too wide, and no numbers.
wrong '1:12: expected a size .* below 2\^64' 'P munmap 0 18446744073709551616\n'
wrong '1:12: expected a size .* below 2\^64' 'P munmap 0 17179869184G\n'
wrong '1:8: expected an address below 2\^64' 'P read 0xffffffffffffffff+1 1\n'
wrong '1:12: expected a size .*, found "4Q"' 'P munmap 0 4Q\n'
wrong '1:8: expected an exit status of at most 255' 'P exit 256\n'

# Answers.
wrong '1:17: expected .*, found "EINVLA"; did you mean EINVAL\?' 'P munmap 0 4K = EINVLA\n'
wrong '1:20: expected "on SELECTOR" before else' 'P munmap 0 4K = ok else EINVAL\n'
wrong '1:23: expected a kernel.*did you mean modern\?' 'P munmap 0 4K = ok on modrn\n'

# Strings, bytes, lines.
wrong '1:11: expected " at the end' 'P write 0 "abc\n'
wrong '1:6: expected text, found the byte \\x00' 'P brk\0000 0\n'
wrong '1:7: expected text, found the byte \\x1b' 'P brk \0033[31m0\n'
wrong '1:8: expected .*found "\\xe9"' 'P brk 0\0351\n'
head -c 1000000 /dev/zero | tr '\0' a >"$scratch/long.scn"
refuses 'long\.scn:1:65537: expected the end of the line' run "$scratch/long.scn"
head -c 100000 "$FORKLAB" >"$scratch/binary.scn"
refuses 'binary\.scn:1:1: expected text' run "$scratch/binary.scn"

# Files.
refuses 'No such file' run "$scratch/nothing.scn"
refuses 'Is a directory' run "$scratch"
refuses 'FILE' run

# What is odd and no mistake.
right() {
  printf '%b' "$1" >"$scratch/right.scn"
  accepts run --mmu soft "$scratch/right.scn"
}
right 'P brk 0\r\n\r\nP exit'
right ''
right '# nothing; at all'
right 'P munmap 1 0 = EINVAL; P munmap 0xfffffffffffff000 0xffffffffffffffff = EINVAL\n'
right 'P mmap 0xffffffffffffffff rw private anon = ENOMEM\n'
right 'P mmap 4096G rw shared anon = ENOMEM; shm S 4096G = ENOMEM; file F 4096G = EFBIG\n'
finish
