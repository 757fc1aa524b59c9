#!/usr/bin/env bash
# What compose.yaml needs; the rest is done by hand once, with the secrets.
set -euo pipefail
# Not `docker` alone: an image may bring that without compose, and a start that broke off may have left it so.
if ! docker compose version >/dev/null 2>&1; then
    apt-get update
    DEBIAN_FRONTEND=noninteractive apt-get install --yes docker.io docker-compose-v2 docker-buildx git
fi
