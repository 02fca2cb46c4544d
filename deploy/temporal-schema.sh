#!/bin/sh
# Brings Temporal's two databases to the version of this admin-tools image; run at every start, before the server. Where it stands is in
# the databases, so that a repeat changes nothing. Account and address: SQL_* in the environment.
set -eu
: "${SQL_PLUGIN:?}" "${SQL_HOST:?}" "${SQL_USER:?}" "${SQL_PASSWORD:?}"
schema=${TEMPORAL_SCHEMA_DIR:-/etc/temporal/schema/postgresql/v12}

for database in temporal visibility; do
  case $database in
    temporal) name=temporal ;;
    visibility) name=temporal_visibility ;;
  esac
  temporal-sql-tool --database "$name" setup-schema --version 0.0
  temporal-sql-tool --database "$name" update-schema --schema-dir "$schema/$database/versioned"
done
