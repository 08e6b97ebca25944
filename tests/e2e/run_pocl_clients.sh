#!/bin/bash
# Unmodified OpenCL programs of Debian's on PoCL: their second start compiles nothing, and what they compute or say
# is the same. Usage: run_pocl_clients.sh LARDER
set -u
larder=$1
# shellcheck source=tests/e2e/common.sh
. "$(dirname "$0")/common.sh"
use_pocl

# What a client prints is compared where it prints no times.
blur="format=yuv420p,hwupload,unsharp_opencl,avgblur_opencl,hwdownload,format=yuv420p"
ran=0
while read -r output client; do
  name=${client%% *}
  command -v "$name" >/dev/null || { echo "skipped $name: not installed" >&2; continue; }
  # shellcheck disable=SC2086 # the command is several words
  "$larder" run --report -- $client >cold 2>report </dev/null || fail "$client: $(cat cold report)"
  first=$(number pocl 'taken in')
  for way in there entries; do
    if [ $way = entries ]; then rm -rf store/adopted; fi
    # shellcheck disable=SC2086
    "$larder" run --report -- $client >warm 2>report </dev/null || fail "$client: $(cat warm report)"
    [ "$(number pocl 'taken in')" -eq 0 ] || fail "a later start of $client compiled: $(cat report)"
    [ "$output" != same ] || cmp cold warm || fail "$client says something else"
  done
  [ "$(number pocl laid)" -ge "$first" ] || fail "$client: not all was laid: $(cat report)"
  echo "$client: $first files compiled at the first start, none at the second, nor from entries alone"
  ran=$((ran + 1))
done <<END
any clpeak -p 0 --kernel-latency
same clinfo -l
same clinfo
same ffmpeg -v error -init_hw_device opencl=one:0.0 -filter_hw_device one -f lavfi -i testsrc2=size=320x240:rate=5:duration=1 -vf $blur -f md5 -
END
[ $ran -gt 0 ] || exit 77
