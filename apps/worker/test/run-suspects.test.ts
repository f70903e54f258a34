import { loadSettings } from '@sluice/config';
import type { Provider } from '@sluice/providers';
import { eventually, freePort, testRedis, within } from '@sluice/testing';
import { afterEach, expect, it } from 'vitest';
import { runSuspects } from '../src/isolation/run-suspects.ts';
import type { FromIsolated, ToIsolated } from '../src/isolation/messages.ts';
import { acceptedResponses } from './accepted-responses.ts';
import { idleProvider } from './idle-upstreams.ts';

const model = 'm';
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** The work of a process of suspects, run in this process, and the worker's end of it. */
function startSuspects({
  redisUrl,
  prefix,
  provider,
}: {
  redisUrl: string;
  prefix: string;
  provider: Provider;
}) {
  const settings = loadSettings({
    env: { REDIS_URL: redisUrl, LOG_LEVEL: 'silent' },
    argv: [],
    cwd: '/',
    role: 'worker',
    readFile: () => `
keyPrefix: '${prefix}:'
models: [{ id: ${model}, routes: [{ provider: up }] }]
providers: [{ id: up, type: simulator }]
recovery: { outageMs: 1000 }
`,
  });
  const told: FromIsolated[] = [];
  let tell: (message: ToIsolated) => void = () => undefined;
  let leave: () => void = () => undefined;
  const over = runSuspects({
    send: (message) => told.push(message),
    onMessage: (listener) => {
      tell = listener;
    },
    onDisconnect: (listener) => {
      leave = listener;
    },
    providersOf: () => new Map([['up', provider]]),
  });
  cleanups.push(async () => {
    leave();
    await within(over);
  });
  tell({ type: 'settings', settings: { ...settings, redisUrl } });
  const outcomeOf = (responseId: string) =>
    eventually(
      () =>
        told.flatMap((each) =>
          each.type === 'outcome' && each.responseId === responseId ? [each.outcome] : [],
        )[0],
    );
  return { tell, outcomeOf };
}

it('gives back what it was to run when it is interrupted while its start waits for Redis', async () => {
  const { tell, outcomeOf } = startSuspects({
    ...{ redisUrl: `redis://127.0.0.1:${await freePort()}`, prefix: 'nowhere' },
    provider: idleProvider(),
  });
  tell({ type: 'run', responseId: 'r1' });
  tell({ type: 'interrupt' });
  tell({ type: 'run', responseId: 'r2' });
  expect(await outcomeOf('r1')).toEqual({ kind: 'given_back' });
  expect(await outcomeOf('r2')).toEqual({ kind: 'given_back' });
});

it('goes on with the others when the run of one rejects', async () => {
  const redis = await testRedis();
  cleanups.push(() => redis.close());
  const responses = await acceptedResponses(redis, model);
  cleanups.push(() => responses.close());
  const provider: Provider = {
    id: 'up',
    async *generate() {
      yield { type: 'text', delta: 'Hello' };
      yield { type: 'finish', reason: 'stop' };
    },
    close: () => Promise.resolve(),
  };
  const { tell, outcomeOf } = startSuspects({ redisUrl: redis.url, prefix: redis.prefix, provider });
  const [broken, whole] = [await responses.accept(), await responses.accept()];
  await redis.client.set(responses.keys.record(broken), 'no record');
  tell({ type: 'run', responseId: broken });
  expect(await outcomeOf(broken)).toEqual({ kind: 'later', afterMs: 1_000 });
  tell({ type: 'run', responseId: whole });
  expect(await outcomeOf(whole)).toEqual({ kind: 'settled' });
});
