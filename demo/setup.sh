# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# What demo/run and tests/run share: install what is missing, configure, build. Sourced, from the
# root of the sources. It speaks on standard error, so that standard output stays the program's own.

# shellcheck disable=SC2034 # read by those who source this file
build_packages=(
  gcc libc6-dev cmake ninja-build pkg-config git
  libsigsegv-dev libelf-dev libjansson-dev systemtap-sdt-dev gnuplot-nox
)
# shellcheck disable=SC2034
test_packages=(libcmocka-dev clang-format clang-tidy cppcheck jq)

say() {
  printf '%s\n' "$*" >&2
}

# missing_packages PACKAGE...: those that are not installed, on one line.
missing_packages() {
  local installed package missing=()
  # dpkg-query fails when it does not know one of them; that one is missing, then.
  installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true)
  for package in "$@"; do
    grep -qxF "installed $package" <<<"$installed" || missing+=("$package")
  done
  printf '%s' "${missing[*]}"
}

# install_packages PACKAGE...: quick, and no call of apt-get, when nothing is missing.
install_packages() {
  local missing as_root=()
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "This script knows Debian and Ubuntu only. Install what these packages hold, then build with"
    say "cmake --preset release && cmake --build --preset release:  $*"
    exit 1
  fi

  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0

  if [ "$(id -u)" -ne 0 ]; then
    if sudo -n true 2>/dev/null; then
      as_root=(sudo -n)
    elif command -v sudo >/dev/null && [ -t 0 ] && [ -t 2 ]; then
      as_root=(sudo)
    elif command -v sudo >/dev/null; then
      say 'Some packages are missing. Run this, then try again:'
      say "sudo apt-get update && sudo apt-get install -y --no-install-recommends $missing"
      exit 1
    else
      say 'Some packages are missing. Run this, then try again:'
      say "su -c 'apt-get update && apt-get install -y --no-install-recommends $missing'"
      exit 1
    fi
  fi

  say "installing: $missing"
  # shellcheck disable=SC2086 # one word a package
  if ! {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq &&
      "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
        --no-install-recommends $missing
  } </dev/null >&2; then
    say 'apt-get failed; its own words are above.'
    exit 1
  fi
}

# configure PRESET [ARGUMENT...]: through a log, which is shown when it fails.
configure() {
  local preset=$1 log
  shift
  mkdir -p build
  log=build/configure-$preset.log
  if ! cmake --preset "$preset" "$@" >"$log" 2>&1; then
    cat "$log" >&2
    say "configuring $preset failed"
    exit 1
  fi
}

# build PRESET [ARGUMENT...]: quiet but for warnings and errors.
build() {
  local preset=$1
  shift
  say "building build/$preset ..."
  if ! cmake --build --preset "$preset" "$@" -- --quiet >&2; then
    say "building $preset failed"
    exit 1
  fi
}
