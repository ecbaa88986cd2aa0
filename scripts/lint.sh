#!/usr/bin/env bash
# Checks how the code is written. lint.sh: clang-format on every file. lint.sh --tidy [PATTERN]: clang-tidy on all of the program's
# too (only the groups of files whose name holds PATTERN: lint.sh --tidy congestion); needs a built build-release/ (generated
# headers).
#
# clang-tidy looks at everything that a file includes, which takes longer than the file itself. So the files of a folder are
# checked together, headers first.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build-release
tidy=
if [ "${1-}" = --tidy ]; then
  tidy=yes
  shift
fi
pattern=${1-}
started=$SECONDS
work=$build/lint
rm -rf "$work"
mkdir -p "$work"
status=0

git -c safe.directory='*' ls-files '*.cpp' '*.hpp' '*.c' | xargs clang-format --dry-run --Werror 2>"$work/format.log" || {
  status=1
  echo "not as clang-format -i writes them:"
  grep -oE '^[^:]+' "$work/format.log" | grep -E '[.](cpp|hpp|c)$' | sort -u
}

[ -n "$tidy" ] || exit "$status"

# One file to check: the files given, in one translation unit.
together() {
  { grep -hE '^#include (<|"[^"]*[.](hpp|h)")' "$@" || true; } | sort -u
  printf '#include "%s"\n' "$@"
}

# Groups: the files of a module, at most forty; traces and collectives by folder, whose formats and algorithms give things the
# same names.
groups() {
  git -c safe.directory='*' ls-files '*.cpp' | grep -vE '^(tests|bench)/|^traces/recorder/pmpi/|/otf2/absent' |
    awk '{ d = $0; sub("/[^/]*$", "", d);
           if (d !~ "^traces/|collectives") sub("/.*", "", d)
           gsub("/", "-", d)
           n = count[d]++; print d "-" int(n / 40), $0 }'
}
for g in $(groups | cut -d' ' -f1 | sort -u | grep -F -- "$pattern"); do
  mapfile -t files < <(groups | awk -v g="$g" '$1 == g { print $2 }')
  together "${files[@]}" >"$work/$g.cc"
done
check() {
  clang-tidy --quiet --warnings-as-errors='*' "$1" -- -std=c++20 -I. -I"$2" -DWEFT_VERSION='""' -DWEFT_LAPACK='""' -DWEFT_ARCHIVE='""' \
    -isystem "$2/topology/platform_pb" -isystem "$2/traces/generated" -isystem "$2/report/generated" -Wno-everything >"${1%.cc}.log" 2>/dev/null ||
    { grep -E '(error|warning):' "${1%.cc}.log" | sort -u; exit 1; }
}
export -f check
[ -n "$(find "$work" -name '*.cc' -size +0)" ] || { echo "no group of files has '$pattern' in its name; they are:" >&2; groups | cut -d' ' -f1 | sort -u >&2; exit 2; }
find "$work" -name '*.cc' -size +0 -print0 | xargs -0 ls -S | xargs -P "${LINT_JOBS:-$(nproc)}" -I{} bash -c "check {} $build" || status=1
echo "lint took $((SECONDS - started)) s"
exit "$status"
