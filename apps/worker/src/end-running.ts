import { randomUUID } from 'node:crypto';
import { endUnrun } from './end-unrun.ts';
import type { ExecuteDependencies } from './execute-response.ts';

/** No job stands behind this end, so there is no lock to lose. */
const neverLost = new AbortController().signal;

/**
 * Ends a response that is in progress by its record, while no worker ends it: its own died, and its job waits in a
 * queue that is paused or full. A worker that is alive after all is superseded by the claim; a response that may go
 * on after all is given back.
 */
export async function endRunning(
  dependencies: Pick<ExecuteDependencies, 'log' | 'observer' | 'logger' | 'running'>,
  responseId: string,
): Promise<void> {
  const token = randomUUID();
  const claimed = await dependencies.log.claim(responseId, token);
  if (claimed.kind === 'end') {
    await endUnrun(dependencies, claimed.record, token, claimed.because, neverLost);
  } else if (claimed.kind === 'run') {
    await dependencies.log.release(responseId, token);
  }
}
