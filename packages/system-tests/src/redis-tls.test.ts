import { execFile } from 'node:child_process';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { forAllTests, freePort, serverOnPath, startLocalRedis } from '@sluice/testing';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { testService } from './service.ts';

const run = promisify(execFile);

/** Whether the server speaks TLS and there is openssl to make it a certificate. */
const hasTls = await canSpeakTls();

describe.skipIf(!hasTls)('a store by TLS (needs openssl and a Redis server that speaks it)', () => {
  const folder = forAllTests(() => mkdtempDisposable(join(tmpdir(), 'sluice-tls-')));
  const certificate = () => join(folder.path, 'cert.pem');
  let port: number;
  const redis = forAllTests(async () => {
    const key = join(folder.path, 'key.pem');
    const subject = ['-subj', '/CN=store', '-addext', 'subjectAltName=IP:127.0.0.1'];
    const made = ['-keyout', key, '-out', certificate()];
    await run('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...made, ...subject]);
    port = await freePort();
    return startLocalRedis({
      kind: 'server',
      settings: {
        'tls-port': String(port),
        'tls-cert-file': certificate(),
        'tls-key-file': key,
        'tls-ca-cert-file': certificate(),
        'tls-auth-clients': 'no',
      },
    });
  });
  const service = testService(() => ({
    redisUrl: `redis://127.0.0.1:${redis.port}`,
    redisUrlOfProcesses: `rediss://127.0.0.1:${port}`,
    env: { NODE_EXTRA_CA_CERTS: certificate() },
    settings: {
      providers: [{ id: 'simulator', type: 'simulator' }],
      models: [{ id: 'simulator', routes: [{ provider: 'simulator' }] }],
    },
  }));

  it('serves whole responses and streams', async () => {
    const { key, apiUrls } = service;
    const client = new OpenAI({ apiKey: key, baseURL: `${apiUrls[0]}/v1`, maxRetries: 0 });
    const whole = await client.responses.create({ model: 'simulator', input: 'Hi' });
    expect(whole.status).toBe('completed');
    const stream = await client.responses.create({ model: 'simulator', input: 'Hi', stream: true });
    const types: string[] = [];
    for await (const { type } of stream) types.push(type);
    expect(types.at(-1)).toBe('response.completed');
  });
});

async function canSpeakTls(): Promise<boolean> {
  const server = serverOnPath();
  if (server === undefined) return false;
  try {
    await run('openssl', ['version']);
  } catch {
    return false;
  }
  // One that knows the setting complains of having nowhere to listen.
  const said = await run(server, ['--port', '0', '--tls-port', '0']).catch((error: unknown) => error);
  const { stdout, stderr } = said as { stdout: string; stderr: string }; // what either outcome of a program has
  return `${stdout}${stderr}`.includes('not listen anywhere');
}
