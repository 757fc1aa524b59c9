#!/usr/bin/env bash
# Run a command with secrets of Google's Secret Manager in its environment: for each variable NAME_SECRET that names one
# (projects/PROJECT/secrets/SECRET/versions/latest), NAME is set. So no secret stands in a machine's metadata, in a job's
# description or in the output of `docker inspect`. Without such variables this only runs the command.
set -euo pipefail

# shellcheck source=infra/docker/google.sh
source "$(dirname "$0")/google.sh"
MANAGER=${SECRET_MANAGER_URL:-https://secretmanager.googleapis.com/v1}

bearer=""
for variable in $(compgen -A export); do
    [[ $variable == *_SECRET && -n ${!variable} ]] || continue
    if [[ -z $bearer ]]; then
        bearer=$(token) ||
            { echo "the machine's service account gives no token; secrets are read on Google's machines only" >&2; exit 2; }
    fi
    # By stdin: the list of processes would show a header that is an argument.
    value=$(curl --fail --silent --show-error --max-time 30 --config - <<<"header = \"Authorization: Bearer $bearer\"
url = \"$MANAGER/${!variable}:access\"" | field payload data | base64 --decode) ||
        { echo "the secret ${!variable} cannot be read; give the machine's service account access to it" >&2; exit 2; }
    export "${variable%_SECRET}=$value"
done
exec "$@"
