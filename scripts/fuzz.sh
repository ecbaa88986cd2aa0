#!/usr/bin/env bash
# Fuzzes the readers with clang's libFuzzer, address and undefined-behaviour sanitizers: fuzz.sh [SECONDS] [TARGET...]
# (60 s each, all targets). Findings stay in build-fuzz/findings, corpora in build-fuzz/corpus; a finding is run again
# with WEFT_FUZZ_TARGET=TARGET build-fuzz/tests/fuzz/fuzz_readers FILE. Debian: apt-get install clang libclang-rt-14-dev
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
[ $# -gt 0 ] && shift
build=build-fuzz
# Targets that write traces sync them: on a disk they would wait for it most of the time.
[ -w /dev/shm ] && export TMPDIR=/dev/shm
cmake -S . -B "$build" -G Ninja -DCMAKE_CXX_COMPILER="${CXX:-clang++}" -DCMAKE_C_COMPILER="${CC:-clang}" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DWEFT_SANITIZE=ON -DWEFT_BUILD_FUZZERS=ON -DWEFT_BUILD_RECORDER=OFF >/dev/null
cmake --build "$build" --target fuzz_seeds fuzz_readers
[ $# -gt 0 ] || set -- $("$build"/tests/fuzz/fuzz_seeds)
status=0
for target in "$@"; do
  corpus=$build/corpus/$target
  mkdir -p "$corpus" "$build/findings"
  "$build"/tests/fuzz/fuzz_seeds "$target" "$corpus" "$build/$target.dict"
  echo "== $target, $seconds s"
  WEFT_FUZZ_TARGET=$target "$build/tests/fuzz/fuzz_readers" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=512 -max_len=20000 \
    -dict="$build/$target.dict" -artifact_prefix="$build/findings/$target-" -print_final_stats=1 "$corpus" \
    >"$build/$target.log" 2>&1 || { status=1; echo "FOUND: see $build/$target.log"; }
  grep -aE 'stat::(number_of_executed_units|peak_rss_mb|slowest_unit)|SUMMARY|ERROR' "$build/$target.log" || true
done
exit "$status"
