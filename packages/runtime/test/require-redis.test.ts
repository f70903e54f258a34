import { createServer } from 'node:http';
import { hasServer, startLocalRedis } from '@sluice/testing';
import type { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { closeRedis, commandClient, createLogger, FatalError, requireRedis } from '../src/index.ts';

const logger = createLogger({ name: 'test', level: 'silent' });

function client(url: string): Redis {
  const made = commandClient(url, { logger });
  onTestFinished(() => closeRedis(made));
  return made;
}

/** The message of the error that a process gets with this address. */
async function complaint(url: string): Promise<string> {
  const signal = new AbortController().signal;
  const error: unknown = await requireRedis(client(url), { url, logger, signal }).catch((e: unknown) => e);
  expect(error).toBeInstanceOf(FatalError);
  return error instanceof FatalError ? error.message : '';
}

describe('a process that needs Redis', () => {
  it('starts with one that is set up to keep what it accepts', async () => {
    const redis = await startLocalRedis();
    onTestFinished(() => redis.stop());
    await requireRedis(client(redis.url), { url: redis.url, logger, signal: new AbortController().signal });
  });

  // The embedded store has no passwords.
  it.skipIf(!hasServer)('says that the credentials are refused (needs a server on the PATH)', async () => {
    const redis = await startLocalRedis({ kind: 'server' });
    onTestFinished(() => redis.stop());
    const owner = client(redis.url);
    await new Promise((resolve) => owner.once('ready', resolve));
    await owner.config('SET', 'requirepass', 'the-right-one');
    onTestFinished(async () => void (await owner.config('SET', 'requirepass', '')));
    const wrong = redis.url.replace('redis://', 'redis://:the-wrong-one@');
    for (const url of [redis.url, wrong]) {
      const said = await complaint(url);
      expect(said).toMatch(/refused the credentials: .*REDIS_URL/);
      expect(said).not.toContain('the-wrong-one');
    }
  });

  it('says that something else answers there', async () => {
    const web = createServer((_request, response) => response.end('Hello'));
    await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => web[Symbol.asyncDispose]());
    const address = web.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    expect(await complaint(`redis://127.0.0.1:${port}`)).toMatch(/is not Redis: .*REDIS_URL/);
  });

  it('says how nobody answers there', async () => {
    expect(await complaint('redis://:hidden@127.0.0.1:1')).toMatch(
      /^Redis at redis:\/\/\*\*\*@127\.0\.0\.1:1 did not answer within 5 s \(ECONNREFUSED\): .*REDIS_URL/,
    );
  });
});
