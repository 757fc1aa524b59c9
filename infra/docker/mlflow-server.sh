#!/usr/bin/env bash
# MLflow's server with basic authentication; its users are in the same database as its runs.
set -euo pipefail
: "${MLFLOW_BACKEND_STORE_URI:?is not set: where MLflow keeps its runs}"
: "${MLFLOW_AUTH_ADMIN_PASSWORD:?is not set: the first password of the user admin}"
: "${MLFLOW_FLASK_SERVER_SECRET_KEY:?is not set: what signs the forms of the page}"

# The address holds the database's password, so that it stands in a file of this user's own and in no command line.
umask 077
MLFLOW_AUTH_CONFIG_PATH=$(mktemp)
export MLFLOW_AUTH_CONFIG_PATH
# An ini file takes a % for the beginning of a reference.
cat >"$MLFLOW_AUTH_CONFIG_PATH" <<INI
[mlflow]
default_permission = READ
database_uri = ${MLFLOW_BACKEND_STORE_URI//%/%%}
admin_username = admin
authorization_function = mlflow.server.auth:authenticate_request_basic_auth
INI

exec mlflow server --app-name basic-auth --host 0.0.0.0 --port "${MLFLOW_PORT:-5000}" --workers 1
