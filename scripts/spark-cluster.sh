#!/usr/bin/env bash
# A Spark cluster on this machine: a master and two workers, as processes that end with this one.
# spark-cluster.sh FOLDER [PYTHON]: FOLDER gets `url` once both workers are there, their process numbers as `worker-1.pid` and `worker-2.pid`, and logs.
set -euo pipefail

folder=$1
python=${2:-.venv/bin/python}
mkdir -p "$folder"
SPARK_HOME=$("$python" -c 'import pathlib, pyspark; print(pathlib.Path(pyspark.__file__).parent)')
export SPARK_HOME SPARK_DAEMON_MEMORY=256m SPARK_LOCAL_IP=127.0.0.1 SPARK_LOCAL_DIRS=$folder/local SPARK_LOG_DIR=$folder
started=()
end() {
  trap - EXIT TERM INT
  kill "${started[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
}
trap end EXIT
trap 'exit 0' TERM INT

class() {
  "$SPARK_HOME/bin/spark-class" "org.apache.spark.deploy.$1" --host 127.0.0.1 --port 0 --webui-port 0 "${@:3}" >"$folder/$2.log" 2>&1 &
  started+=($!)
}
# await FILE WORDS: prints what follows the words in the file, once they are there
await() {
  for _ in $(seq 600); do
    found=$(sed -n "s/.*$2\([^ ]*\).*/\1/p" "$1" 2>/dev/null | head -n 1)
    [ -n "$found" ] && echo "$found" && return
    sleep 0.5
  done
  echo "$1: no \"$2\" within 5 minutes" >&2
  return 1
}

class master.Master master
url=$(await "$folder/master.log" 'Starting Spark master at ')
for number in 1 2; do
  class worker.Worker "worker-$number" --cores 1 --memory 1g --work-dir "$folder/work-$number" "$url"
  echo "${started[-1]}" >"$folder/worker-$number.pid"
done
for number in 1 2; do
  await "$folder/worker-$number.log" 'Successfully registered with master ' >/dev/null
done
echo "$url" >"$folder/url.new"
mv "$folder/url.new" "$folder/url"
wait
