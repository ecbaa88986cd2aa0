#!/usr/bin/env bash
# Every fault in every command of tests/faults, not a few of each as ctest does: no memory for the N-th allocation (and for all later ones), a
# write, sync, rename, close or read that fails, an input that vanishes or shrinks. faults.sh [K] [FILTER]: about K of each kind
# instead of all, only the commands that FILTER names (as --gtest_filter, "*/replay"). All of them take half an hour.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --build --preset release --target faults_tests
WEFT_FAULTS=${1:-all} nice build-release/tests/faults/faults_tests --gtest_filter="${2:-*}" | grep -E 'faults tried|FAILED|PASSED|WEFT_FAULT'
