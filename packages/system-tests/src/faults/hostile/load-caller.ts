import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { memoize } from '@sluice/runtime';

/** A tenant that sends a load. Each of its calls resolves with what it came to. */
export interface LoadCaller {
  create: (body: Record<string, unknown>) => Promise<string>;
  /** Creates a response, reads the answer to its end and deletes it. */
  createAndDelete: (body: Record<string, unknown>) => Promise<string>;
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
    async createAndDelete(body) {
      const answer = await post(body);
      await drain(answer);
      const id = answer.headers.get('x-sluice-response-id') ?? '';
      await drain(await send(`responses/${id}`, { method: 'DELETE' }));
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
      const frames = framesOf(bytes, ofFragment);
      const request = get(`${url}/v1/responses`, {
        headers: {
          authorization: `Bearer ${key}`,
          connection: 'upgrade',
          upgrade: 'websocket',
          'sec-websocket-version': '13',
          'sec-websocket-key': randomBytes(16).toString('base64'),
        },
      });
      // The service may close the connection while it is written to.
      const [, socket] = (await once(request, 'upgrade')) as [IncomingMessage, Socket];
      const over = new Promise((resolve) => socket.once('data', resolve).once('close', resolve));
      socket.on('error', () => undefined).write(frames);
      await over;
      socket.destroy();
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

/**
 * A text message of spaces in fragments, as a client writes them (RFC 6455, 5.2), printed once: a client library that prints
 * each of 20,000 fragments takes more of the machine than the service.
 */
const framesOf = memoize((bytes: number, ofFragment: number): Buffer => {
  const frames: Buffer[] = [];
  for (let sent = 0; sent < bytes; sent += ofFragment) {
    const opcode = sent === 0 ? 1 : 0;
    const isLast = sent + ofFragment >= bytes;
    const head = [(isLast ? 0x80 : 0) | opcode];
    if (ofFragment < 126) head.push(0x80 | ofFragment);
    else head.push(0x80 | 126, ofFragment >> 8, ofFragment & 0xff);
    // A mask of zeros changes nothing.
    frames.push(Buffer.from([...head, 0, 0, 0, 0]), Buffer.alloc(ofFragment, ' '));
  }
  return Buffer.concat(frames);
});
