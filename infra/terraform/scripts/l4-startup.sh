#!/usr/bin/env bash
# From a bare machine with an L4 to a worker: the driver, the image, the container. Nothing is mounted but the driver:
# all that lasts is in the bucket, and secrets are read inside the container. The container sends the machine away when
# no run waits (infra/docker/l4.sh); where it does not come to that, this script does, and the waker sees to it that a
# start which always fails is not tried round the clock.
set -euo pipefail

METADATA=http://${GCE_METADATA_HOST:-metadata.google.internal}/computeMetadata/v1/instance
COMPUTE=${L4_COMPUTE_URL:-https://compute.googleapis.com/compute/v1}
DRIVER=${L4_DRIVER:-/var/lib/nvidia}
# Container-Optimized OS can write here only.
export HOME=${L4_HOME:-/var/lib/tucano}

metadata() {
    curl --fail --silent --show-error --max-time 10 --retry 5 --retry-connrefused --header 'Metadata-Flavor: Google' \
        "$METADATA/$1"
}

attribute() { metadata "attributes/$1"; }

patiently() { # runs a command, up to four times
    for pause in 5 20 60; do
        if "$@"; then return 0; fi
        sleep "$pause"
    done
    "$@"
}

resize_to_none() {
    local group token
    group=$(attribute tucano-group) || return 1
    # There is no Python on this system.
    token=$(metadata service-accounts/default/token | sed --quiet 's/.*"access_token": *"\([^"]*\)".*/\1/p') || return 1
    curl --fail --silent --show-error --max-time 30 --output /dev/null --request POST --config - \
        "$COMPUTE/$group/resize?size=0" <<<"header = \"Authorization: Bearer $token\"
header = \"Content-Length: 0\""
}

leave() { # where the script ends by a failure: a machine without a worker costs what one with it does
    if [[ $? -eq 0 ]]; then return 0; fi
    # A machine that Google takes back is replaced by the group, which must keep its size for that.
    if [[ $(metadata preempted) == TRUE ]]; then return 0; fi
    echo "the L4 could not be started, see above; the machine goes" >&2
    until resize_to_none; do sleep 30; done
}
trap leave EXIT

image=$(attribute tucano-image)
prefect=$(attribute tucano-prefect)
prefect_secret=$(attribute tucano-prefect-secret)
mlflow_secret=$(attribute tucano-mlflow-secret)
mlflow_pages=$(attribute tucano-mlflow-pages)
hub_secret=$(attribute tucano-hub-secret)
group=$(attribute tucano-group)
mkdir -p "$HOME"

# The wheels are for CUDA 13, which needs the driver 580 or newer.
patiently cos-extensions install gpu -- -version=latest
mount --bind "$DRIVER" "$DRIVER"
mount -o remount,exec "$DRIVER"
driver=$("$DRIVER/bin/nvidia-smi" --query-gpu=driver_version --format=csv,noheader)
if [[ ${driver%%.*} -lt 580 ]]; then
    echo "the driver is $driver, and CUDA 13 needs 580 or newer: choose a newer image of Container-Optimized OS" >&2
    exit 1
fi

docker-credential-gcr configure-docker --registries="${image%%/*}"
patiently docker pull "$image"

work() { # runs the container until it ends, and says whether it ended well
    # The one of before, where this machine was stopped and started.
    docker rm --force tucano >/dev/null 2>&1 || true
    # CONTAINER_SECONDS of schemas/timeouts.py. With the host's network the metadata server answers as everywhere.
    docker run --detach --name tucano --stop-timeout 28 --network host --shm-size 4g \
        --volume "$DRIVER/lib64:/usr/local/nvidia/lib64:ro" \
        --volume "$DRIVER/bin:/usr/local/nvidia/bin:ro" \
        --device /dev/nvidia0 --device /dev/nvidiactl --device /dev/nvidia-uvm \
        --log-driver gcplogs \
        --env PREFECT_API_URL="$prefect" \
        --env PREFECT_API_AUTH_STRING_SECRET="$prefect_secret" \
        --env MLFLOW_TRACKING_USERNAME=worker \
        --env MLFLOW_TRACKING_PASSWORD_SECRET="$mlflow_secret" \
        --env MLFLOW_PAGES="$mlflow_pages" \
        --env HF_TOKEN_SECRET="$hub_secret" \
        --env L4_GROUP="$group" \
        "$image" &&
        [[ $(docker wait tucano) == 0 ]]
}

# Docker's own restarting would go on for ever, and nobody would send the machine away.
patiently work
