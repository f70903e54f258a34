import type { Target } from '../load/order.ts';
import { type SpawnedProcess, untilStarted } from '../spawned-process.ts';

/** Resolves when a peer behind a server of its own has answered a first request. */
export function untilAnswered(
  name: string,
  server: SpawnedProcess,
  { origin, path, headers, body }: Target,
): Promise<void> {
  return untilStarted(name, server, async () => {
    const answer = await fetch(`${origin}${path}`, { method: 'POST', headers, body });
    return answer.ok || (await answer.text());
  });
}
