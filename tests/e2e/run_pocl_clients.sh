#!/bin/bash
# Unmodified OpenCL programs of Debian's on PoCL: their second start compiles nothing.
# Usage: run_pocl_clients.sh LARDER
set -u
larder=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work XDG_CACHE_HOME="" XDG_CONFIG_HOME="" XDG_RUNTIME_DIR=$work/run LARDER_DIR=$work/store
unset POCL_CACHE_DIR
cd "$work" || exit 2
mkdir icd
for driver in /etc/OpenCL/vendors/pocl*.icd; do
  [ -e "$driver" ] && cp "$driver" icd/
done
[ -n "$(ls icd)" ] || { echo "skipped: no PoCL here" >&2; exit 77; }
export OCL_ICD_VENDORS=$work/icd

fail() {
  echo "FAIL: $*" >&2
  exit 1
}
taken() { sed -n 's/^larder: pocl: .* \([0-9]*\) taken in.*/\1/p' "$1"; }
laid() { sed -n 's/^larder: pocl: .* \([0-9]*\) laid.*/\1/p' "$1"; }

ran=0
for client in "clpeak -p 0 --kernel-latency" "clinfo -l" "clinfo"; do
  name=${client%% *}
  command -v "$name" >/dev/null || { echo "skipped $name: not installed" >&2; continue; }
  # shellcheck disable=SC2086 # the command is several words
  "$larder" run --report -- $client >cold 2>report || fail "$client: $(cat cold report)"
  first=$(taken report)
  rm -rf store/adopted
  # shellcheck disable=SC2086
  "$larder" run --report -- $client >warm 2>report || fail "$client: $(cat warm report)"
  [ "$(taken report)" -eq 0 ] || fail "the second start of $client compiled: $(cat report)"
  [ "$first" -eq 0 ] || [ "$(laid report)" -ge "$first" ] || fail "$client: not all was laid: $(cat report)"
  [ "$name" != clinfo ] || cmp cold warm || fail "clinfo says something else"
  echo "$client: $first files compiled at the first start, none at the second"
  ran=$((ran + 1))
done
[ $ran -gt 0 ] || exit 77
