import { startThread } from '@sluice/runtime';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { atPace, inTurn } from '../../at-pace.ts';
import { callerOf } from '../../caller.ts';
import { type Service, startService } from '../../service.ts';
import { percentile } from '../../statistics.ts';
import type { Block, BlockResult, SenderOptions } from './corpus-sender.ts';
import { shortRequest } from './short-request.ts';

export interface CorpusOptions {
  requests: number;
  seed: number;
  redisUrl: string;
  /** Whether the neighbour is also watched beside good requests and alone. */
  isCompared: boolean;
  onProgress?: (sent: number) => void;
}

/** What is sent beside the neighbour's requests: the corpus, as many good requests of another tenant, or nothing. */
export type Company = 'bad' | 'good' | 'none';

export interface CorpusResult {
  sent: number;
  /** Requests by the status of their answer. */
  statuses: Map<number, number>;
  problems: string[];
  /** Times of the neighbour's requests, from when they were due if they are compared, in milliseconds. */
  times: Record<Company, number[]>;
  /** 99th percentiles of the pauses one by one, in milliseconds: how much they differ is noise. */
  alonePercentiles: number[];
}

const keys = { sender: 'sk-sender-0123456789abcdef', neighbour: 'sk-neighbour-0123456789abcdef' };

/** Between two requests of the neighbour, in milliseconds. */
const neighbourEveryMs = 20;

/** A request of the neighbour that has no answer by then is a problem, in milliseconds. */
const answeredWithinMs = 30_000;

/** Requests between two pauses, each of which takes as long. */
const blockSize = 1_000;

/**
 * Sends wrong requests to one api, while a neighbour sends good ones. Blocks of them take turns with blocks of good requests at
 * the same pace, which shows what is the fault of the wrong ones and what of any load, and with pauses. So all see the
 * same machine.
 */
export async function runCorpus(options: CorpusOptions): Promise<CorpusResult> {
  await using service = await startService({
    redisUrl: options.redisUrl,
    settings: {
      keys: [
        { name: 'sender', key: keys.sender },
        { name: 'neighbour', key: keys.neighbour },
      ],
      providers: [{ id: 'simulator', type: 'simulator', firstTokenMs: 0, tokensPerSecond: 0 }],
      models: [{ id: 'simulator', routes: [{ provider: 'simulator' }] }],
    },
  });
  const result: CorpusResult = {
    sent: 0,
    statuses: new Map(),
    problems: [],
    times: { bad: [], good: [], none: [] },
    alonePercentiles: [],
  };
  const workerData: SenderOptions = {
    url: service.apiUrls[0] ?? '',
    key: keys.sender,
    seed: options.seed,
  };
  const sender = startThread(new URL('./corpus-sender.ts', import.meta.url), { workerData });
  const { problems, times } = result;
  const { isCompared } = options;
  await probe(service, { isCompared, until: pause(1_000), times: [], problems }); // warms up the api and the worker
  for (let left = options.requests; left > 0; left -= blockSize) {
    const count = Math.min(left, blockSize);
    const startedAt = performance.now();
    const bad = sendBlock(sender, { kind: 'bad', count }, result);
    await probe(service, { isCompared, until: bad, times: times.bad, problems });
    if (isCompared) {
      const tookMs = performance.now() - startedAt;
      const sent = sendBlock(sender, { kind: 'good', count }, result);
      await probe(service, { isCompared, until: sent, times: times.good, problems });
      const alone: number[] = [];
      await probe(service, { isCompared, until: pause(tookMs), times: alone, problems }); // as long as the corpus took
      times.none.push(...alone);
      result.alonePercentiles.push(percentile(alone, 0.99));
    }
    options.onProgress?.(result.sent);
  }
  await sender.terminate();
  for (const each of [...service.apis, ...service.workers]) {
    if (!each.isRunning()) result.problems.push(`a process has ended:\n${each.output().slice(-2_000)}`);
  }
  return result;
}

/** Has the sender send the next requests, and adds up what became of them. */
async function sendBlock(sender: Worker, block: Block, result: CorpusResult): Promise<void> {
  sender.postMessage(block);
  const [{ statuses, problems }] = (await once(sender, 'message')) as [BlockResult]; // it answers each block once
  result.problems.push(...problems);
  if (block.kind === 'good') return;
  result.sent += block.count;
  for (const [status, times] of statuses) {
    result.statuses.set(status, (result.statuses.get(status) ?? 0) + times);
  }
}

interface Probing {
  isCompared: boolean;
  until: Promise<unknown>;
  times: number[];
  problems: string[];
}

/**
 * Sends good requests for the neighbour until a promise settles, and rejects if that does. They are sent when they are due, for a
 * comparison. Else each waits for the one before: a machine that does much else, as one that runs tests, could not bear the pace.
 */
async function probe({ apiUrls }: Service, { isCompared, until, times, problems }: Probing): Promise<void> {
  const { create } = callerOf(apiUrls[0] ?? '', keys.neighbour);
  const ask = async () => {
    const answered = create(shortRequest, { signal: AbortSignal.timeout(answeredWithinMs) });
    const status = await answered.then((answer) => answer.status, String);
    if (status !== 200) problems.push(`the neighbour was answered with ${status}`);
  };
  const sendAll = isCompared ? atPace : inTurn;
  times.push(...(await sendAll(ask, { everyMs: neighbourEveryMs, until })));
  await until;
}
