import { connect } from 'node:net';
import type { BadRequest } from './bad-request.ts';

export interface RawAnswer {
  /** 0 when the connection ended without an answer. */
  status: number;
  /** Whether the server closed the connection, as it was asked to. */
  isClosed: boolean;
  headers: Map<string, string>;
  text: string;
}

/** How long an answer may take, in milliseconds. */
const answerWithinMs = 15_000;

/** Sends a request byte for byte on a connection of its own, and reads the answer to its end. */
export async function sendRaw(baseUrl: string, request: BadRequest): Promise<RawAnswer> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  const { promise, resolve } = Promise.withResolvers<void>();
  const parts: Buffer[] = [];
  socket.on('data', (part) => parts.push(part));
  // A server that refuses the head of a request may reset the connection while the body is on its way.
  socket.on('error', () => resolve());
  socket.on('close', () => resolve());
  let isClosed = true;
  socket.setTimeout(answerWithinMs, () => {
    isClosed = false;
    socket.destroy();
  });
  // Not ended: a client that half-closes its connection counts as gone.
  socket.write(bytesOf(request, `${hostname}:${port}`));
  await promise;
  return { ...parseAnswer(Buffer.concat(parts)), isClosed };
}

function bytesOf({ method, path, headers, body }: BadRequest, host: string): Buffer {
  const isLengthGiven = headers.some(([name]) => name === 'content-length' || name === 'transfer-encoding');
  const all: [string, string][] = [['host', host], ...headers];
  if (body) all.push(['content-length', String(body.length)]);
  if (!isLengthGiven || body) all.push(['connection', 'close']);
  const head = `${method} ${path} HTTP/1.1\r\n${all.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
  // Header bytes beyond ASCII are sent as one byte each, as most clients do.
  return Buffer.concat([Buffer.from(head, 'latin1'), body ?? Buffer.alloc(0)]);
}

function parseAnswer(bytes: Buffer): Omit<RawAnswer, 'isClosed'> {
  let rest = bytes;
  for (;;) {
    const end = rest.indexOf('\r\n\r\n');
    const [line = '', ...fields] = rest.subarray(0, Math.max(end, 0)).toString('latin1').split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(line)?.[1] ?? 0);
    const headers = new Map(
      fields.map((field) => {
        const colon = field.indexOf(':');
        return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()];
      }),
    );
    const body = rest.subarray(end + 4);
    // An interim answer stands before the answer.
    if (status !== 100) {
      const isChunked = headers.get('transfer-encoding') === 'chunked';
      return { status, headers, text: (isChunked ? joinChunks(body) : body).toString('utf8') };
    }
    rest = body;
  }
}

function joinChunks(body: Buffer): Buffer {
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = body.indexOf('\r\n', at);
    const size = Number.parseInt(body.subarray(at, Math.max(end, at)).toString('latin1'), 16);
    if (end === -1 || !(size > 0)) return Buffer.concat(chunks);
    chunks.push(body.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}
