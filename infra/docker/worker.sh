#!/usr/bin/env bash
# A Prefect worker in a container: worker.sh POOL
set -euo pipefail
pool=${1:?is missing: the name of a work pool}
# shellcheck source=infra/docker/tending.sh
source "$(dirname "$0")/tending.sh"

trap 'end_worker; exit 0' TERM INT
start_worker "$pool"
wait "$worker"
