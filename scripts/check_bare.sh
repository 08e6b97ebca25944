#!/bin/sh
# Shows that larder needs nothing but its own set-up: makes a bare Debian 12 root (debootstrap --variant=minbase),
# puts the committed tree into it and runs make targets there. Only `make` itself is installed beforehand.
# Needs root and a Debian mirror. Usage: scripts/check_bare.sh [TARGET...]   (default: demo test)
# LARDER_MIRROR names the mirror; LARDER_BARE_ROOT keeps the root in that folder for a second run.
set -eu
cd "$(dirname "$0")/.."

if [ "$(id -u)" -ne 0 ]; then
  echo "check_bare: making a Debian root needs root; run it with sudo" >&2
  exit 2
fi
if ! command -v debootstrap >/dev/null; then
  echo "check_bare: debootstrap is missing; run scripts/setup.sh bare" >&2
  exit 2
fi
# A mount name space of our own: whatever is mounted below goes away with this script.
if [ "${LARDER_IN_NAMESPACE:-}" != 1 ]; then
  LARDER_IN_NAMESPACE=1 exec unshare --mount --propagation private "$0" "$@"
fi
[ $# -gt 0 ] || set -- demo test

mirror=${LARDER_MIRROR:-http://deb.debian.org/debian}
if [ -n "${LARDER_BARE_ROOT:-}" ]; then
  root=$LARDER_BARE_ROOT
  mkdir -p "$root"
else
  root=$(mktemp -d)
  trap 'umount "$root/proc" "$root/sys" "$root/dev/pts" 2>/dev/null || true; rm -rf --one-file-system "$root"' EXIT
fi

if [ ! -x "$root/usr/bin/make" ]; then
  echo "check_bare: making a bare Debian 12 in $root"
  log=$root.log
  debootstrap --variant=minbase --include=make bookworm "$root" "$mirror" >"$log" 2>&1 || {
    tail -n 20 "$log" >&2
    exit 2
  }
  rm -f "$log"
fi
cp /etc/resolv.conf "$root/etc/resolv.conf"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"  # where OpenCL's drivers look for processors and memory
mount -t devpts devpts "$root/dev/pts"          # terminals of their own, to type into shells

rm -rf "$root/larder"
mkdir "$root/larder"
git archive HEAD | tar -x -C "$root/larder"
for target in "$@"; do
  echo "check_bare: make $target"
  chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    make --no-print-directory -C /larder "$target"
done
echo "check_bare: make $* passed on a bare Debian 12"
