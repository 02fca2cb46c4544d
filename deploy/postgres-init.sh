#!/bin/sh
# Run once by the postgres image, on an empty data directory: the account and the databases of one program. The program is no superuser:
# it owns its databases and nothing else.
set -eu
: "${APP_USER:?}" "${APP_PASSWORD:?}" "${APP_DATABASES:?}"

# psql quotes what it is given; the password stands in no command line and in no log.
run() {
  psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres "$@"
}
run <<'SQL'
\getenv user APP_USER
\getenv password APP_PASSWORD
create role :"user" login password :'password';
SQL
for database in $APP_DATABASES; do
  run --set database="$database" --set user="$APP_USER" <<'SQL'
create database :"database" owner :"user";
revoke all on database :"database" from public;
SQL
done
