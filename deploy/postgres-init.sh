#!/bin/sh
# Run by the postgres image, on an empty data directory: the accounts and the databases of one program. Makes what is missing, so that it may be
# run again by hand: docker compose exec postgres sh /docker-entrypoint-initdb.d/postgres-init.sh
# APP_USER is no superuser: it owns its databases and nothing else. APP_WORKER_USER, if there is one, is a member of muster_worker: it reads and
# writes work, and neither tables, functions and triggers nor tokens are its own.
set -eu
: "${APP_USER:?}" "${APP_PASSWORD:?}" "${APP_DATABASES:?}"

# psql quotes what it is given; the password stands in no command line and in no log.
run() {
  psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --username "${POSTGRES_USER:-postgres}" --dbname postgres "$@"
}
run <<'SQL'
\getenv user APP_USER
\getenv password APP_PASSWORD
select format('create role %I login password %L', :'user', :'password') where to_regrole(quote_ident(:'user')) is null \gexec
SQL
for database in $APP_DATABASES; do
  run --set database="$database" --set user="$APP_USER" <<'SQL'
select format('create database %I owner %I', :'database', :'user')
where not exists (select from pg_database where datname = :'database') \gexec
revoke all on database :"database" from public;
SQL
done

if [ -n "${APP_WORKER_USER:-}" ]; then
  : "${APP_WORKER_PASSWORD:?}"
  # The roles of `muster migrate roles`, here since the owner may make none; `muster migrate --roles` gives them their rights.
  run <<'SQL'
\getenv user APP_USER
\getenv worker APP_WORKER_USER
\getenv password APP_WORKER_PASSWORD
select format('create role %I nologin', name) from unnest('{muster_owner,muster_worker,muster_submit}'::text[]) name
where to_regrole(name) is null \gexec
select format('create role %I login password %L', :'worker', :'password') where to_regrole(quote_ident(:'worker')) is null \gexec
grant muster_owner to :"user";
grant muster_worker to :"worker";
SQL
  for database in $APP_DATABASES; do
    run --set database="$database" <<'SQL'
grant connect on database :"database" to muster_worker, muster_submit;
SQL
  done
fi
