import { WebSocket } from 'ws';
import type { Exchange } from './exchange.ts';
import type { Target } from './order.ts';

/** Sends turns over WebSockets, one at a time over each. A connection is kept for the next turn. */
export class SocketLanes {
  readonly #idle = new Map<string, WebSocket[]>();

  /** Sends a turn and checks its answer as it arrives; frames are told apart by how they begin. Never rejects. */
  async exchange(target: Target): Promise<Exchange> {
    const idle = this.#idle.get(target.origin) ?? [];
    this.#idle.set(target.origin, idle);
    let socket = idle.pop();
    try {
      socket ??= await connect(target);
    } catch (error) {
      return failed(String(error));
    }
    const exchanged = await turn(socket, target);
    if (exchanged.failure === undefined) idle.push(socket);
    else socket.terminate();
    return exchanged;
  }

  close(): void {
    for (const socket of [...this.#idle.values()].flat()) socket.terminate();
  }
}

function connect({ origin, path, headers }: Target): Promise<WebSocket> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${origin.replace('http', 'ws')}${path}`, {
      headers,
      perMessageDeflate: false,
      skipUTF8Validation: true,
    });
    socket.once('open', () => resolve(socket));
    socket.once('error', reject);
  });
}

function turn(socket: WebSocket, { body, mark, marks, ending }: Target): Promise<Exchange> {
  return new Promise((resolve) => {
    const sentAt = performance.now();
    let seen = 0;
    let firstMarkAt = Number.NaN;
    const settle = (failure: string | undefined) => {
      socket.off('message', onMessage);
      socket.off('close', onClose);
      const elapsedMs = performance.now() - sentAt;
      resolve({ failure, marks: seen, elapsedMs, firstMarkMs: firstMarkAt - sentAt });
    };
    const onMessage = (data: Buffer) => {
      const start = data.toString('latin1', 0, mark.length);
      if (start === mark) {
        if (seen === 0) firstMarkAt = performance.now();
        seen += 1;
      } else if (start.startsWith(ending)) {
        settle(seen === marks ? undefined : `${seen} tokens instead of ${marks}`);
      } else if (start.startsWith('{"type":"error"')) {
        settle(data.toString());
      }
    };
    const onClose = () => settle('the connection was closed');
    socket.on('message', onMessage);
    socket.once('close', onClose);
    socket.send(body);
  });
}

function failed(failure: string): Exchange {
  return { failure, marks: 0, elapsedMs: Number.NaN, firstMarkMs: Number.NaN };
}
