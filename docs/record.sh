#!/usr/bin/env bash
# Records the first commands of the README, in real time, as docs/images/terminal.svg.
#
#   pip install asciinema && npm install --global svg-term-cli
#   docs/record.sh
#
# With MNIST in the data folder already, and nothing compiled yet.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/session" << 'END'
show() { printf '$ %s\n' "$*"; "$@"; }
show sliceflow fit mnist --y label --schedule quick
show sliceflow sample runs/mnist --y 7 --out sevens.png
show ls runs/mnist
END
cd "$folder"
export NUMBA_CACHE_DIR="$folder/numba" TQDM_MININTERVAL=1 TERM=xterm-256color
asciinema rec --quiet --cols 100 --rows 16 --command "bash session" session.cast
svg-term --in session.cast --out "$here/images/terminal.svg" --window --no-cursor
