#!/usr/bin/env bash
# vLLM as an engine of its own, for `serve.engine_url`: engine.sh WEIGHTS [OPTION of vLLM's server]...
#
# WEIGHTS is a folder of merged weights, or one of a bucket, gs://BUCKET/FOLDER, which is fetched first. They answer by the
# name `champion`, as the gateway asks. Nothing of it is open to others than the gateway: it asks nobody for a token.
set -euo pipefail
weights=${1:?is missing: a folder of merged weights, or gs://BUCKET/FOLDER}
shift

if [[ $weights == gs://* ]]; then
    fetched=${ENGINE_WEIGHTS:-/tmp/weights}
    python - "$weights" "$fetched" <<'PYTHON'
import sys
from pathlib import Path

from google.cloud import storage

address, folder = sys.argv[1], Path(sys.argv[2])
name, _, prefix = address.removeprefix("gs://").partition("/")
prefix = prefix.rstrip("/") + "/"
bucket = storage.Client().bucket(name)
keys = [blob.name for blob in bucket.list_blobs(prefix=prefix) if not blob.name.endswith("/")]
if not keys:
    sys.exit(f"{address} holds no file; put the merged weights there")
for key in keys:
    file = folder / key.removeprefix(prefix)
    file.parent.mkdir(parents=True, exist_ok=True)
    bucket.blob(key).download_to_filename(file)
PYTHON
    weights=$fetched
fi
[[ -f $weights/config.json ]] ||
    { echo "$weights has no config.json; give a folder of merged weights" >&2; exit 2; }

# Nothing about a shop's model is sent anywhere.
export VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1 HF_HUB_OFFLINE=1
# FlashInfer's sampler is compiled by nvcc as the engine starts, and images have none.
export VLLM_USE_FLASHINFER_SAMPLER=0
# The trainer's environment: the vLLM that training was checked with. As the gateway starts its own.
exec "${ENGINE_INTERPRETER:-/opt/trainer/bin/python}" -m vllm.entrypoints.openai.api_server --model "$weights" \
    --served-model-name champion --host 0.0.0.0 --port 8000 "$@"
