#!/bin/sh
# The namespace and its search attributes; run at every start, before the workers. A repeat changes nothing.
# Address and namespace: TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE.
set -eu
: "${TEMPORAL_ADDRESS:?}" "${TEMPORAL_NAMESPACE:?}"

# Tries a command for two minutes: the server's port is open before its services have found each other, and a new namespace is known to
# all of them within seconds. The last failure is shown.
patiently() {
  attempt=1
  until output=$("$@" 2>&1); do
    if [ "$attempt" -ge 60 ]; then
      echo "$output" >&2
      return 1
    fi
    attempt=$((attempt + 1))
    sleep 2
  done
}

patiently temporal operator cluster health
if ! temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1; then
  # What ended stays visible for three days; Muster's own record is in Postgres and kept by its own rules.
  patiently temporal operator namespace create --retention 72h --namespace "$TEMPORAL_NAMESPACE"
fi
# One that exists is left alone, with exit code 0.
patiently temporal operator search-attribute create --namespace "$TEMPORAL_NAMESPACE" --name MusterHandler --type Keyword
echo "namespace $TEMPORAL_NAMESPACE is ready"
