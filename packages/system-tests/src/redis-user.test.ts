import { randomBytes } from 'node:crypto';
import { forAllTests, eventually, startLocalRedis } from '@sluice/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { hasPagePrograms, openPageShell } from './operating-page.ts';
import { testService } from './service.ts';
import { runCommand, type SluiceProcessOptions } from './sluice-process.ts';

/** What it has no right to, and the service does without: settings, the connections of others, and the name of a client library. */
const doneWithout = ['config|get', 'client|list', 'client|setinfo'];

const actionToken = randomBytes(16).toString('hex');
const adminToken = randomBytes(16).toString('hex');

describe.skipIf(!hasPagePrograms)('the user of Redis of docs/operating.md (needs Redis on the PATH)', () => {
  let url: string;

  const redis = forAllTests(() => startLocalRedis({ kind: 'server' }));
  const shell = forAllTests(openPageShell);
  beforeAll(async () => {
    const password = randomBytes(16).toString('hex');
    await shell.run('A user of Redis with the least rights', {
      REDIS_URL: redis.url,
      STORE_PASSWORD: password,
    });
    url = `redis://sluice:${password}@127.0.0.1:${redis.port}`;
  });
  const service = testService(() => ({
    redisUrl: redis.url,
    redisUrlOfProcesses: url,
    settings: {
      keyPrefix: 'sluice:',
      recovery: { lockMs: 3_000, stalledMs: 100 },
      server: { adminToken, adminActionToken: actionToken },
    },
  }));
  beforeAll(async () => {
    await service.redis.client.acl('LOG', 'RESET');
  });

  /** The commands, keys and channels that the server has refused and that are missed. */
  async function refused(): Promise<string[]> {
    // Each entry is a list of names and values; the fourth name is that of what was refused.
    const entries = (await service.redis.client.acl('LOG')) as unknown[][];
    return entries.map((entry) => String(entry[7])).filter((what) => !doneWithout.includes(what));
  }

  async function admin(method: 'GET' | 'POST', path: string, body?: object): Promise<number> {
    const answer = await fetch(`${service.adminUrls[0]}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${adminToken}`,
        'sluice-action-token': actionToken,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    await answer.text();
    return answer.status;
  }

  async function sluice(name: SluiceProcessOptions['command'], ...args: string[]): Promise<void> {
    const env = { SLUICE_CONFIG: service.file, REDIS_URL: url };
    expect({ args, ...(await runCommand({ command: name, args, env })) }).toMatchObject({ code: 0 });
  }

  const send = async (method: string, path: string) => {
    const headers = { authorization: `Bearer ${service.key}` };
    const answer = await fetch(`${service.apiUrls[0]}/v1${path}`, { method, headers });
    await answer.text();
    return answer.status;
  };

  it('may do what requests of every kind need', async () => {
    const whole = await service.caller.create({ input: 'Hello. [[sluice: tokens=3]]' });
    expect(whole.body.status).toBe('completed');
    const next = { input: 'And then? [[sluice: tokens=3]]', previous_response_id: whole.body.id };
    expect((await service.caller.stream(next)).final.status).toBe('completed');
    const large = `${'word '.repeat(60_000)} [[sluice: tokens=3]]`;
    expect((await service.caller.create({ input: large })).body.status).toBe('completed');
    const { body } = await service.caller.create({ input: 'Wait. [[sluice: hang]]', background: true });
    await eventually(async () => (await service.caller.get(body.id)).body.status === 'in_progress');
    expect(await send('POST', `/responses/${body.id}/cancel`)).toBe(200);
    expect(await send('GET', `/responses/${whole.body.id}/input_items`)).toBe(200);
    expect(await send('GET', `/responses/${whole.body.id}?stream=true`)).toBe(200);
    expect(await send('GET', '/responses')).toBe(200);
    expect(await send('DELETE', `/responses/${whole.body.id}`)).toBe(200);
    expect(await refused()).toEqual([]);
  });

  it('may do what the commands and the admin listener need', async () => {
    await sluice('keys', 'create', '--tenant', 'team-a');
    await sluice('keys', 'list');
    await sluice('tenants');
    await sluice('doctor');
    await sluice('providers', 'add', 'house', '--type', 'simulator');
    await sluice('models', 'add', 'night', '--route', 'house');
    await sluice('models', 'remove', 'night');
    await sluice('providers', 'remove', 'house');
    await sluice('providers');
    await sluice('models');
    await sluice('queues', 'list');
    await sluice('queues', 'pause', 'simulator');
    const { body } = await service.caller.create({ input: 'Drained.', background: true });
    await sluice('queues', 'drain', 'simulator', '--yes');
    await eventually(async () => (await service.caller.get(body.id)).body.status !== 'queued');
    await sluice('queues', 'resume', 'simulator');
    for (const path of [
      '/metrics',
      '/scale',
      '/queues/api/queues',
      '/admin/v1/overview',
      '/admin/v1/audit',
    ]) {
      expect({ path, status: await admin('GET', path) }).toEqual({ path, status: 200 });
    }
    for (const path of ['/admin/v1/responses', '/admin/v1/keys', '/admin/v1/tenants', '/admin/v1/queues']) {
      expect({ path, status: await admin('GET', path) }).toEqual({ path, status: 200 });
    }
    expect(await admin('POST', '/admin/v1/queues/simulator/pause')).toBe(200);
    expect(await admin('POST', '/admin/v1/queues/simulator/resume')).toBe(200);
    expect(await refused()).toEqual([]);
  });

  it('may do what the rescue of a dead worker needs', async () => {
    const { body } = await service.caller.create({
      input: 'Hi. [[sluice: first_token_ms=500]]',
      background: true,
    });
    await eventually(async () => (await service.caller.get(body.id)).body.status === 'in_progress');
    await service.workers[0]?.kill();
    await service.addWorker();
    await eventually(async () => (await service.caller.get(body.id)).body.status === 'completed');
    expect(await refused()).toEqual([]);
  });

  it('may not read other keys, change settings, or delete everything', async () => {
    const client = service.redis.connect();
    const user = client.duplicate({ username: 'sluice', password: new URL(url).password });
    const isRefused = (command: string, ...args: string[]) =>
      expect(user.call(command, ...args)).rejects.toThrow(/NOPERM|No permissions/);
    try {
      await isRefused('GET', 'another');
      const log = await shell.run('What it was refused', { REDIS_URL: redis.url });
      expect(log).toContain('another');
      await isRefused('SUBSCRIBE', 'another');
      for (const words of [
        'FLUSHALL',
        'KEYS *',
        'CONFIG SET save x',
        'SHUTDOWN',
        'SCRIPT FLUSH',
        'ACL LIST',
      ]) {
        const [command = '', ...args] = words.split(' ');
        await isRefused(command, ...args);
      }
    } finally {
      user.disconnect();
    }
  });
});
