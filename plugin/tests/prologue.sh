# shellcheck shell=sh disable=SC2034 # used by those who source it
# What the tests of value reuse begin with, sourced with their arguments: SUBJECT CLANG, or SUBJECT missing PACKAGE,
# which skips (77). Leaves $subject, $clang and $here (this folder), fail(), and a folder $scratch, where the test
# goes on and which ends with it.
set -eu
subject=$(realpath "$1")
clang=$2
here=$(realpath "$(dirname "$0")")
if [ "$clang" = missing ]; then
  echo "SKIP: $3 or its clang is not installed"
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
scratch="$folder/${blank-}scratch"
mkdir "$scratch"
cd "$scratch"
fail() {
  echo "$*" >&2
  exit 1
}
