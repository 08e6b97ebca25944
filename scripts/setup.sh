#!/bin/sh
# Installs the Debian packages that the given groups of scripts/packages.txt name. Does nothing, quickly, when
# they are all there. Usage: scripts/setup.sh GROUP...
set -eu
cd "$(dirname "$0")"

if [ $# -eq 0 ]; then
  echo "usage: scripts/setup.sh GROUP...   (groups: $(awk '!/^#/ && NF {print $1}' packages.txt | sort -u | tr '\n' ' '))" >&2
  exit 2
fi

wanted=""
for group in "$@"; do
  of_group=$(awk -v group="$group" '!/^#/ && $1 == group {print $2}' packages.txt)
  if [ -z "$of_group" ]; then
    echo "setup: no group '$group' in scripts/packages.txt" >&2
    exit 2
  fi
  wanted="$wanted $of_group"
done

missing=""
for package in $wanted; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "setup: these packages are missing:$missing" >&2
  echo "setup: this is no Debian system; install their equivalents by hand (see scripts/packages.txt)" >&2
  exit 2
fi
if [ "$(id -u)" -eq 0 ]; then
  as_root=""
elif command -v sudo >/dev/null; then
  as_root="sudo"
else
  echo "setup: these packages are missing:$missing" >&2
  echo "setup: installing them needs root, and there is no sudo here" >&2
  echo "setup: as root, run: apt-get install$missing" >&2
  exit 2
fi

echo "setup: installing$missing"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # the packages are several words
install() { $as_root apt-get install --yes --quiet --no-install-recommends $missing; }
# The package lists may be absent or old; fetch them only then.
install || { $as_root apt-get update --quiet && install; }
