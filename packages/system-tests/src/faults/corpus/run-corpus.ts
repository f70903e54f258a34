import { setTimeout as pause } from 'node:timers/promises';
import { callerOf } from '../../caller.ts';
import { type Service, startService } from '../../service.ts';
import { concurrently, percentile } from '../../statistics.ts';
import { badRequests } from './bad-requests.ts';
import { judgeAnswer } from './judge-answer.ts';
import { sendRaw } from './raw-http.ts';

export interface CorpusOptions {
  requests: number;
  seed: number;
  redisUrl: string;
  onProgress?: (sent: number) => void;
}

export interface CorpusResult {
  sent: number;
  /** Requests by the status of their answer. */
  statuses: Map<number, number>;
  problems: string[];
  /** Times of the neighbour's requests, in milliseconds: while the corpus is sent, and in the pauses between. */
  beside: number[];
  alone: number[];
  /** 99th percentiles of the pauses one by one, in milliseconds: how much they differ is noise. */
  alonePercentiles: number[];
}

const keys = { sender: 'sk-sender-0123456789abcdef', neighbour: 'sk-neighbour-0123456789abcdef' };

/** Requests between two pauses, each of which takes as long. */
const blockSize = 1_000;
/** Requests in flight, and how many are sent in a second at most: a load that the machine can bear. */
const atATime = 4;
const perSecond = 400;

/**
 * Sends wrong requests to one api, while a neighbour sends good ones. Blocks of wrong requests take turns with pauses, in
 * which the neighbour is alone, so that both see the same machine.
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
    beside: [],
    alone: [],
    alonePercentiles: [],
  };
  const corpus = badRequests(options.seed, keys.sender);
  await probe(service, { until: pause(1_000), times: [], problems: [] }); // warms up the api and the worker
  for (let left = options.requests; left > 0; left -= blockSize) {
    const startedAt = performance.now();
    const sending = sendBlock(service, corpus, Math.min(left, blockSize), result);
    await probe(service, { until: sending, times: result.beside, problems: result.problems });
    const times: number[] = [];
    const asLong = pause(performance.now() - startedAt); // the time of the measurement itself
    await probe(service, { until: asLong, times, problems: result.problems });
    result.alone.push(...times);
    result.alonePercentiles.push(percentile(times, 0.99));
    options.onProgress?.(result.sent);
  }
  for (const each of [...service.apis, ...service.workers]) {
    if (!each.isRunning()) result.problems.push(`a process has ended:\n${each.output().slice(-2_000)}`);
  }
  return result;
}

async function sendBlock(
  { apiUrls }: Service,
  corpus: ReturnType<typeof badRequests>,
  count: number,
  result: CorpusResult,
): Promise<void> {
  const startedAt = performance.now();
  await concurrently(count, atATime, async (at) => {
    const number = result.sent;
    result.sent += 1;
    const { value: request } = corpus.next();
    await pause(Math.max(0, startedAt + (at * 1000) / perSecond - performance.now())); // the pace of the load
    const answer = await sendRaw(apiUrls[0] ?? '', request);
    result.statuses.set(answer.status, (result.statuses.get(answer.status) ?? 0) + 1);
    for (const problem of judgeAnswer(request, answer)) {
      result.problems.push(
        `request ${number} (${request.what}): ${problem}\n  ${request.method} ${request.path.slice(0, 200)}\n  ${request.body?.toString('utf8').slice(0, 600) ?? ''}`,
      );
    }
  });
}

interface Probing {
  until: Promise<unknown>;
  times: number[];
  problems: string[];
}

/** Sends one good request after the other for the neighbour, until a promise settles. */
async function probe({ apiUrls }: Service, { until, times, problems }: Probing): Promise<void> {
  const { create } = callerOf(apiUrls[0] ?? '', keys.neighbour);
  let isOver = false;
  const over = until.finally(() => (isOver = true));
  over.catch(() => undefined); // It is awaited below.
  while (!isOver) {
    const sentAt = performance.now();
    const { status } = await create({ input: 'Hi. [[sluice: tokens=1]]' });
    times.push(performance.now() - sentAt);
    if (status !== 200) problems.push(`the neighbour was answered with ${status}`);
    await pause(10); // the pace of the neighbour
  }
  await over;
}
