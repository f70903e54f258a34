import { type Child, ownProcess, startChild } from '../child-process.ts';
import type { Arrival, UpstreamCount, UpstreamQuestion } from './paced-model.ts';

/** The paced upstream and its log. One question at a time. */
export interface PacedUpstream {
  url: string;
  child: Child;
  /** Empties the log. Nothing may run meanwhile. */
  forget(): Promise<void>;
  count(): Promise<UpstreamCount>;
  /** Every request since the log was emptied, in the order of arrival. */
  log(): Promise<Arrival[]>;
  stop(): Promise<void>;
}

const answerWithinMs = 10_000;

export async function startPacedUpstream(): Promise<PacedUpstream> {
  const child = await startChild({ name: 'paced upstream', ...ownProcess('./upstream/paced-upstream') });
  const ask = (question: UpstreamQuestion['ask']) => child.ask({ ask: question }, answerWithinMs);
  return {
    url: String(child.ready['url']),
    child,
    async forget() {
      await ask('forget');
    },
    // What the process answers to each question.
    count: async () => (await ask('count')) as UpstreamCount,
    log: async () => (await ask('log')) as Arrival[],
    stop: () => child.stop(),
  };
}
