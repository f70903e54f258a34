# One image for every role. The first argument of the container is the role: `api`, `worker` or `start`.
# docs/deployment.md says how to run it, and docker-compose.yml runs it.

# The Node.js version that the lock file has for development. Production runs the version that was tested.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
# The manifests come first, so that a change of source code does not invalidate the layer of dependencies. `npm ci` compares
# the lock file with every workspace, so all of them are here, even those that are not built.
COPY package.json package-lock.json .npmrc ./
COPY apps/api/package.json apps/api/
COPY apps/console/package.json apps/console/
COPY apps/sluice/package.json apps/sluice/
COPY apps/worker/package.json apps/worker/
COPY packages/admission/package.json packages/admission/
COPY packages/protocols/package.json packages/protocols/
COPY packages/tenants/package.json packages/tenants/
COPY packages/operator/package.json packages/operator/
COPY packages/service-stats/package.json packages/service-stats/
COPY packages/simulation/package.json packages/simulation/
COPY packages/bench/package.json packages/bench/
COPY packages/client/package.json packages/client/
COPY packages/client-tests/package.json packages/client-tests/
COPY packages/config/package.json packages/config/
COPY packages/contract/package.json packages/contract/
COPY packages/embedded-store/package.json packages/embedded-store/
COPY packages/journal/package.json packages/journal/
COPY packages/traces/package.json packages/traces/
COPY packages/batches/package.json packages/batches/
COPY packages/files/package.json packages/files/
COPY packages/usage/package.json packages/usage/
COPY packages/webhooks/package.json packages/webhooks/
COPY packages/wiring/package.json packages/wiring/
COPY packages/response-store/package.json packages/response-store/
COPY packages/providers/package.json packages/providers/
COPY packages/queue/package.json packages/queue/
COPY packages/runtime/package.json packages/runtime/
COPY packages/system-tests/package.json packages/system-tests/
COPY packages/testing/package.json packages/testing/
RUN npm ci --ignore-scripts
COPY tsconfig.base.json ./
COPY apps ./apps
COPY packages ./packages
RUN node apps/sluice/build/main.ts
RUN npm run build --workspace apps/console

# This stage gathers what a Node.js needs of its base image: its program, the libraries that it is linked to, with their licences
# and the records by which scanners know their versions, and the user `node`. A shell, a package manager and npm are left behind:
# the service needs none, and what is not there needs no update.
FROM ${NODE_IMAGE} AS system
COPY docker/gather-system.sh /gather-system.sh
RUN sh /gather-system.sh /system && install -d -m 700 /data/sluice

# This stage keeps what runs: the production dependencies of the command, its bundle, the Lua scripts, which it reads where they
# stand in the repository, and of the console its build alone, which is files to serve. Optional packages are left
# out: a Node.js, which the image has, and native accelerators, which have fallbacks. So are source maps, types and tests
# of dependencies, and the data of the tokenizer in the forms that nothing here loads. The bill of materials lists what is left.
FROM build AS production
RUN npm ci --ignore-scripts --omit=dev --omit=optional --workspace apps/sluice
RUN rm -rf packages/bench packages/client packages/client-tests packages/system-tests packages/testing node_modules/@sluice/testing \
  && rm -rf apps/console/package.json node_modules/@sluice/console apps/sluice/run.mjs apps/sluice/build \
  && find apps packages -type f ! -path '*/node_modules/*' ! -path '*/dist/*' ! -path '*/src/*.lua' \
       ! -name package.json ! -name '*.mjs' -delete \
  && find apps packages -path '*/dist/*' \( -name '*.d.ts' -o -name '*.d.ts.map' -o -name '*.tsbuildinfo' \) -delete \
  && find node_modules -type f \( -name '*.map' -o -name '*.ts' -o -name '*.mts' -o -name '*.cts' -o -name '*.tsbuildinfo' \) -delete \
  && find node_modules -name package.json -printf '%h\n' >/packages \
  && while read -r folder; do rm -rf "$folder"/test "$folder"/tests "$folder"/benchmark "$folder"/benchmarks; done </packages \
  && rm -rf node_modules/gpt-tokenizer/cjs node_modules/gpt-tokenizer/data node_modules/gpt-tokenizer/src \
  && find apps packages node_modules -type d -empty -delete
COPY docker/write-sbom.mjs ./docker/
COPY --from=system /system/var/lib/dpkg/status.d /status.d
RUN node docker/write-sbom.mjs sbom.cdx.json /status.d

FROM scratch
# Tools that list images show these. A build of your own names its commit: --build-arg REVISION=$(git rev-parse HEAD)
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Sluice" \
  org.opencontainers.image.description="A self-hosted Responses API whose accepted work survives crashes and whose live streams can be resumed from any replica." \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}"
COPY --from=system /system/ /
# A folder for a volume with what an api keeps. A new volume of Docker takes its owner from here.
COPY --from=system --chown=1000:1000 /data/ /var/lib/
WORKDIR /app
ENV PATH=/usr/local/bin:/usr/bin:/bin
# The threads of a process share two arenas of glibc. With one for each it holds 6 MB more, and is no faster.
ENV MALLOC_ARENA_MAX=2
# A container is reached from outside, so it must listen on more than loopback. With these addresses the service does not
# start without an API key, in the file or in Redis, and ADMIN_TOKEN.
ENV HOST=0.0.0.0 PORT=3000 ADMIN_HOST=0.0.0.0 ADMIN_PORT=3001 WORKER_HEALTH_PORT=3002 DATA_DIR=/tmp/sluice
# Node.js sizes its heap by the memory limit of the container. To leave more memory for buffers, which are outside the
# heap, set NODE_OPTIONS=--max-old-space-size=<three quarters of the limit, in MiB>. NODE_OPTIONS=--enable-source-maps names lines of
# the sources in stack traces, and costs each process 50 MB.
COPY --from=production /app/package.json /app/sbom.cdx.json ./
COPY --from=production /app/node_modules ./node_modules
COPY --from=production /app/packages ./packages
COPY --from=production /app/apps ./apps
COPY LICENSE ./
COPY docker/check-health.mjs docker/pause-before-restart.mjs ./docker/
# The user `node` of the base image, by its number, because Kubernetes checks by the number that it is not root. The files belong
# to root, so the service cannot change its own code.
USER 1000:1000
EXPOSE 3000 3001 3002
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 CMD ["node", "docker/check-health.mjs"]
# The exec form makes signals reach Node.js, and there is no shell. The service stops on SIGTERM within DRAIN_TIMEOUT_MS.
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "--import=/app/docker/pause-before-restart.mjs", "apps/sluice/dist/main.js"]
CMD ["api"]
