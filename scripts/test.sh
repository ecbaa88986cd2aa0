#!/usr/bin/env bash
# Installs what is needed, builds Weft and runs every test. Arguments go to ctest: test.sh -L quick
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh
started=$SECONDS
log=build-release/test.log
status=0
ctest --preset release -j "$(nproc)" --progress "$@" >"$log" 2>&1 || status=$?
if [ "$status" -ne 0 ]; then
  tr '\r' '\n' <"$log" | grep -v '^\[[0-9/]*\] *Test' | tail -n 300
fi
tr '\r' '\n' <"$log" | grep -aE '^ORACLE |tests passed|[*]{3}Skipped' | sort -u || true
echo "tests took $((SECONDS - started)) s"
exit "$status"
