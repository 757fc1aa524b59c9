#!/usr/bin/env bash
# On its first start PostgreSQL makes a database and its owner for each server; neither can read the other's.
set -euo pipefail
for name in prefect mlflow; do
    variable="${name^^}_DATABASE_PASSWORD"
    : "${!variable:?is not set in compose.env}"
    # The password goes by way of the environment: the list of processes would show an argument.
    TUCANO_PASSWORD="${!variable}" psql --username "$POSTGRES_USER" --dbname postgres --set ON_ERROR_STOP=1 \
        --set name="$name" <<'SQL'
\getenv password TUCANO_PASSWORD
CREATE ROLE :"name" LOGIN PASSWORD :'password';
CREATE DATABASE :"name" OWNER :"name";
REVOKE ALL ON DATABASE :"name" FROM PUBLIC;
SQL
done
