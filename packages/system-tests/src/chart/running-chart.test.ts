import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { forAllTests, eventually, freePort, testRedis, within } from '@sluice/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type SluiceProcess, startProcess } from '../sluice-process.ts';
import { valuesFiles } from './chart-files.ts';
import { hasHelm, type Manifest, renderChart } from './helm.ts';
import { one, type Pod, podOf, podsOf } from './manifests.ts';

// The pods that the chart makes, as processes of this machine: with their variables, settings files and arguments, probed as a
// kubelet would. What a cluster adds is not here: images, networks, and who may do what.

/** Ports inside of a pod, and those that stand for them here. */
type Ports = Map<number, number>;

interface ConfigMapVolume {
  name: string;
  items: { key: string; path: string }[];
}

interface Ran extends SluiceProcess {
  pod: Pod;
  ports: Ports;
}

const token = 'admin-token-of-the-test';
const key = 'sk-of-the-test';

describe.skipIf(!hasHelm)('the pods of the chart (need helm)', () => {
  const redis = forAllTests(testRedis);
  const folder = forAllTests(() => mkdtempDisposable(join(tmpdir(), 'sluice-chart-')));
  let manifests: Manifest[];
  let api: Ran;
  let workers: Ran[];

  beforeAll(async () => {
    const pool = (name: string, concurrency: number) => ({ name, models: [name], concurrency });
    manifests = renderChart({
      files: [valuesFiles.get('trying') ?? ''],
      values: {
        secret: { values: { REDIS_URL: redis.url, ADMIN_TOKEN: token, SLUICE_API_KEY: key } },
        settings: {
          keyPrefix: `${redis.prefix}:`,
          providers: [{ id: 'local', type: 'simulator' }],
          models: ['first', 'vendor/second'].map((id) => ({ id, routes: [{ provider: 'local' }] })),
        },
        worker: { autoscaling: { by: 'keda' } },
        pools: [pool('first', 4), { ...pool('second', 2), models: ['vendor/second'] }],
      },
    });
    api = await start('api');
    workers = [await start('first'), await start('second')];
  });

  afterAll(async () => {
    await Promise.all([api, ...(workers ?? [])].map((process) => process?.kill()));
  });

  /** Starts the process of a pod, with a port of this machine for each port of its own. */
  async function start(role: string): Promise<Ran> {
    const pod = podOf(manifests, role);
    const [command] = pod.container['args'] as ['api' | 'worker'];
    const env = variablesOf(pod);
    const ports: Ports = new Map();
    for (const { containerPort } of pod.container['ports'] as { containerPort: number }[]) {
      ports.set(containerPort, await freePort());
    }
    for (const name of ['PORT', 'ADMIN_PORT', 'WORKER_HEALTH_PORT'].filter((each) => each in env)) {
      // Every port that a process listens on is one that its pod names.
      const port = ports.get(Number(env[name]));
      expect(port, `${role} ${name}`).toBeDefined();
      env[name] = String(port);
    }
    for (const name of ['HOST', 'ADMIN_HOST'].filter((each) => each in env)) env[name] = '127.0.0.1';
    env['SLUICE_CONFIG'] = await settingsOf(pod);
    const started = startProcess({ command, env, cwd: folder.path });
    await started.logged(`${command} ready`, { timeoutMs: 60_000 });
    return { ...started, pod, ports };
  }

  /** What a pod is given as variables, with those from its Secret. */
  function variablesOf(pod: Pod): Record<string, string> {
    const env = Object.fromEntries(pod.env);
    for (const [name, from] of pod.secrets) {
      const { stringData } = one(manifests, 'Secret', from.name);
      const value = (stringData as Record<string, string>)[from.key];
      expect(value, `${pod.name} ${name}`).toBeDefined();
      env[name] = value ?? '';
    }
    return env;
  }

  /** Writes the settings file that a pod finds under SLUICE_CONFIG, and returns where. */
  async function settingsOf(pod: Pod): Promise<string> {
    const isOfSettings = ({ name }: { name: string }) => name === 'settings';
    const mounts = pod.container['volumeMounts'] as { name: string; mountPath: string }[];
    const volumes = pod.spec['volumes'] as { name: string; configMap?: ConfigMapVolume }[];
    const { configMap } = volumes.find(isOfSettings) ?? {};
    const [item] = configMap?.items ?? [];
    expect(`${mounts.find(isOfSettings)?.mountPath}/${item?.path}`).toBe(pod.env.get('SLUICE_CONFIG'));
    const { data } = one(manifests, 'ConfigMap', configMap?.name ?? '');
    const path = join(folder.path, `${pod.name}.yaml`);
    await writeFile(path, (data as Record<string, string>)[item?.key ?? ''] ?? '');
    return path;
  }

  const ask = (port: number | undefined, path: string, headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, { headers });

  /** The port of this machine behind a probe, which names a port of the pod. */
  const portNamed = ({ pod, ports }: Ran, wanted: string) => {
    const named = pod.container['ports'] as { name: string; containerPort: number }[];
    return ports.get(named.find(({ name }) => name === wanted)?.containerPort ?? 0);
  };

  it('are live and ready where their probes ask', async () => {
    for (const process of [api, ...workers]) {
      for (const name of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
        const { httpGet } = process.pod.container[name] as { httpGet: { path: string; port: string } };
        const port = portNamed(process, httpGet.port);
        await eventually(async () => (await ask(port, httpGet.path)).status === 200);
      }
    }
  });

  it('answer what the autoscaler asks, with its credential', async () => {
    const asked = podsOf(manifests).filter(({ role }) => ['first', 'second'].includes(role));
    for (const { role } of asked) {
      const { triggers } = one(manifests, 'ScaledObject', role)['spec'] as {
        triggers: { metadata: { url: string; valueLocation: string } }[];
      };
      for (const { metadata } of triggers) {
        const { pathname, search, port } = new URL(metadata.url);
        const here = api.ports.get(Number(port));
        const answer = await ask(here, `${pathname}${search}`, { authorization: `Bearer ${token}` });
        expect(await answer.json()).toMatchObject({ [metadata.valueLocation]: 0 });
        expect((await ask(here, `${pathname}${search}`)).status).toBe(401);
      }
    }
  });

  it('have metrics where the monitors look for them', async () => {
    for (const [process, port] of [
      [api, 'admin'],
      ...workers.map((each) => [each, 'health'] as const),
    ] as const) {
      const answer = await ask(portNamed(process, port), '/metrics', { authorization: `Bearer ${token}` });
      expect(await answer.text()).toMatch(/^# TYPE sluice_/m);
    }
  });

  it('pass the test of the release, which the first model answers', async () => {
    expect(await testRelease()).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^The api lives.\nThe api is ready.\nfirst has answered: \S+_\w+\n$/),
    });
  });

  it('answer with the model of each pool', async () => {
    for (const model of ['first', 'vendor/second']) {
      expect(await testRelease({ SLUICE_MODEL: model })).toMatchObject({ code: 0 });
    }
  });

  it('fail the test of the release when something is wrong, with a line that says what', async () => {
    const wrongKey = await testRelease({ SLUICE_API_KEY: 'sk-wrong' });
    expect(wrongKey).toMatchObject({ code: 1, output: expect.stringContaining('/v1/responses answers 401') });
    const nobody = await testRelease({ SLUICE_URL: `http://127.0.0.1:${await freePort()}` });
    expect(nobody).toMatchObject({ code: 1, output: expect.stringContaining('ECONNREFUSED') });
  });

  it('stop cleanly within their grace period', async () => {
    for (const process of [api, ...workers]) {
      const graceMs = Number(process.pod.spec['terminationGracePeriodSeconds']) * 1000;
      expect(await within(process.stop(), { timeoutMs: graceMs })).toMatchObject({ code: 0 });
    }
  });

  /** Runs what the pod of `helm test` runs. */
  async function testRelease(env: Record<string, string> = {}) {
    const pod = podOf(manifests, 'test');
    const [command, ...options] = pod.container['command'] as string[];
    expect(command).toBe('node');
    const url = new URL(pod.env.get('SLUICE_URL') ?? '');
    const { ports } = one(manifests, 'Service', url.hostname)['spec'] as { ports: { port: number }[] };
    expect(ports.map(({ port }) => port)).toEqual([Number(url.port)]);
    const child = spawn(process.execPath, [...options, ...(pod.container['args'] as string[])], {
      env: { ...variablesOf(pod), SLUICE_URL: `http://127.0.0.1:${portNamed(api, 'http')}`, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    const [code] = (await within(once(child, 'close'))) as [number | null];
    return { code, output };
  }
});
