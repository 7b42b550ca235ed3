#!/bin/sh
# Builds ../static from the packages in package-lock.json. For maintainers: it needs Node.js and npm,
# which nothing else does. With --check it changes nothing and says whether the files are up to date.
set -eu
cd "$(dirname "$0")"
command -v npm >/dev/null || { echo 'make: npm is missing. Debian, Ubuntu: sudo apt-get install npm' >&2; exit 1; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cp ./* "$place"
mkdir "$place/out"
(
  cd "$place"
  npm ci --ignore-scripts --no-audit --no-fund --silent --cache "$place/cache"
  node build.mjs out
)
mv "$place/out/digests.json" "$place/digests.json"
if [ "${1:-}" = --check ]; then
  cmp "$place/digests.json" digests.json
  for file in "$place"/out/*; do cmp "$file" "../static/${file##*/}"; done
  echo 'The built files are up to date.'
else
  cp "$place"/out/* ../static/
  cp "$place/digests.json" digests.json
  wc -c ../static/*
fi
