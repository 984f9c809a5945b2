#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# includes.sh [ROOT]: who may include what, SPDX lines, and how long a file may be.
#
#   pt/     pt/ and libc                 pager/  pt/, pager/, libc and libelf
#   scenario/  pt/, pager/, scenario/, any
#   demo/   pt/, pager/, scenario/, demo/, any      tests/  all of them, any
#   Only host_*.c, wherever it lies, includes the headers of host memory and signals.
set -euo pipefail
# shellcheck source=tests/support/rules.sh
. "$(dirname "$0")/../support/rules.sh"

max_lines=500
host_headers=' sys/mman.h signal.h sys/signal.h sigsegv.h sys/ucontext.h ucontext.h '
libelf_headers=' libelf.h gelf.h elf.h '

# ISO C, then what glibc, the kernel's interface and the compiler add. Extend it when it lacks one.
libc_headers=' assert.h complex.h ctype.h errno.h fenv.h float.h inttypes.h iso646.h limits.h
 locale.h math.h setjmp.h stdalign.h stdarg.h stdatomic.h stdbool.h stddef.h stdint.h stdio.h
 stdlib.h stdnoreturn.h string.h tgmath.h threads.h time.h uchar.h wchar.h wctype.h
 argp.h argz.h byteswap.h cpuid.h dirent.h dlfcn.h elf.h endian.h err.h error.h execinfo.h
 fcntl.h fnmatch.h ftw.h getopt.h glob.h langinfo.h libgen.h link.h malloc.h poll.h pthread.h
 regex.h sched.h search.h semaphore.h spawn.h stdio_ext.h strings.h sysexits.h termios.h unistd.h
 x86intrin.h immintrin.h '
libc_headers=${libc_headers//$'\n'/ }

has() { # LIST WORD
  [[ "$1" == *" $2 "* ]]
}

is_libc() {
  has "$libc_headers" "$1" || [[ "$1" =~ ^(sys|linux|asm|bits)/ ]]
}

# The directories that a file of a directory may include from.
declare -A below=([pt]=' pt ' [pager]=' pt pager ' [scenario]=' pt pager scenario '
  [demo]=' pt pager scenario demo ' [tests]=' pt pager scenario demo tests ')

check_quoted() { # WHERE PART FILE INCLUDED
  local where=$1 part=$2 file=$3 included=$4 target
  case $included in
    version.h)
      [ "$part" != pt ] || fail "$where" "pt/ includes version.h, which belongs to no part of pt/"
      return
      ;;
    *../* | /*)
      fail "$where" "\"$included\": includes start at the root of the sources"
      return
      ;;
    */*) target=${included%%/*} ;;
    *)
      [ -f "$root/${file%/*}/$included" ] ||
        fail "$where" "\"$included\" is no file beside this one; write its directory too"
      return
      ;;
  esac
  case $target in
    pt | pager | scenario | demo | tests)
      has "${below[$part]}" "$target" || fail "$where" "$part/ includes upwards: \"$included\""
      ;;
    *)
      # A file in a directory of its own part, seen from that directory.
      [ -f "$root/${file%/*}/$included" ] || fail "$where" "\"$included\" is in no part"
      ;;
  esac
}

check_angled() { # WHERE PART FILE INCLUDED
  local where=$1 part=$2 file=$3 included=$4
  if has "$host_headers" "$included"; then
    [[ "${file##*/}" == host_*.c ]] || fail "$where" "only host_*.c includes <$included>"
    return
  fi
  case $part in
    pt) is_libc "$included" || fail "$where" "pt/ includes <$included>, which is not libc's" ;;
    pager)
      is_libc "$included" || has "$libelf_headers" "$included" ||
        fail "$where" "pager/ includes <$included>, which is neither libc's nor libelf's"
      ;;
  esac
}

pattern='^[[:space:]]*#[[:space:]]*include[[:space:]]*([<"])([^>"]+)[>"]'

while IFS= read -r file; do
  part=${file%%/*}
  case $part in
    pt | pager | scenario | demo | tests) ;;
    *) continue ;;
  esac
  while IFS=: read -r number line; do
    where=$file:$number
    if [[ "$line" =~ $pattern ]]; then
      included=${BASH_REMATCH[2]}
      # A host header in quotes is the same header.
      if [ "${BASH_REMATCH[1]}" = '"' ] && ! has "$host_headers" "$included"; then
        check_quoted "$where" "$part" "$file" "$included"
      else
        check_angled "$where" "$part" "$file" "$included"
      fi
    else
      fail "$where" "an include that this test cannot read: $line"
    fi
  done < <(grep -nE '^[[:space:]]*#[[:space:]]*include' "$root/$file" || true)
done < <(list_files | grep -E '\.(c|h|def)$' || true)

tag='SPDX-License-Identifier: GPL-2.0-or-''later'
mapfile -t sources < <(list_sources)
if [ "${#sources[@]}" -gt 0 ]; then
  while IFS=: read -r file what; do fail "$file" "$what"; done < <(
    cd "$root" && awk -v tag="$tag" -v most="$max_lines" '
      FNR <= 5 && index($0, tag) { tagged[FILENAME] = 1 }
      { lines[FILENAME] = FNR }
      END {
        for (i = 1; i < ARGC; i++) {
          file = ARGV[i]
          if (!(file in tagged)) printf "%s:its first lines lack \"%s\"\n", file, tag
          if (lines[file] > most) printf "%s:%d lines; %d is the most\n", file, lines[file], most
        }
      }' "${sources[@]}"
  )
fi

finish
