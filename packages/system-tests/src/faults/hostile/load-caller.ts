import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { addAbortSignal } from 'node:stream';
import { memoize } from '@sluice/runtime';

/** A tenant that sends a load. Each of its calls resolves with what it came to, and rejects if it has no answer in time. */
export interface LoadCaller {
  create: (body: Record<string, unknown>) => Promise<string>;
  /** Creates a response, reads the answer to its end and deletes it. */
  createAndDelete: (body: Record<string, unknown>) => Promise<string>;
  /** Reads a path below the mount to its end, with another key if one is given. */
  read: (path: string, key?: string) => Promise<string>;
  /** The path of the response to an input, which is created once. Rejects if it is refused. */
  stored: (input: unknown) => Promise<string>;
  /** Sends a message over a WebSocket of its own, in fragments of so many bytes. It is no valid request. */
  message: (bytes: number, ofFragment: number) => Promise<string>;
  /** Sends so many reads in one write, over a connection of its own. Resolves with the statuses of those that are answered. */
  pipeline: (count: number) => Promise<string>;
}

/** How long a step may take, in milliseconds. One that waits for longer is left. */
const patienceMs = 20_000;
/** What a step comes to that was left. */
export const leftStep = `no answer in ${patienceMs / 1000} s`;

export function loadCallerOf(url: string, key: string): LoadCaller {
  const stored = new Map<unknown, Promise<string>>();
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
      const deletion = await send(`responses/${id}`, { method: 'DELETE' });
      await drain(deletion);
      return deletion.ok ? String(answer.status) : `${answer.status}, and its deletion ${deletion.status}`;
    },
    async read(path, as) {
      const answer = await send(path, {}, as);
      await drain(answer);
      return String(answer.status);
    },
    stored(input) {
      const known = stored.get(input);
      if (known) return known;
      const created = post({ model: 'fast', input }).then(async (answer) => {
        if (!answer.ok) throw new Error(`its input was refused: ${answer.status} ${await answer.text()}`);
        return `responses/${await idOf(answer)}`;
      });
      created.catch(() => stored.delete(input));
      stored.set(input, created);
      return created;
    },
    async message(bytes, ofFragment) {
      const frames = framesOf(bytes, ofFragment);
      const signal = AbortSignal.timeout(patienceMs);
      const request = get(`${url}/v1/responses`, {
        signal,
        headers: {
          authorization: `Bearer ${key}`,
          connection: 'upgrade',
          upgrade: 'websocket',
          'sec-websocket-version': '13',
          'sec-websocket-key': randomBytes(16).toString('base64'),
        },
      });
      request.once('response', ({ statusCode }) => request.destroy(new Error(`no upgrade: ${statusCode}`)));
      const [, socket] = (await once(request, 'upgrade')) as [IncomingMessage, Socket];
      // The service may close the connection while it is written to.
      const over = new Promise<string>((resolve) =>
        socket.once('data', () => resolve('answered')).once('close', () => resolve('closed')),
      );
      addAbortSignal(signal, socket)
        .on('error', () => undefined)
        .write(frames);
      const came = await over;
      socket.destroy();
      signal.throwIfAborted();
      return came;
    },
    async pipeline(count) {
      const { hostname, port } = new URL(url);
      const signal = AbortSignal.timeout(patienceMs);
      const socket = addAbortSignal(signal, connect(Number(port), hostname));
      socket.on('error', () => undefined); // It is closed then.
      socket.end(
        `GET /v1/models HTTP/1.1\r\nhost: sluice\r\nauthorization: Bearer ${key}\r\n\r\n`.repeat(count),
      );
      let text = '';
      socket.setEncoding('latin1').on('data', (piece: string) => (text += piece));
      await once(socket, 'close');
      signal.throwIfAborted();
      const statuses = Map.groupBy(text.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status);
      return [...statuses].map(([status, { length }]) => `${length} times ${status}`).join(', ');
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
