import type { Settings } from '@sluice/config';
import { eventually, type LocalRedis } from '@sluice/testing';
import { type ScriptedWorker, startScriptedWorker } from './scripted-worker.ts';
import { expect } from 'vitest';
import { postResponse, processSettings, startApi } from './api-process-site.ts';
import { apiKeys, model } from './test-api.ts';

const keyPrefix = 'test:';

export const headers = { authorization: `Bearer ${apiKeys.first}`, 'content-type': 'application/json' };

/** An api that waits until what it tells of is as safe as its settings ask for. */
export interface DurableApi {
  url: string;
  create: (more?: object) => Promise<Response>;
  startWorker: () => Promise<ScriptedWorker>;
  stop: () => Promise<void>;
}

export async function startDurableApi(
  redis: LocalRedis,
  durability: Settings['durability'],
  durabilityMs: number,
): Promise<DurableApi> {
  const settings = processSettings(redis.url, keyPrefix);
  const timeouts = { ...settings.timeouts, durabilityMs };
  const { url, stop } = await startApi({ settings: { ...settings, durability, timeouts } });
  const workers: ScriptedWorker[] = [];
  return {
    url,
    create: (more = {}) => postResponse(url, more),
    startWorker: async () => {
      const worker = await startScriptedWorker({ redisUrl: redis.url, keyPrefix, models: [model] });
      workers.push(worker);
      return worker;
    },
    stop: async () => {
      await Promise.all(workers.map((worker) => worker.stop()));
      await stop();
    },
  };
}

/** The keys that a response has from its accept on: its record and its job. */
export function keysOf(responseId: string): string[] {
  return [`${keyPrefix}{0}:response:${responseId}`, `${keyPrefix}{0}:bull:${model}:${responseId}`];
}

/** The ids of those that were accepted. */
export async function acceptedIds(answers: readonly Response[]): Promise<string[]> {
  const accepted = answers.filter(({ status }) => status === 200);
  return Promise.all(accepted.map(async (answer) => ((await answer.json()) as { id: string }).id));
}

/** A background response that is accepted, once the replica follows. One that is slow for a moment has requests refused. */
export function acceptedOnce(api: DurableApi): Promise<{ id: string }> {
  return eventually(async () => {
    const answer = await api.create({ background: true });
    return answer.status === 200 && ((await answer.json()) as { id: string });
  });
}

/** An api that can reach what it promises answers whoever asks, whole and as a stream. */
export async function expectAnswers(api: DurableApi): Promise<void> {
  await api.startWorker();
  const answers = await Promise.all(Array.from({ length: 20 }, () => api.create()));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  const stream = await api.create({ stream: true });
  expect(await stream.text()).toContain('response.completed');
}

/** One that cannot refuses in every mode, runs nothing, and goes on when it can again. */
export async function expectRefusals(
  api: DurableApi,
  { begin, end }: { begin: () => unknown; end: () => unknown },
): Promise<void> {
  const worker = await api.startWorker();
  await begin();
  const refused = await Promise.all(
    [{}, { background: true }, { stream: true }].map((mode) => api.create(mode)),
  );
  await end();
  for (const answer of refused) {
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ error: { code: 'server_is_overloaded' } });
  }
  expect(worker.runs).toEqual([]);
  await eventually(async () => (await api.create()).status === 200);
  expect(worker.runs).toHaveLength(1);
}
