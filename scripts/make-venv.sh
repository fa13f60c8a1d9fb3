#!/bin/sh
# Makes .venvs/NAME with the given packages, once; a second call with the same packages does nothing.
# For judges and peers whose pins conflict with ours.
#   scripts/make-venv.sh pycanon pycanon==1.3.6
set -eu
if [ $# -lt 2 ]; then
    echo "usage: $0 NAME PACKAGE==VERSION..." >&2
    exit 2
fi
name=$1
shift
root=$(cd "$(dirname "$0")/.." && pwd)
venv=$root/.venvs/$name
mkdir -p "$root/.venvs"
exec 9>"$root/.venvs/$name.lock"
flock 9
if [ -f "$venv/.made" ] && [ "$(cat "$venv/.made")" = "$*" ]; then
    exit 0
fi
rm -rf "$venv"
"${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
echo "$*" >"$venv/.made"
