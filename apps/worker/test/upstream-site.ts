import { type FakeUpstream, startFakeUpstream, testRedis, type UpstreamHandler } from '@sluice/testing';
import { expect } from 'vitest';
import type { UpstreamStatus } from '../src/upstream-status.ts';
import type { WorkerProcess } from '../src/worker-process.ts';
import { acceptedResponses, type AcceptOptions } from './accepted-responses.ts';
import { listeningWorker } from './listening-worker.ts';

export const model = 'm';

export type UpstreamSite = Awaited<ReturnType<typeof startUpstreamSite>>;

/** Accepted responses of one model, the upstreams that are to answer them, and the workers between them. */
export async function startUpstreamSite() {
  const redis = await testRedis();
  const responses = await acceptedResponses(redis, model);
  const upstreams: FakeUpstream[] = [];
  const workers: WorkerProcess[] = [];
  return {
    redis,
    responses,
    workers,
    /** An upstream that does the same with each request, if it is told at once what that is. */
    async upstream(handler?: UpstreamHandler): Promise<FakeUpstream> {
      const upstream = await startFakeUpstream();
      upstreams.push(upstream);
      if (handler) upstream.onChatCompletions(handler);
      return upstream;
    },
    /** A worker with the settings of a file. Returns the port of its health listener. */
    async startWorker(file: string): Promise<number> {
      const { worker, ready } = listeningWorker(redis, file);
      workers.push(worker);
      await worker.start(new AbortController().signal);
      return ready.wait();
    },
    acceptMany: (count: number, options: AcceptOptions = {}) =>
      Promise.all(Array.from({ length: count }, () => responses.accept({ streams: false, ...options }))),
    /** How many of these responses have come to each end. */
    async statusesOf(ids: readonly string[]): Promise<Record<string, number>> {
      const counts: Record<string, number> = {};
      for (const id of ids) {
        const { end } = await responses.ended(id);
        const word = end?.error?.code ?? end?.status ?? 'none';
        counts[word] = (counts[word] ?? 0) + 1;
      }
      return counts;
    },
    async stop(): Promise<void> {
      await Promise.all(workers.map((worker) => worker.stop('terminated')));
      await responses.close();
      await Promise.all(upstreams.map((upstream) => upstream.close()));
      await redis.close();
    },
  };
}

/** The status of each upstream, as a worker tells it. */
export async function upstreamsAt(port: number): Promise<UpstreamStatus[]> {
  const answer = await fetch(`http://127.0.0.1:${port}/upstreams`);
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { upstreams: UpstreamStatus[] }).upstreams;
}
