import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually, freePort } from '@sluice/testing';
import { type Caller, callerOf } from '../src/caller.ts';
import {
  type ContainerFacts,
  docker,
  type DockerResult,
  inspectContainers,
  tryInside,
  tryDocker,
} from './docker.ts';

/** What the names of test projects begin with. The process id of the run follows. */
export const projectPrefix = 'sluice-test-';

const root = fileURLToPath(new URL('../../..', import.meta.url));

export type ServiceName = 'api' | 'worker' | 'valkey';

/** The services of docker-compose.yml under a name, ports and secrets of their own. */
export interface ComposeProject {
  name: string;
  caller: Caller;
  apiUrl: string;
  adminUrl: string;
  adminToken: string;
  /** Runs `docker compose` on the project. Rejects with what it printed when it fails. */
  compose: (...args: string[]) => Promise<string>;
  /** The same, for what is expected to fail. The variables come before the secrets of the project. */
  tryCompose: (args: readonly string[], env?: Record<string, string>) => Promise<DockerResult>;
  /** Starts everything with so many workers, and resolves when all are healthy. */
  up: (workers: number) => Promise<void>;
  /** The containers of a service, or of all. Those that have ended are among them. */
  containers: (service?: ServiceName) => Promise<ContainerFacts[]>;
  /** Kills the Node.js of a container as a crash would. */
  crash: (id: string) => Promise<void>;
  /** Resolves when the api answers again. */
  answers: () => Promise<void>;
  /** Standard output and standard error of a container. */
  log: (id: string) => Promise<string>;
  /** Removes containers, networks and volumes. May be called twice. */
  remove: () => Promise<void>;
}

/** Far longer than a start takes when other tests have the processors. */
const healthyWithinSeconds = 240;
const patience = { timeoutMs: 120_000 };

/** Writes the settings of a project. Nothing of it runs before `up`, or a command of compose that starts something. */
export async function composeProject(image: string): Promise<ComposeProject> {
  const name = `${projectPrefix}${process.pid}-${randomBytes(4).toString('hex')}`;
  const folder = await mkdtemp(join(tmpdir(), `${name}-`));
  const [apiPort, adminPort] = [await freePort(), await freePort()];
  const secret = () => randomBytes(24).toString('hex');
  const secrets = { SLUICE_API_KEY: `sk-${secret()}`, ADMIN_TOKEN: secret(), VALKEY_PASSWORD: secret() };
  // In place of the file .env of whoever runs the tests.
  await writeFile(join(folder, 'empty.env'), '');
  await writeFile(join(folder, 'test.yml'), overrides(image, apiPort, adminPort));
  const command = [
    ...['compose', '--project-name', name, '--project-directory', root, '--progress', 'quiet'],
    ...['--env-file', join(folder, 'empty.env')],
    ...['--file', join(root, 'docker-compose.yml'), '--file', join(folder, 'test.yml')],
  ];
  const timeoutMs = (healthyWithinSeconds + 60) * 1000;
  const ownSettings = { SLUICE_SETTINGS: './docker/settings.yaml' };
  const compose = (...args: string[]) =>
    docker([...command, ...args], { timeoutMs, env: { ...ownSettings, ...secrets } });
  const apiUrl = `http://127.0.0.1:${apiPort}`;
  const containers = async (service?: ServiceName) => {
    const listed = await compose('ps', '--all', '--quiet', ...(service === undefined ? [] : [service]));
    return inspectContainers(listed.split('\n').filter((id) => id !== ''));
  };
  return {
    name,
    caller: callerOf(apiUrl, secrets.SLUICE_API_KEY),
    apiUrl,
    adminUrl: `http://127.0.0.1:${adminPort}`,
    adminToken: secrets.ADMIN_TOKEN,
    compose,
    tryCompose: (args, env) =>
      tryDocker([...command, ...args], { timeoutMs, env: { ...ownSettings, ...secrets, ...env } }),
    async up(workers) {
      const waiting = ['--wait', '--wait-timeout', String(healthyWithinSeconds)];
      await compose('up', '--detach', '--no-build', '--scale', `worker=${workers}`, ...waiting);
    },
    containers,
    async crash(id) {
      const { code, output, errors } = await tryInside(id, killOthers);
      // The container may end before the process that has ended it, which is killed with it then.
      if (code !== 0 && code !== killed) throw new Error(`no crash, but ${code}:\n${output}${errors}`);
    },
    async answers() {
      await eventually(async () => (await fetch(`${apiUrl}/readyz`)).ok, patience);
    },
    async log(id) {
      const { output, errors } = await tryDocker(['logs', id]);
      return output + errors;
    },
    async remove() {
      await removeProject(name);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Image and ports of the run. A file `.env` of whoever runs the tests stays out of them. */
function overrides(image: string, apiPort: number, adminPort: number): string {
  const role = `{ image: "${image}", build: !reset null, env_file: !override [] }`;
  return `services:
  api:
    <<: &role ${role}
    ports: !override ["127.0.0.1:${apiPort}:3000", "127.0.0.1:${adminPort}:3001"]
  worker: *role
`;
}

/** The exit code of a process that SIGKILL has ended. */
const killed = 137;

/** Kills every Node.js in the container but the one that runs this. Its init process ends with it, as after a crash. */
const killOthers = `
  const fs = require('node:fs');
  for (const pid of fs.readdirSync('/proc').filter((name) => Number(name) > 1).map(Number)) {
    if (pid !== process.pid && fs.readlinkSync('/proc/' + pid + '/exe').endsWith('/node')) process.kill(pid, 'SIGKILL');
  }
`;

/** Removes what a project has made, by its labels: its files may be gone. Resolves also if there is nothing. */
export async function removeProject(name: string): Promise<void> {
  const filter = ['--quiet', '--filter', `label=com.docker.compose.project=${name}`];
  const list = async (...args: string[]) =>
    (await docker([...args, ...filter])).split('\n').filter((id) => id !== '');
  const ids = await list('ps', '--all');
  if (ids.length > 0) await docker(['rm', '--force', '--volumes', ...ids]);
  const networks = await list('network', 'ls');
  if (networks.length > 0) await docker(['network', 'rm', ...networks]);
  const volumes = await list('volume', 'ls');
  if (volumes.length > 0) await docker(['volume', 'rm', '--force', ...volumes]);
}
