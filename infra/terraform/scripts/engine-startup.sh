#!/usr/bin/env bash
# From a machine with an L4, at each of its starts, to an engine that answers: the driver, the image, the container, which
# fetches the weights (infra/docker/engine.sh). To serve other weights, put them into the bucket and reset the machine.
set -euo pipefail

METADATA=http://${GCE_METADATA_HOST:-metadata.google.internal}/computeMetadata/v1/instance
DRIVER=${L4_DRIVER:-/var/lib/nvidia}
# Container-Optimized OS can write here only.
export HOME=${L4_HOME:-/var/lib/tucano}

attribute() {
    curl --fail --silent --show-error --max-time 10 --retry 5 --retry-connrefused --header 'Metadata-Flavor: Google' \
        "$METADATA/attributes/$1"
}

until_done() { # runs a command until it succeeds: nobody else would start the engine
    until "$@"; do
        echo "$1 failed; trying again in a minute" >&2
        sleep "${ENGINE_SECONDS_BETWEEN_TRIES:-60}"
    done
}

image=$(attribute tucano-image)
weights=$(attribute tucano-weights)
mkdir -p "$HOME"

# The wheels are for CUDA 13, which needs the driver 580 or newer.
until_done cos-extensions install gpu -- -version=latest
mount --bind "$DRIVER" "$DRIVER"
mount -o remount,exec "$DRIVER"
driver=$("$DRIVER/bin/nvidia-smi" --query-gpu=driver_version --format=csv,noheader)
if [[ ${driver%%.*} -lt 580 ]]; then
    echo "the driver is $driver, and CUDA 13 needs 580 or newer: choose a newer image of Container-Optimized OS" >&2
    exit 1
fi

docker-credential-gcr configure-docker --registries="${image%%/*}"
until_done docker pull "$image"

# The one of before, which Docker may have started again without a driver.
docker rm --force tucano-engine >/dev/null 2>&1 || true
docker run --detach --name tucano-engine --restart always --stop-timeout 25 --network host --shm-size 1g \
    --read-only --tmpfs /tmp:exec --cap-drop ALL --security-opt no-new-privileges --env HOME=/tmp \
    --volume "$DRIVER/lib64:/usr/local/nvidia/lib64:ro" \
    --volume "$DRIVER/bin:/usr/local/nvidia/bin:ro" \
    --device /dev/nvidia0 --device /dev/nvidiactl --device /dev/nvidia-uvm \
    --log-driver gcplogs \
    "$image" infra/docker/engine.sh "$weights"
