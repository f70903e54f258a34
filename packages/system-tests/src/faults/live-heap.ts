import { once } from 'node:events';
import type { SluiceProcess } from '../sluice-process.ts';

/** Lets the inspector of a process that is asked for one listen on any free port of this machine. */
export const inspectable = { NODE_OPTIONS: '--inspect-port=127.0.0.1:0' };

/** How long a process may take to answer its inspector, in milliseconds. */
const longestMs = 30_000;

/**
 * What a Node process of the service holds after a full collection, in MiB: its heap and the memory behind its buffers.
 * A leak shows here, and nothing that only waits to be collected. The process must have been started `inspectable`.
 *
 * SIGUSR1 starts the inspector of a running process: https://nodejs.org/en/learn/getting-started/debugging
 */
export async function liveHeapMiB(process: SluiceProcess): Promise<number> {
  process.signal('SIGUSR1');
  const [, address = ''] = await process.printed(/Debugger listening on (ws:\S+)/);
  const socket = new WebSocket(address);
  try {
    await once(socket, 'open', { signal: AbortSignal.timeout(longestMs) });
    await ask(socket, 1, 'HeapProfiler.collectGarbage');
    const { usedSize = Number.NaN, backingStorageSize = 0 } = await ask(socket, 2, 'Runtime.getHeapUsage');
    return (usedSize + backingStorageSize) / (1024 * 1024);
  } finally {
    socket.close();
  }
}

/** The result of a command of the DevTools protocol. */
async function ask(socket: WebSocket, id: number, method: string): Promise<Record<string, number>> {
  socket.send(JSON.stringify({ id, method }));
  const [{ data }] = (await once(socket, 'message', { signal: AbortSignal.timeout(longestMs) })) as [
    MessageEvent,
  ];
  const answer = JSON.parse(String(data)) as { id: number; result: Record<string, number> }; // as the protocol says
  if (answer.id !== id) throw new Error(`the inspector answered ${String(data)}`);
  return answer.result;
}
