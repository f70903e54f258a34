import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually, type LocalRedis, randomFrom, startLocalRedis } from '@sluice/testing';
import OpenAI from 'openai';
import { lineOf, type Result, resultsIn, started } from '../batch-client.ts';
import { type Service, startService } from '../service.ts';

export interface BatchKillsOptions {
  lines: number;
  seed: number;
  onProgress?: (said: string) => void;
}

export interface BatchKillsResult {
  lines: number;
  minutes: number;
  /** Kills by what was killed. */
  kills: Map<Victim, number>;
  /** Tokens by the answers, and by the usage of the service. */
  tokens: { input: number; output: number };
  used: { input: number; output: number };
  violations: string[];
}

const victims = ['an api', 'a worker', 'Redis'] as const;
type Victim = (typeof victims)[number];

/** The longest rest between two kills, in milliseconds. */
const longestRestMs = 12_000;

/** The longest that a batch may take, for each of its lines, in milliseconds. */
const longestMsOfLine = 200;

const key = `sk-test-${'b'.repeat(32)}`;

/** Runs a batch while apis, workers and Redis are killed at moments that follow from the seed. */
export async function runBatchKills({
  lines,
  seed,
  onProgress,
}: BatchKillsOptions): Promise<BatchKillsResult> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-batch-kills-'));
  const place = { redis: await startLocalRedis({ directory, kind: 'server' }) };
  const service = await startService({
    redisUrl: place.redis.url,
    apis: 2,
    workers: 2,
    settings: {
      files: { enabled: true, batchLines: 100 },
      usage: { enabled: true },
      keys: [{ name: 'tester', key }],
      providers: [{ id: 'simulator', type: 'simulator', firstTokenMs: 100, tokensPerSecond: 100 }],
      models: [{ id: 'simulator', routes: [{ provider: 'simulator' }] }],
    },
  });
  const kills = new Map<Victim, number>();
  const beganAt = performance.now();
  try {
    const client = () => new OpenAI({ apiKey: key, baseURL: `${liveApi(service)}/v1`, maxRetries: 20 });
    const { id } = await started(
      client(),
      Array.from({ length: lines }, (_, at) =>
        lineOf(`line-${at}`, { model: 'simulator', input: `Say ${at}. [[sluice: tokens=${1 + (at % 20)}]]` }),
      ),
    );
    const random = randomFrom(seed);
    let batch = await client().batches.retrieve(id);
    while (batch.status !== 'completed') {
      if (batch.status === 'failed' || performance.now() - beganAt > lines * longestMsOfLine + 120_000) break;
      onProgress?.(`batch: ${batch.request_counts?.completed ?? 0} of ${lines} lines, ${sumOf(kills)} kills`);
      await pause(random() * longestRestMs); // a process dies at any moment
      const victim = victims[Math.floor(random() * victims.length)] ?? 'a worker';
      await kill(victim, { service, place, directory });
      kills.set(victim, (kills.get(victim) ?? 0) + 1);
      batch = await client().batches.retrieve(id);
    }
    const minutes = (performance.now() - beganAt) / 60_000;
    const results = [
      ...(await resultsIn(client(), batch.output_file_id)),
      ...(await resultsIn(client(), batch.error_file_id)),
    ];
    const tokens = tokensOf(results);
    const used = await eventually(async () => {
      const found = await usedTokens(liveApi(service));
      return found.output >= tokens.output && found;
    }).catch(() => usedTokens(liveApi(service)));
    const violations = [
      ...(batch.status === 'completed' ? [] : [`the batch is ${batch.status}`]),
      ...violationsIn(results, lines),
      ...(tokens.input === used.input && tokens.output === used.output
        ? []
        : [`answers have ${JSON.stringify(tokens)} tokens, and usage ${JSON.stringify(used)}`]),
    ];
    return { lines, minutes, kills, tokens, used, violations };
  } finally {
    await service.stop().catch(() => undefined); // what it failed with came before
    await place.redis.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

/** Kills one of them, and starts another in its place. */
async function kill(
  victim: Victim,
  { service, place, directory }: { service: Service; place: { redis: LocalRedis }; directory: string },
): Promise<void> {
  if (victim === 'Redis') {
    const { port } = place.redis;
    await place.redis.kill();
    place.redis = await startLocalRedis({ directory, port, kind: 'server' });
  } else if (victim === 'an api') {
    await service.apis.find((api) => api.isRunning())?.kill();
    await service.addApi();
  } else {
    await service.workers.find((worker) => worker.isRunning())?.kill();
    await service.addWorker();
  }
}

/** The newest api, which is killed last. */
function liveApi({ apis }: Service): string {
  return apis.findLast((api) => api.isRunning())?.url ?? '';
}

function violationsIn(results: readonly Result[], lines: number): string[] {
  const counts = new Map<string, number>();
  for (const { custom_id: id } of results) counts.set(id, (counts.get(id) ?? 0) + 1);
  const wrong = results.filter(({ response }) => response?.status_code !== 200);
  return [
    ...Array.from({ length: lines }, (_, at) => `line-${at}`)
      .filter((id) => counts.get(id) !== 1)
      .map((id) => `${id} has ${counts.get(id) ?? 0} answers`),
    ...wrong.map(({ custom_id: id, response }) => `${id} was answered ${JSON.stringify(response?.body)}`),
  ];
}

function tokensOf(results: readonly Result[]): { input: number; output: number } {
  const usages = results.flatMap(
    ({ response }) => response?.body['usage'] ?? [],
  ) as OpenAI.Responses.ResponseUsage[];
  return {
    input: usages.reduce((sum, { input_tokens: each }) => sum + each, 0),
    output: usages.reduce((sum, { output_tokens: each }) => sum + each, 0),
  };
}

async function usedTokens(url: string): Promise<{ input: number; output: number }> {
  const since = Math.floor(Date.now() / 1_000) - 86_400;
  const path = `/v1/organization/usage/completions?start_time=${since}&bucket_width=1d&limit=31`;
  const answer = await fetch(url + path, { headers: { authorization: `Bearer ${key}` } });
  const { data } = (await answer.json()) as OpenAI.Admin.Organization.UsageCompletionsResponse;
  const results = data.flatMap((bucket) => bucket.results) as {
    input_tokens: number;
    output_tokens: number;
  }[];
  return {
    input: results.reduce((sum, { input_tokens: each }) => sum + each, 0),
    output: results.reduce((sum, { output_tokens: each }) => sum + each, 0),
  };
}

function sumOf(kills: ReadonlyMap<Victim, number>): number {
  return [...kills.values()].reduce((sum, each) => sum + each, 0);
}
