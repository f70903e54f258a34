import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { hashKey } from './key-schema.ts';
import { ConfigError } from './config-error.ts';
import { loadSettings, type SettingsSources } from './load-settings.ts';

const noFile = () => {
  throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
};

function load(file: string | undefined, sources: Partial<SettingsSources> = {}) {
  const readFile = file === undefined ? noFile : () => file;
  return loadSettings({ env: {}, argv: [], cwd: '/srv/sluice', readFile, ...sources });
}

describe('loadSettings without a file', () => {
  it('serves the simulator and its models on loopback, without keys', () => {
    const settings = load(undefined);
    expect(settings.models.map(({ id }) => id)).toEqual(['simulator', 'simulator-reasoning']);
    expect(settings.providers).toMatchObject([
      { id: 'simulator', type: 'simulator', firstTokenMs: 20, tokensPerSecond: 200, reasoning: false },
      { id: 'simulator-reasoning', type: 'simulator', reasoning: true },
    ]);
    expect(settings.keys).toEqual([]);
    expect(settings.server).toEqual({
      host: '127.0.0.1',
      port: 3000,
      adminHost: '127.0.0.1',
      adminPort: 3001,
      webSockets: true,
      corsOrigins: [],
      trustedProxies: [],
    });
    expect(settings).not.toHaveProperty('file');
  });

  it('has the defaults that the documentation promises', () => {
    expect(load(undefined)).toMatchObject({
      logLevel: 'info',
      dataDir: '/srv/sluice/.data',
      drainTimeoutMs: 30_000,
      workerConcurrency: 32,
      workers: 1,
      limits: {
        queued: 100_000,
        queuedBytes: 4_294_967_296,
        bodyBytes: 67_108_864,
        bodyBytesInFlight: 134_217_728,
        outputBytes: 16_777_216,
        outputItems: 4096,
        outputEvents: 250_000,
      },
      timeouts: {
        queueMs: 600_000,
        backgroundQueueMs: 86_400_000,
        connectMs: 5000,
        firstTokenMs: 60_000,
        idleMs: 60_000,
        totalMs: 1_800_000,
        syncWaitMs: 570_000,
      },
      recovery: {
        lockMs: 10_000,
        stalledMs: 3000,
        maxAttempts: 2,
        longestRetryAfterMs: 60_000,
        breaker: {
          consecutiveFailures: 5,
          failurePercent: 50,
          minimumCalls: 20,
          windowMs: 30_000,
          openMs: 1_000,
          longestOpenMs: 30_000,
        },
        disconnectGraceMs: 0,
        retryGraceMs: 30_000,
      },
      dashboard: { keepCompleted: 100, keepFailed: 1000 },
      retention: { responseSeconds: 86_400, eventLogSeconds: 3600, idempotencySeconds: 86_400 },
    });
  });

  it.each([
    ['an empty file', ''],
    ['a file of comments', '# nothing yet\n'],
    ['a byte order mark alone', '\uFEFF'],
    ['sections whose entries are commented out', 'keys:\nlimits:\n  # queued: 5\nmodels:\n'],
  ])('treats %s as the defaults', (_, file) => {
    const { file: name, isFileBlank: _isFileBlank, ...settings } = load(file);
    expect(settings).toEqual(load(undefined));
    expect(name).toBe('/srv/sluice/sluice.yaml');
  });
});

describe('precedence', () => {
  const file = 'server: { host: localhost, port: 1111 }\nlogLevel: warn\n';

  it('takes the file over the default', () => {
    expect(load(file).server.port).toBe(1111);
  });

  it('takes the environment over the file', () => {
    const settings = load(file, { env: { PORT: '2222' } });
    expect(settings.server).toMatchObject({ port: 2222, host: 'localhost' });
    expect(settings.logLevel).toBe('warn');
  });

  it.each([[['--port', '4444']], [['--port=4444']]])('takes the flag %j over the environment', (argv) => {
    expect(load(file, { env: { PORT: '2222' }, argv }).server.port).toBe(4444);
  });

  it('treats a variable that is set to nothing as not set', () => {
    expect(load(file, { env: { PORT: '', SLUICE_CONFIG: '' } }).server.port).toBe(1111);
  });

  it('reads every variable', () => {
    const env = {
      HOST: '127.0.0.2',
      PORT: '1',
      REDIS_URL: 'redis://:pw@redis:6379/1',
      LOG_LEVEL: 'debug',
      ADMIN_HOST: '0.0.0.0',
      ADMIN_PORT: '2',
      ADMIN_TOKEN: 'a-long-token',
      WORKER_CONCURRENCY: '3',
      WORKER_HEALTH_PORT: '4',
      DATA_DIR: 'data',
      DRAIN_TIMEOUT_MS: '5',
    };
    expect(load(undefined, { env })).toMatchObject({
      server: { host: '127.0.0.2', port: 1, adminHost: '0.0.0.0', adminPort: 2, adminToken: 'a-long-token' },
      redisUrl: 'redis://:pw@redis:6379/1',
      logLevel: 'debug',
      workerConcurrency: 3,
      workerHealthPort: 4,
      dataDir: '/srv/sluice/data',
      drainTimeoutMs: 5,
    });
  });

  it('reads the file that the flag names before the one of the environment', () => {
    const read: string[] = [];
    const readFile = (path: string) => {
      read.push(path);
      return '';
    };
    load('', { env: { SLUICE_CONFIG: 'a.yaml' }, argv: ['--config', 'conf/b.yaml', '--help'], readFile });
    expect(read).toEqual(['/srv/sluice/conf/b.yaml']);
  });
});

