import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { eventually } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { type ComposeProject, composeProject } from './compose-project.ts';
import { type ContainerFacts, inspectContainers, tryDocker } from './docker.ts';

const image = inject('image');

/** What a container needs to come as far as its settings. Nobody answers at this address. */
const enough = { REDIS_URL: 'redis://127.0.0.1:1', ADMIN_TOKEN: 'a'.repeat(32) };

describe.skipIf(image === '')('a container that cannot start (needs a Docker engine with compose)', () => {
  /** Runs the image alone, and resolves with its exit code and the lines that it printed. */
  const run = async (env: Record<string, string>, ...args: string[]) => {
    const variables = Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
    const { code, output, errors } = await tryDocker(['run', '--rm', '--init', ...variables, image, ...args]);
    return { code, lines: `${output}${errors}`.trim().split('\n') };
  };

  it.each(['api', 'worker'])('says that %s has no address of a store', async (role) => {
    const { code, lines } = await run({ ADMIN_TOKEN: enough.ADMIN_TOKEN }, role);
    expect(code).toBe(2);
    expect(lines).toEqual([expect.stringContaining('REDIS_URL')]);
  });

  it('says that an api has no token for operators', async () => {
    const { code, lines } = await run({ REDIS_URL: enough.REDIS_URL }, 'api');
    expect(code).toBe(2);
    expect(lines).toEqual([expect.stringContaining('ADMIN_TOKEN')]);
  });

  it.each(['api', 'worker'])('says that the settings file of %s is not there', async (role) => {
    const { code, lines } = await run({ ...enough, SLUICE_CONFIG: '/etc/sluice/nowhere.yaml' }, role);
    expect(code).toBe(2);
    expect(lines).toEqual([expect.stringMatching(/SLUICE_CONFIG.*\/etc\/sluice\/nowhere\.yaml/)]);
  });

  it('refuses a command with a wrong setting', async () => {
    const { code } = await run({ REDIS_URL: 'nonsense' }, 'keys', 'list');
    expect(code).toBe(2);
  });
});

describe.skipIf(image === '')('docker compose with bad input (needs a Docker engine with compose)', () => {
  let project: ComposeProject;
  beforeEach(async () => {
    project = await composeProject(image);
  });
  afterEach(async () => {
    await project.remove();
  });
  const up = ['up', '--detach', '--no-build', '--wait', '--wait-timeout', '120'];

  it.each(['SLUICE_API_KEY', 'ADMIN_TOKEN', 'VALKEY_PASSWORD'])(
    'starts nothing without %s',
    async (secret) => {
      const { code, errors } = await project.tryCompose(up, { [secret]: '' });
      expect(code).not.toBe(0);
      expect(errors).toMatch(new RegExp(`${secret}.*docs/deployment\\.md`));
      expect(await project.containers()).toEqual([]);
    },
  );

  it('starts no service with a settings file that is not there, and makes no folder in its place', async () => {
    const missing = './docker/nowhere.yaml';
    const { code, errors } = await project.tryCompose(up, { SLUICE_SETTINGS: missing });
    expect(code).not.toBe(0);
    expect(errors).toMatch(/nowhere\.yaml/);
    const containers = [...(await project.containers('api')), ...(await project.containers('worker'))];
    expect(containers.filter(({ State }) => State.Status !== 'created')).toEqual([]);
    expect(existsSync(fileURLToPath(new URL(`../../../${missing}`, import.meta.url)))).toBe(false);
  });

  it('says that a store evicts accepted work, and does not loop fast', async () => {
    await project.compose('up', '--detach', '--no-build', '--wait', 'valkey');
    const inStore = ['exec', '--no-TTY', 'valkey'];
    const setPolicy = ['valkey-cli', 'config', 'set', 'maxmemory-policy'];
    await project.compose(...inStore, ...setPolicy, 'allkeys-lru');
    const { code } = await project.tryCompose(up);
    expect(code).not.toBe(0);
    const roles = [...(await project.containers('api')), ...(await project.containers('worker'))];
    expect(roles).toHaveLength(2);
    await Promise.all(roles.map(({ Id }) => restartsTwiceSlowly(Id)));
    for (const { Id, RestartCount } of await inspectContainers(roles.map(({ Id: id }) => id))) {
      const said = (await project.log(Id)).split('\n').filter((line) => line.includes('maxmemory-policy'));
      expect(said.length).toBeLessThanOrEqual(RestartCount + 1);
      expect(said[0]).toMatch(/^sluice: .*set maxmemory-policy to noeviction/);
    }
    // Mended, it starts by itself.
    await project.compose(...inStore, ...setPolicy, 'noeviction');
    await project.answers();
  });
});

/** Waits for two restarts more, and shows that each container lasted for some seconds. */
async function restartsTwiceSlowly(id: string): Promise<void> {
  const facts = async (): Promise<ContainerFacts> => {
    const [container] = await inspectContainers([id]);
    if (container === undefined) throw new Error(`${id} is gone`);
    return container;
  };
  const startAfter = (count: number) =>
    eventually(
      async () => {
        const { RestartCount, State } = await facts();
        return (
          RestartCount > count &&
          State.Status === 'running' && { RestartCount, at: Date.parse(State.StartedAt) }
        );
      },
      { timeoutMs: 180_000 },
    );
  const first = await startAfter(0);
  const second = await startAfter(first.RestartCount);
  const apart = (second.at - first.at) / (second.RestartCount - first.RestartCount);
  expect(apart).toBeGreaterThan(7_000);
}
