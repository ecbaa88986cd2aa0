# What the side-by-side scripts share; sourced by them. They set $dir, a folder that goes with them, and $core.

median() { sort -n | awk '{ v[NR] = $1 } END { print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
# seconds FILE COMMAND...: appends the wall seconds to FILE.wall and the peak KiB to FILE.rss
seconds() {
  local file=$1; shift
  local from=$EPOCHREALTIME to
  /usr/bin/time -o "$dir/time" -f %M taskset -c "$core" "$@" >"$dir/out" 2>"$dir/err" || { cat "$dir/err" >&2; exit 1; }
  to=$EPOCHREALTIME
  awk -v a="$from" -v b="$to" 'BEGIN { printf "%.4f\n", b - a }' >>"$file.wall"
  tail -n 1 "$dir/time" >>"$file.rss"
}
# Counts the instructions of what follows it.
grind="valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null"
# What $grind said, in 10^9.
instructions() { awk '/I +refs:/ { gsub(",", "", $NF); n = $NF } END { printf "%.4f", n / 1e9 }' "$1"; }
