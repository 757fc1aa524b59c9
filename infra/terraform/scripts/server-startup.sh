#!/usr/bin/env bash
# What compose.yaml needs; the rest is done by hand once, with the secrets.
set -euo pipefail
if ! command -v docker >/dev/null; then
    apt-get update
    DEBIAN_FRONTEND=noninteractive apt-get install --yes docker.io docker-compose-v2 docker-buildx git
fi
