#!/bin/sh
# Print the Debian packages that tests need and this machine lacks, on one line.
missing=
has() { command -v "$1" >/dev/null 2>&1; }
lacks() { missing="$missing${missing:+ }$1"; }
has bwrap || lacks bubblewrap
for program in strace fish zsh chromium chromium-headless-shell; do has "$program" || lacks "$program"; done
has chromedriver || lacks chromium-driver
has initdb || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || lacks postgresql
[ -z "$missing" ] || echo "$missing"
