#!/usr/bin/env bash
# Installs what the tests need beyond Python: network namespaces, a PostgreSQL server, a NATS server, chromium with a font, and Node. Needs Debian or Ubuntu, and root or sudo.
set -euo pipefail

packages=(iproute2 postgresql nats-server chromium fonts-dejavu-core nodejs)
missing=()
for package in "${packages[@]}"; do
  dpkg-query --show --showformat='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [ "${#missing[@]}" -eq 0 ]; then
  exit 0
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  as_root=(sudo)
fi
"${as_root[@]}" apt-get update -qq
# The tests start servers of their own: the package must not start one.
echo 'create_main_cluster = false' | { "${as_root[@]}" mkdir -p /etc/postgresql-common && "${as_root[@]}" tee /etc/postgresql-common/createcluster.conf >/dev/null; }
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
