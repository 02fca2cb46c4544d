#!/bin/sh
# Writes .env beside docker-compose.yml, with a new random secret for each account. Never replaces one that exists: the databases were
# made with its passwords. Another place: deploy/generate-env.sh FILE
set -eu
file=${1:-$(dirname "$0")/../.env}
version=$(sed -n 's/^  "version": "\([^"]*\)",$/\1/p' "$(dirname "$0")/../package.json")
umask 077
# 24 bytes as hex: safe in a URL, in a shell and in YAML.
secret() { head -c 24 /dev/urandom | od -An -v -tx1 | tr -d ' \n'; }

# noclobber: also where two run at once, only one makes the file. In a subshell: a redirection that fails ends the shell.
if ! (set -C && : >"$file") 2>/dev/null; then
  [ -e "$file" ] || { echo "$file cannot be written" >&2; exit 1; }
  echo "$file exists and was left as it is: the databases were made with its passwords. To start over, remove it and the volumes." >&2
  exit 1
fi
cat >"$file" <<END
# Written by deploy/generate-env.sh. Secret: readable by its owner only, never committed.
# The other settings, all optional, are listed in .env.example.

# Tag of the image; a new one with each upgrade (docker-compose.yml, worker-previous).
MUSTER_VERSION=$version

MUSTER_POSTGRES_PASSWORD=$(secret)
MUSTER_POSTGRES_WORKER_PASSWORD=$(secret)
MUSTER_POSTGRES_ADMIN_PASSWORD=$(secret)
TEMPORAL_POSTGRES_PASSWORD=$(secret)
TEMPORAL_POSTGRES_ADMIN_PASSWORD=$(secret)
MUSTER_WEBHOOK_SECRET=whsec_$(head -c 32 /dev/urandom | base64 | tr -d '\n')
END
echo "wrote $file"
