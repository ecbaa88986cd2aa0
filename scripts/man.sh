#!/usr/bin/env bash
# Manual pages of a built weft: weft(1), one for each verb and one for each kind of a verb, made of the help pages by help2man, so
# that they cannot go stale. Usage: man.sh WEFT DIR
set -euo pipefail
weft=$1 dir=$2
export LC_ALL=C.UTF-8 # help2man writes for the locale
version=$("$weft" --version | cut -d' ' -f2)
rm -rf "$dir"
mkdir -p "$dir"

# Verbs, or kinds of a verb, one a line: "name what it is". Long descriptions go on in lines that begin further right.
below() {
  "$weft" help "$@" | sed -n '/^Subcommands:/,/^$/p' |
    awk '/^  [a-z]/ { if (row != "") print row; row = $0; next } /^   / { row = row " " $0 } END { if (row != "") print row }' |
    tr -s ' ' | sed 's/^ //'
}

page() { # page WHAT WORD...: the page of "weft WORD..."
  local about=$1
  shift
  local name=weft
  for word in "$@"; do name+=-$word; done
  help2man --no-info --name="$about" --version-string="$name $version" --output="$dir/$name.1" "$weft${*:+ $*}"
}

page "how long will this MPI job take on that interconnect, and why?"
while read -r verb about; do
  [ "$verb" != help ] || continue
  page "$about" "$verb"
  while read -r kind what; do page "$what" "$verb" "$kind"; done < <(below "$verb")
done < <(below)
