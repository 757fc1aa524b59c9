#!/usr/bin/env bash
# MLflow's server with basic authentication; its users are in the same database as its runs. They are made here: `admin`,
# for people, whose password is changed on the page from then on, and `worker`, for machines, whose password is the one
# given at each start. `worker` may change what it has made, read what others have made, and make no user. Where its
# password is given, so is `gateway`, which strangers' requests reach: of what others have made it changes nothing.
set -euo pipefail
: "${MLFLOW_BACKEND_STORE_URI:?is not set: where MLflow keeps its runs}"
: "${MLFLOW_AUTH_ADMIN_PASSWORD:?is not set: the first password of the user admin}"
: "${MLFLOW_WORKER_PASSWORD:?is not set: the password of the user worker}"
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

python - <<'PYTHON'
import os

from mlflow.server.auth.sqlalchemy_store import SqlAlchemyStore

store = SqlAlchemyStore()
store.init_db(os.environ["MLFLOW_BACKEND_STORE_URI"])
for user in ("worker", "gateway"):
    if password := os.environ.get(f"MLFLOW_{user.upper()}_PASSWORD"):
        keep = store.update_user if store.has_user(user) else store.create_user
        keep(user, password=password)
PYTHON
unset MLFLOW_WORKER_PASSWORD MLFLOW_GATEWAY_PASSWORD

exec mlflow server --app-name basic-auth --host 0.0.0.0 --port "${MLFLOW_PORT:-5000}" --workers 1
