#!/usr/bin/env bash
# How a container on one of Google's machines speaks for the machine's account; l4.sh and with-secrets.sh read this file.
METADATA=${GCE_METADATA_HOST:-metadata.google.internal}

field() { # of the JSON object on stdin
    python3 -c 'import json, sys
value = json.load(sys.stdin)
for name in sys.argv[1:]:
    value = value[name]
print(value)' "$@"
}

token() { # of the account, for an hour
    curl --fail --silent --show-error --max-time 10 --header 'Metadata-Flavor: Google' \
        "http://$METADATA/computeMetadata/v1/instance/service-accounts/default/token" | field access_token
}
