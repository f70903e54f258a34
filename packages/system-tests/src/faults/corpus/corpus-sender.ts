import { setTimeout as pause } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { concurrently } from '../../statistics.ts';
import { type BadRequest, jsonHeaders } from './bad-request.ts';
import { badRequests } from './bad-requests.ts';
import { judgeAnswer } from './judge-answer.ts';
import { sendRaw } from './raw-http.ts';
import { shortRequest } from './short-request.ts';

export interface SenderOptions {
  url: string;
  key: string;
  seed: number;
}

/** So many further requests are to be sent: of the corpus, or the one good request as often. */
export interface Block {
  kind: 'bad' | 'good';
  count: number;
}

/** What became of a block. */
export interface BlockResult {
  /** Requests by the status of their answer. */
  statuses: Map<number, number>;
  problems: string[];
}

/** Requests in flight, and how many are sent in a second at most: a load that the machine can bear. */
const atATime = 4;
const perSecond = 400;

// A thread of its own: making the requests takes time, in which nobody could look at how long others wait.
const { url, key, seed } = workerData as SenderOptions; // as `runCorpus` starts it
const corpus = badRequests(seed, key);
let sent = 0;

parentPort?.on('message', (block: Block) => {
  void sendBlock(block).then((result) => parentPort?.postMessage(result));
});

/** What an ordinary tenant sends, on a connection of its own as all of these are. */
const good: BadRequest = {
  what: 'nothing is wrong',
  method: 'POST',
  path: '/v1/responses',
  headers: jsonHeaders(key),
  body: Buffer.from(JSON.stringify(shortRequest)),
  verdict: { kind: 'open' },
};

async function sendBlock({ kind, count }: Block): Promise<BlockResult> {
  const result: BlockResult = { statuses: new Map(), problems: [] };
  const startedAt = performance.now();
  await concurrently(count, atATime, async (at) => {
    const request = kind === 'bad' ? corpus.next().value : good;
    const number = sent;
    sent += 1;
    await pause(Math.max(0, startedAt + (at * 1000) / perSecond - performance.now())); // the pace of the load
    const answer = await sendRaw(url, request);
    result.statuses.set(answer.status, (result.statuses.get(answer.status) ?? 0) + 1);
    for (const problem of judgeAnswer(request, answer)) {
      result.problems.push(
        `request ${number} (${request.what}): ${problem}\n  ${request.method} ${request.path.slice(0, 200)}\n  ${request.body?.toString('utf8').slice(0, 600) ?? ''}`,
      );
    }
  });
  return result;
}
