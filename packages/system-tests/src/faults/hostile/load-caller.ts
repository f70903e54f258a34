import { once } from 'node:events';
import { connect } from 'node:net';
import { WebSocket } from 'ws';

/** A tenant that sends a load. Each of its calls resolves with what it came to. */
export interface LoadCaller {
  create: (body: Record<string, unknown>) => Promise<string>;
  /** Creates a response with an input and deletes it. */
  createAndDelete: (input: string) => Promise<string>;
  /** Reads a path below the mount to its end, with another key if one is given. */
  read: (path: string, key?: string) => Promise<string>;
  /** The path of the response to an input, which is created once. */
  stored: (input: string) => Promise<string>;
  /** Sends a message over a WebSocket of its own, in fragments of so many bytes. It is no valid request. */
  message: (bytes: number, ofFragment: number) => Promise<string>;
  /** Sends so many reads in one write, over a connection of its own. */
  pipeline: (count: number) => Promise<string>;
}

/** How long a step may take, in milliseconds. One that waits for longer is left. */
const patienceMs = 20_000;

export function loadCallerOf(url: string, key: string): LoadCaller {
  const stored = new Map<string, Promise<string>>();
  const send = (path: string, init: RequestInit = {}, as = key) =>
    fetch(`${url}/v1/${path}`, {
      ...init,
      headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(patienceMs),
    });
  const post = (body: Record<string, unknown>) =>
    send('responses', { method: 'POST', body: JSON.stringify(body) });
  const idOf = async (answer: Response) => ((await answer.json()) as { id: string }).id; // as the contract says
  return {
    async create(body) {
      const answer = await post(body);
      await drain(answer);
      return String(answer.status);
    },
    async createAndDelete(input) {
      const answer = await post({ model: 'fast', input });
      const path = `responses/${await idOf(answer)}`;
      await drain(await send(path, { method: 'DELETE' }));
      return String(answer.status);
    },
    async read(path, as) {
      const answer = await send(path, {}, as);
      await drain(answer);
      return String(answer.status);
    },
    stored(input) {
      const known = stored.get(input);
      if (known) return known;
      const created = post({ model: 'fast', input }).then(
        async (answer) => `responses/${await idOf(answer)}`,
      );
      created.catch(() => stored.delete(input));
      stored.set(input, created);
      return created;
    },
    async message(bytes, ofFragment) {
      const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, {
        headers: { authorization: `Bearer ${key}` },
      });
      const over = once(socket, 'close');
      socket.on('error', () => undefined); // It is closed then.
      await Promise.race([once(socket, 'open'), over]);
      const fragment = Buffer.alloc(ofFragment, ' ');
      for (let sent = 0; sent < bytes; sent += ofFragment) {
        socket.send(fragment, { binary: false, fin: sent + ofFragment >= bytes }, () => undefined);
      }
      await Promise.race([once(socket, 'message'), over]);
      socket.terminate();
      return 'answered';
    },
    async pipeline(count) {
      const { hostname, port } = new URL(url);
      const socket = connect(Number(port), hostname);
      socket.on('error', () => undefined); // It is closed then.
      socket.end(
        `GET /v1/models HTTP/1.1\r\nhost: sluice\r\nauthorization: Bearer ${key}\r\n\r\n`.repeat(count),
      );
      socket.resume();
      await once(socket, 'close');
      return 'closed';
    },
  };
}

/** Reads an answer without keeping it. */
async function drain({ body }: Response): Promise<void> {
  for await (const _piece of body ?? []) continue;
}
