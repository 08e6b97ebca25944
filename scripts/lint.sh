#!/bin/sh
# Layout, floors, ledger-independent checks and clang-tidy. Usage: scripts/lint.sh
set -eu
cd "$(dirname "$0")/.."
git ls-files -z '*.cpp' '*.hpp' '*.h' '*.c' | xargs -0 clang-format-14 --dry-run -Werror
python3 scripts/check_floors.py
python3 scripts/check_links.py
git ls-files -z '*.sh' .ci/run | xargs -0 shellcheck
# clang-tidy runs inside the compile, so a second run looks only at what changed.
scripts/build.sh tidy
echo "lint: nothing to say"
