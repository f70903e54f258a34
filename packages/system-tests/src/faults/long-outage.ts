import { mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { cpuTimeMs, eventually, startLocalRedis } from '@sluice/testing';
import { callerOf } from '../caller.ts';
import { type RunningApi, startService } from '../service.ts';
import { percentile } from '../statistics.ts';
import { send } from '../wire.ts';
import { resourcesOf } from './resources.ts';

export interface OutageOptions {
  minutes: number;
  onProgress?: (said: string) => void;
}

/** What an api did in a part of the outage. */
export interface OutagePart {
  /** From a request to its refusal, in milliseconds. */
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
  /** Share of one core. */
  cpu: number;
  /** At its end. */
  rssMiB: number;
  /** Lines that the api wrote to its log. */
  lines: number;
}

export interface OutageResult {
  minutes: number;
  requests: number;
  /** Before it, and in each fifth of it. */
  rssBeforeMiB: number;
  parts: OutagePart[];
  /** From the return of Redis to the first answer, in milliseconds. */
  recoveredMs: number;
  violations: string[];
}

const perSecond = 500;
const everyMs = 10;
const parts = 5;

/** The first requests find out that Redis is away, which takes them as long as an api waits for it, in milliseconds. */
const noticedMs = 2_000;

/** A request that has no answer by then is a violation, in milliseconds. */
const answeredWithinMs = 10_000;

/** What is promised, in milliseconds. */
const promised = { refusalMs: 100, recoveryMs: 3_000 };

/** Kills Redis for minutes while requests go on coming at the same rate, whatever becomes of those before them. */
export async function runLongOutage({ minutes, onProgress }: OutageOptions): Promise<OutageResult> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-long-outage-'));
  let redis = await startLocalRedis({ directory, kind: 'server' });
  const service = await startService({ redisUrl: redis.url, apis: 1, workers: 1 });
  const result: OutageResult = {
    minutes,
    requests: 0,
    rssBeforeMiB: 0,
    parts: [],
    recoveredMs: Number.NaN,
    violations: [],
  };
  try {
    const [api] = service.apis;
    if (!api) throw new Error('there is no api');
    const caller = callerOf(api.url, service.key);
    await caller.create({ input: 'Hi' });
    result.rssBeforeMiB = (await resourcesOf(api.pid)).rssMiB;
    await redis.kill();
    const beganAt = performance.now();
    for (let part = 1; part <= parts; part += 1) {
      onProgress?.(`outage: ${result.requests} requests, ${result.violations.length} violations`);
      const until = beganAt + (part / parts) * minutes * 60_000;
      result.parts.push(await refuse(api, service.key, { until, isFirst: part === 1 }, result));
    }
    redis = await startLocalRedis({ directory, port: redis.port, kind: 'server' });
    const backAt = performance.now();
    const isBack = async () => {
      const signal = AbortSignal.timeout(answeredWithinMs);
      return (await caller.create({ input: 'Hi' }, { signal })).status === 200;
    };
    await eventually(isBack, { timeoutMs: 30_000 });
    result.recoveredMs = performance.now() - backAt;
    result.violations.push(...broken(result));
    await service.stop();
    return result;
  } finally {
    await service.stop().catch(() => undefined); // what it failed with came before
    await redis.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

/** Sends requests at the same rate until a time, and waits for their refusals. */
async function refuse(
  api: RunningApi,
  key: string,
  { until, isFirst }: { until: number; isFirst: boolean },
  result: OutageResult,
): Promise<OutagePart> {
  const agent = new Agent({ keepAlive: true });
  const times: number[] = [];
  const fromAt = performance.now();
  const before = await look(api);
  const one = async () => {
    const sentAt = performance.now();
    const answered = send(api.url, { ...shortRequest, key, agent, withinMs: answeredWithinMs });
    const status = await answered.then((answer) => answer.status, String);
    result.requests += 1;
    if (status !== 503) result.violations.push(`a request was answered with ${status}`);
    if (!isFirst || sentAt - fromAt > noticedMs) times.push(performance.now() - sentAt);
  };
  const underWay = new Set<Promise<void>>();
  for (let sent = 0; performance.now() < until; ) {
    for (; sent < ((performance.now() - fromAt) / 1_000) * perSecond; sent += 1) {
      const sending: Promise<void> = one().finally(() => underWay.delete(sending));
      underWay.add(sending);
    }
    await pause(everyMs); // the pace of the load
  }
  await Promise.all(underWay);
  agent.destroy();
  const after = await look(api);
  return {
    p50Ms: percentile(times, 0.5),
    p99Ms: percentile(times, 0.99),
    maxMs: percentile(times, 1),
    cpu: (after.cpuMs - before.cpuMs) / (performance.now() - fromAt),
    rssMiB: after.rssMiB,
    lines: after.lines - before.lines,
  };
}

const shortRequest = {
  method: 'POST',
  path: '/v1/responses',
  body: '{"model":"simulator","input":"Hi"}',
} as const;

async function look({ pid, output }: RunningApi): Promise<{ cpuMs: number; rssMiB: number; lines: number }> {
  const { rssMiB } = await resourcesOf(pid);
  return { cpuMs: cpuTimeMs(pid) ?? Number.NaN, rssMiB, lines: output().split('\n').length };
}

function broken({ parts: found, recoveredMs }: OutageResult): string[] {
  const slow = found.filter(({ p99Ms }) => p99Ms > promised.refusalMs);
  return [
    ...slow.map(({ p99Ms }) => `p99 of a refusal is ${Math.round(p99Ms)} ms`),
    ...(recoveredMs > promised.recoveryMs
      ? [`the first answer came after ${Math.round(recoveredMs)} ms`]
      : []),
  ];
}
