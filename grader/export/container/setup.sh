#!/bin/bash
# Runs once, as root, when Gradescope builds the image: installs warpgrade and closes the answers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
home=${WARPGRADE_HOME:-/opt/warpgrade}

apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
  python3 python3-venv gcc libc6-dev bubblewrap

python=
for found in python3 python3.13 python3.12 python3.11; do
  if ! command -v "$found" >/dev/null && [[ $found != python3 ]]; then
    apt-get install -y -qq --no-install-recommends "$found" "$found-venv" 2>/dev/null || continue
  fi
  if "$found" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    python=$found
    break
  fi
done
if [[ -z $python ]]; then
  echo "setup.sh: no Python 3.11 or newer is to be had: choose Ubuntu 24.04 for this autograder" >&2
  exit 1
fi

"$python" -m venv "$home"
"$home/bin/python" -m pip install --quiet --disable-pip-version-check @PACKAGE@
chmod -R go-rwx course
