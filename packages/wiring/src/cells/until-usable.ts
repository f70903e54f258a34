import { FatalError, type Logger, maskRedisUrl, pause, throttledWarning } from '@sluice/runtime';

/** How long the Redis of a cell that cannot be used is left alone before it is looked at again, in milliseconds. */
const askAgainMs = 2_000;

/**
 * Runs a step until the Redis of a cell can be used, and says every few seconds why it cannot be: the process serves other cells meanwhile, and whoever
 * has changed the password or the settings of this one may change them back.
 *
 * Rejects with the reason of the signal, and with an error that says nothing of how the Redis is set up, such as that its client was closed.
 */
export async function untilUsable<Result>(
  step: () => Promise<Result>,
  { name, url, logger, signal }: { name: string; url: string; logger: Logger; signal: AbortSignal },
): Promise<Result> {
  const { warn } = throttledWarning(logger, 'a cell cannot be used, it is looked at again');
  for (;;) {
    try {
      return await step();
    } catch (error) {
      if (signal.aborted || !(error instanceof FatalError)) throw error;
      // What a process says that does not start is about the address that it was started with.
      const why = error.message.replaceAll('REDIS_URL', 'the address of the cell');
      warn(new Error(`cell '${name}' at ${maskRedisUrl(url)}: ${why}`, { cause: error }));
    }
    await pause(askAgainMs, signal);
    signal.throwIfAborted();
  }
}
