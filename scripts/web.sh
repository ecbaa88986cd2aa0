#!/usr/bin/env bash
# The report page. web.sh: builds report/web into report/html/page.html, which is committed, so that building Weft needs no npm.
# web.sh --check: is what is committed what its source gives? web.sh --test WEFT: drives pages of that program in Chromium.
# web.sh --pictures WEFT [FOLDER]: the pictures in docs/images, or in FOLDER: are those of docs/images all there are? What npm brings goes to $WEFT_WEB_DIR [build-release/web], as
# report/web/package-lock.json says. Exit code 77: npm or Chromium is missing (a failure where CI is set).
set -euo pipefail
cd "$(dirname "$0")/.."
mode=${1-}
weft=${2-}
work=${WEFT_WEB_DIR:-build-release/web}

missing() {
  echo "$1" >&2
  [ -z "${CI-}" ] || exit 1
  exit 77
}
command -v npm >/dev/null || missing "no npm here: apt-get install npm"
mkdir -p "$work"
rm -rf "$work/src"
cp -r report/web/src report/web/*.json report/web/*.mjs report/web/shell.html report/web/NOTICE "$work"
if ! cmp -s report/web/package-lock.json "$work/installed.json"; then
  (cd "$work" && npm ci --ignore-scripts --no-audit --no-fund --prefer-offline --loglevel=error >npm.log 2>&1) || {
    tail -n 20 "$work/npm.log" >&2
    missing "npm could not install what report/web/package-lock.json says"
  }
  cp report/web/package-lock.json "$work/installed.json"
fi

case $mode in
  "" | --check)
    (cd "$work" && node_modules/.bin/tsc --noEmit -p . && node build.mjs page.html)
    if [ -z "$mode" ]; then
      cp "$work/page.html" report/html/page.html
    elif ! cmp "$work/page.html" report/html/page.html; then
      echo "report/html/page.html is not what report/web gives: run scripts/web.sh and commit it" >&2
      exit 1
    fi
    ;;
  --test | --pictures)
    chromium=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
    [ -n "$chromium" ] || missing "no Chromium here: apt-get install chromium"
    script=tests/web/page_test.mjs
    [ "$mode" = --test ] || script=tests/web/pictures.mjs
    CHROMIUM=$chromium WEFT_WEB_DIR=$work node "$script" "$weft" ${3+"$3"}
    ;;
  *)
    echo "unknown: $mode; expected --check, --test WEFT or --pictures WEFT [FOLDER]" >&2
    exit 2
    ;;
esac
