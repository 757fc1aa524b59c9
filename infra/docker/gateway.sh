#!/usr/bin/env bash
# The gateway in a container, as all its containers have it: gateway.sh [OPTION of `tucano serve`]...
#
# Its log is in /state/logs, a volume. Where no disk outlives the container (Cloud Run), GATEWAY_LOGS names a folder of a
# bucket, gs://BUCKET/FOLDER: each minute and at the end the files that changed are copied there, under names that no other
# container writes. So a container that ends without notice loses the lines of a minute at most.
set -euo pipefail
: "${MLFLOW_SERVER:?is not set: the address of MLflow, http://HOST:5000}"

# shellcheck source=infra/docker/google.sh
source "$(dirname "$0")/google.sh"
STATE=${GATEWAY_STATE:-/state}
STORAGE=${GATEWAY_STORAGE_URL:-https://storage.googleapis.com}
PAUSE=${GATEWAY_SECONDS_BETWEEN_COPIES:-60}

# Other machines reach it, and so it asks for tokens: those in GATEWAY_TOKENS, with a comma between two.
serve=(tucano serve --profile "${GATEWAY_PROFILE:-local}"
    --set "state.root=$STATE" --set "state.mlflow=$MLFLOW_SERVER"
    --set serve.host=0.0.0.0 --set serve.token_variable=GATEWAY_TOKENS "$@")
if [[ -z ${GATEWAY_LOGS:-} ]]; then exec "${serve[@]}"; fi

[[ $GATEWAY_LOGS == gs://*/* ]] ||
    { echo "GATEWAY_LOGS is '$GATEWAY_LOGS'; give a folder of a bucket, gs://BUCKET/FOLDER" >&2; exit 2; }
bucket=${GATEWAY_LOGS#gs://} folder=${GATEWAY_LOGS#gs://*/} bucket=${bucket%%/*}
container=$(</proc/sys/kernel/random/uuid)
marks=$(mktemp --directory)
touch --date @0 "$marks/copied"

copy() { # the files that changed since the last copy
    local bearer name
    bearer=$(token) || return 1
    touch "$marks/begun"
    while read -r name; do
        # By stdin: the list of processes would show a header that is an argument.
        curl --fail --silent --show-error --max-time 60 --output /dev/null --request POST \
            --upload-file "$STATE/logs/$name" --config - \
            "$STORAGE/upload/storage/v1/b/$bucket/o?uploadType=media&name=$folder/${name%.jsonl}-$container.jsonl" \
            <<<"header = \"Authorization: Bearer $bearer\"
header = \"Content-Type: application/x-ndjson\"" || return 1
    done < <(find "$STATE/logs" -name '*.jsonl' -newer "$marks/copied" -printf '%P\n')
    # As of before: what was written meanwhile is copied again.
    mv "$marks/begun" "$marks/copied"
}

keep_copying() {
    # Of this script's output, which a sleep that outlives it must not keep open.
    while sleep "$PAUSE" >/dev/null 2>&1; do
        copy || echo "the log could not be copied to $GATEWAY_LOGS; trying again" >&2
    done
}

mkdir -p "$STATE/logs"
"${serve[@]}" &
gateway=$!
trap 'kill -TERM "$gateway" 2>/dev/null || true' TERM INT
keep_copying &
copying=$!
# A signal ends a wait, and the gateway answers what it was asked before: the last wait gives the gateway's own code.
while kill -0 "$gateway" 2>/dev/null; do wait "$gateway" || true; done
code=0
wait "$gateway" || code=$?
kill "$copying"
copy || { echo "the last lines of the log could not be copied to $GATEWAY_LOGS, and are lost" >&2; exit 1; }
exit "$code"
