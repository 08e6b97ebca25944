# shellcheck shell=bash
# Sourced by the tests with programs that nobody here wrote: a home of their own, and what they all say and ask.
# Whoever sources it has put the command's path into `larder`.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work XDG_CACHE_HOME="" XDG_CONFIG_HOME="" XDG_RUNTIME_DIR=$work/run LARDER_DIR=$work/store
unset LARDER_DISABLE POCL_CACHE_DIR
unset MESA_SHADER_CACHE_DIR MESA_SHADER_CACHE_DISABLE MESA_GLSL_CACHE_DIR MESA_GLSL_CACHE_DISABLE
unset MESA_DISK_CACHE_SINGLE_FILE MESA_DISK_CACHE_DATABASE
mkdir -m 700 "$work/run"
cd "$work" || exit 2

fail() {
  echo "FAIL: $*" >&2
  exit 1
}
skip() {
  echo "skipped: $*" >&2
  exit 77
}
# number DRIVER WORDS: the number before those words in the report's lines on that driver.
number() { sed -n "s/^larder: $1: .*[^0-9]\([0-9][0-9]*\) $2.*/\1/p" report; }
# Only PoCL, whatever other drivers are installed.
use_pocl() {
  mkdir icd
  for driver in /etc/OpenCL/vendors/pocl*.icd; do
    [ -e "$driver" ] && cp "$driver" icd/
  done
  [ -n "$(ls icd)" ] || skip "no PoCL here"
  export OCL_ICD_VENDORS=$work/icd
}
