#!/usr/bin/env bash
# Run a command with secrets of Google's Secret Manager in its environment: for each variable NAME_SECRET that names one
# (projects/PROJECT/secrets/SECRET/versions/latest), NAME is set. So no secret stands in a machine's metadata, in a job's
# description or in the output of `docker inspect`. Without such variables this only runs the command.
set -euo pipefail

METADATA=${GCE_METADATA_HOST:-metadata.google.internal}
MANAGER=${SECRET_MANAGER_URL:-https://secretmanager.googleapis.com/v1}

field() { # of the JSON object on stdin
    python3 -c 'import json, sys
value = json.load(sys.stdin)
for name in sys.argv[1:]:
    value = value[name]
print(value)' "$@"
}

token=""
for variable in $(compgen -A export); do
    [[ $variable == *_SECRET && -n ${!variable} ]] || continue
    if [[ -z $token ]]; then
        token=$(curl --fail --silent --show-error --max-time 10 --header 'Metadata-Flavor: Google' \
            "http://$METADATA/computeMetadata/v1/instance/service-accounts/default/token" | field access_token) ||
            { echo "the machine's service account gives no token; secrets are read on Google's machines only" >&2; exit 2; }
    fi
    # By stdin: the list of processes would show a header that is an argument.
    value=$(curl --fail --silent --show-error --max-time 30 --config - <<<"header = \"Authorization: Bearer $token\"
url = \"$MANAGER/${!variable}:access\"" | field payload data | base64 --decode) ||
        { echo "the secret ${!variable} cannot be read; give the machine's service account access to it" >&2; exit 2; }
    export "${variable%_SECRET}=$value"
done
exec "$@"
