#!/usr/bin/env bash
# Installs what the tests of Spark need: Java, and pyspark into .venvs/spark, a Python of its own. Without it these tests are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v java >/dev/null; then
  as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless >/dev/null
fi
# with our own pandas and pyarrow; the last four are for Spark Connect
scripts/make-venv.sh spark --no-deps pyspark==4.0.1 py4j==0.10.9.9 grpcio==1.85.1 grpcio-status==1.85.1 googleapis-common-protos==1.76.0 protobuf==7.36.2
