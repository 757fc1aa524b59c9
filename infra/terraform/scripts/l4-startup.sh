#!/usr/bin/env bash
# From a bare machine with an L4 to a worker: the driver, the image, the container. Nothing is mounted but the driver:
# all that lasts is in the bucket, and secrets are read inside the container. The container sends the machine away when
# no run waits (infra/docker/l4.sh).
set -euo pipefail

attribute() {
    curl --fail --silent --show-error --header 'Metadata-Flavor: Google' \
        "http://metadata.google.internal/computeMetadata/v1/instance/attributes/$1"
}

image=$(attribute tucano-image)
# Container-Optimized OS can write here only.
export HOME=/var/lib/tucano
mkdir -p "$HOME"

# The wheels are for CUDA 13, which needs the driver 580 or newer.
cos-extensions install gpu -- -version=latest
mount --bind /var/lib/nvidia /var/lib/nvidia
mount -o remount,exec /var/lib/nvidia
driver=$(/var/lib/nvidia/bin/nvidia-smi --query-gpu=driver_version --format=csv,noheader)
if [[ ${driver%%.*} -lt 580 ]]; then
    echo "the driver is $driver, and CUDA 13 needs 580 or newer: choose a newer image of Container-Optimized OS" >&2
fi

docker-credential-gcr configure-docker --registries="${image%%/*}"
for pause in 5 20 60 0; do
    if docker pull "$image"; then break; fi
    sleep "$pause"
done

# 25 seconds to end: Google gives a Spot machine 30. With the host's network the metadata server answers as everywhere.
docker run --detach --name tucano --restart on-failure --stop-timeout 25 --network host --shm-size 4g \
    --volume /var/lib/nvidia/lib64:/usr/local/nvidia/lib64:ro \
    --volume /var/lib/nvidia/bin:/usr/local/nvidia/bin:ro \
    --device /dev/nvidia0 --device /dev/nvidiactl --device /dev/nvidia-uvm \
    --log-driver gcplogs \
    --env PREFECT_API_URL="$(attribute tucano-prefect)" \
    --env PREFECT_API_AUTH_STRING_SECRET="$(attribute tucano-prefect-secret)" \
    --env MLFLOW_TRACKING_USERNAME=admin \
    --env MLFLOW_TRACKING_PASSWORD_SECRET="$(attribute tucano-mlflow-secret)" \
    --env L4_GROUP="$(attribute tucano-group)" \
    "$image"
