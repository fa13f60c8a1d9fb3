#!/usr/bin/env bash
# Installs what the tests of Spark need: Java, and pyspark into the environment PYTHON belongs to (.venv/bin/python). 450 MB; without it these tests are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${1:-.venv/bin/python}
if ! command -v java >/dev/null; then
  as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless >/dev/null
fi
"$python" -c 'import pyspark' 2>/dev/null || "$python" -m pip install --quiet 'pyspark==4.0.*'