describe('the file', () => {
  it('is read from disk as UTF-8, with a byte order mark or without', async () => {
    const cwd = temporaryFolder();
    await writeFile(join(cwd, 'sluice.yaml'), '\uFEFFserver: { port: 1234 }\n');
    expect(loadSettings({ env: {}, argv: [], cwd }).server.port).toBe(1234);
    await writeFile(join(cwd, 'sluice.yaml'), Buffer.from([0x61, 0x3a, 0xff]));
    expect(() => loadSettings({ env: {}, argv: [], cwd })).toThrow('save it as UTF-8');
    expect(() => loadSettings({ env: { SLUICE_CONFIG: '.' }, argv: [], cwd })).toThrow('is a folder');
  });

  it('completes routes, queues and the concurrency that models of one queue share', () => {
    const { models } = load(`
providers: [{ id: up, type: openai-chat, baseUrl: "http://127.0.0.1:8000/v1" }]
models:
  - { id: big, routes: [{ provider: up, model: Org/Big }], queue: gpu, concurrency: 4 }
  - { id: small, routes: [{ provider: up }], queue: gpu }
  - { id: other, routes: [{ provider: up }] }
`);
    expect(models).toEqual([
      { id: 'big', routes: [{ provider: 'up', model: 'Org/Big' }], queue: 'gpu', concurrency: 4 },
      { id: 'small', routes: [{ provider: 'up', model: 'small' }], queue: 'gpu', concurrency: 4 },
      { id: 'other', routes: [{ provider: 'up', model: 'other' }], queue: 'other' },
    ]);
  });

  it('gives limits and weight of a tenant to all its keys, and keeps hashes only', () => {
    const settings = load(`
keys:
  - { name: a, key: plain-key-one, weight: 2, limits: { queued: 5 } }
  - { name: a, hash: "sha256:${hashKey('two').toUpperCase()}", limits: { concurrent: 3 }, expiresAt: 2030-01-31 }
  - { name: b, key: three, models: [simulator], tiers: [priority], disabled: true }
`);
    const ofA = {
      name: 'a',
      weight: 2,
      limits: { queued: 5, concurrent: 3, readsPerMinute: 60_000, cells: 1 },
    };
    expect(settings.keys).toEqual([
      { ...ofA, hash: hashKey('plain-key-one'), models: ['*'], tiers: ['default', 'flex'], disabled: false },
      {
        ...ofA,
        hash: hashKey('two'),
        models: ['*'],
        tiers: ['default', 'flex'],
        disabled: false,
        expiresAt: '2030-01-31T00:00:00.000Z',
      },
      {
        name: 'b',
        hash: hashKey('three'),
        models: ['simulator'],
        tiers: ['priority'],
        weight: 1,
        limits: { readsPerMinute: 60_000, cells: 1 },
        disabled: true,
      },
    ]);
    expect(JSON.stringify(settings)).not.toContain('plain-key-one');
  });

  it('never keeps the event log longer than the response', () => {
    expect(load('retention: { responseSeconds: 60 }').retention.eventLogSeconds).toBe(60);
  });

  it('lets a simulator stand before other routes', () => {
    const file = `
providers: [{ id: s, type: simulator }, { id: up, type: openai-responses, baseUrl: "https://up.example/v1" }]
models: [{ id: m, routes: [{ provider: s }, { provider: up }] }]
`;
    expect(load(file).models).toHaveLength(1);
  });

  it('listens anywhere once a key is configured', () => {
    expect(load('keys: [{ name: a, key: k }]', { env: { HOST: '0.0.0.0' } }).server.host).toBe('0.0.0.0');
  });

  it('asks nothing of the listeners of the api in a worker', () => {
    const env = { HOST: '0.0.0.0', ADMIN_HOST: '0.0.0.0', REDIS_URL: 'redis://redis' };
    expect(load(undefined, { env, role: 'worker' }).redisUrl).toBe('redis://redis');
  });
});

describe('${NAME}', () => {
  const upstream = (key: string) =>
    `providers: [{ id: up, type: openai-chat, baseUrl: "http://\${ADDRESS}/v1", apiKey: "${key}" }]
models: [{ id: m, routes: [{ provider: up }] }]`;

  it('reads the environment in any text, wholly or in part', () => {
    const { providers } = load(upstream('${KEY}'), { env: { ADDRESS: '10.0.0.1:80', KEY: '12345' } });
    expect(providers).toMatchObject([{ baseUrl: 'http://10.0.0.1:80/v1', apiKey: '12345' }]);
  });

  it('becomes a number where a number is asked for', () => {
    expect(load('limits: { queued: "${N}" }', { env: { N: '7' } }).limits.queued).toBe(7);
  });

  it('does not read what a variable holds once more', () => {
    const { providers } = load(upstream('${KEY}'), { env: { ADDRESS: 'h', KEY: '${HOME}' } });
    expect(providers).toMatchObject([{ apiKey: '${HOME}' }]);
  });

  it('is left alone behind another dollar sign', () => {
    const { providers } = load(upstream('a$${KEY}$b'), { env: { ADDRESS: 'h' } });
    expect(providers).toMatchObject([{ apiKey: 'a${KEY}$b' }]);
  });

  it('may be missing where a flag gives the value', () => {
    expect(load('server: { port: "${NOPE}" }', { argv: ['--port', '5'] }).server.port).toBe(5);
  });

  it('names every variable that is missing, with its place', () => {
    const problems = problemsOf(() => load(upstream('${KEY}')));
    expect(problems).toEqual([
      expect.objectContaining({ path: 'providers[0].baseUrl', message: expect.stringContaining('ADDRESS') }),
      expect.objectContaining({
        path: 'providers[0].apiKey',
        message: expect.stringContaining('KEY'),
        line: 1,
      }),
    ]);
  });
});

function problemsOf(run: () => unknown) {
  try {
    run();
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}
