import { isReplyMissing } from './redis-failure.ts';

/** Between two tries, in milliseconds. A lost connection is back after one to three of these. */
const repeatEveryMs = 100;

export interface RepeatOptions {
  /** By `performance.now`: no try but the first begins later than this, or is waited for any longer. */
  giveUpAt: number;
  /** Whether a first try that failed with this error is the last one, too. */
  isFinal?: (error: unknown) => boolean;
}

/**
 * Does a step of the store again while its reply is missing. The step must be harmless twice, also when its first try
 * arrives after the second.
 *
 * Rejects with the error of the first try when no other had an answer in time, and with an answer that is an error at
 * once.
 */
export async function repeatUnanswered<Result>(
  step: () => Promise<Result>,
  { giveUpAt, isFinal = () => false }: RepeatOptions,
): Promise<Result> {
  try {
    return await step();
  } catch (error) {
    if (!isReplyMissing(error) || isFinal(error)) throw error;
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, repeatEveryMs));
      const leftMs = giveUpAt - performance.now();
      if (leftMs <= 0) throw error;
      const answer = await tryFor(step, leftMs);
      if (answer) return answer.result;
    }
  }
}

/** One more try; undefined when its reply is missing, or late. What it comes to later is nobody's concern. */
async function tryFor<Result>(
  step: () => Promise<Result>,
  leftMs: number,
): Promise<{ result: Result } | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), leftMs);
  try {
    return await Promise.race([step().then((result) => ({ result })), late]);
  } catch (error) {
    if (!isReplyMissing(error)) throw error;
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}
