import type { IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';

/** A frame of the server. */
export type Frame = Record<string, unknown> & { type: string };

export interface SocketOptions {
  key: string;
  headers: Record<string, string>;
  /** The version of the WebSocket protocol. */
  protocolVersion: number;
  /** Called with each frame that is an event. */
  onEvent: (event: unknown) => void;
}

/** A WebSocket as a client has it. */
export interface TestSocket {
  socket: WebSocket;
  /** What has arrived so far. */
  frames: Frame[];
  /** What the server calls the request that opened it. */
  requestId: string | undefined;
  /** Code and reason of the end. */
  closed: Promise<{ code: number; reason: string }>;
  send(frame: object): void;
  /** Sends a `response.create`, and returns the frames up to the one that ends it. */
  turn(fields: object): Promise<Frame[]>;
  /** The first frame from a place on for which this holds. */
  next(holds: (frame: Frame) => boolean, from?: number): Promise<Frame>;
  close(): Promise<void>;
}

/** An upgrade was refused. */
export class UpgradeRefused extends Error {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;

  constructor(answer: IncomingMessage, body: string) {
    super(`The upgrade was refused with ${answer.statusCode}: ${body}`);
    this.status = answer.statusCode ?? 0;
    this.headers = answer.headers;
    this.body = body;
  }
}

const endTypes = new Set(['response.completed', 'response.incomplete', 'response.failed', 'error']);

/** @throws {UpgradeRefused} */
export function openSocket(
  url: string,
  { key = '', headers = {}, protocolVersion = 13, onEvent }: Partial<SocketOptions>,
): Promise<TestSocket> {
  const socket = new WebSocket(url, {
    protocolVersion,
    headers: { ...(key !== '' && { authorization: `Bearer ${key}` }), ...headers },
  });
  const frames: Frame[] = [];
  const looking = new Set<() => void>();
  const look = () => {
    for (const each of looking) each();
  };
  socket.on('message', (data: Buffer) => {
    const frame = JSON.parse(data.toString()) as Frame;
    frames.push(frame);
    if (frame.type.startsWith('response.') && frame.type !== 'response.steer.failed') onEvent?.(frame);
    look();
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on('close', (code, reason) => resolve({ code, reason: reason.toString() }));
  });
  socket.on('close', look);
  const next = (holds: (frame: Frame) => boolean, from = 0) =>
    new Promise<Frame>((resolve, reject) => {
      const see = () => {
        const found = frames.slice(from).find(holds);
        if (!found && socket.readyState < WebSocket.CLOSING) return;
        looking.delete(see);
        if (found) resolve(found);
        else reject(new Error(`The connection closed before that: ${JSON.stringify(frames.slice(from))}`));
      };
      looking.add(see);
      see();
    });
  const opened: TestSocket = {
    socket,
    frames,
    requestId: undefined,
    closed,
    next,
    send: (frame) => socket.send(JSON.stringify(frame)),
    async turn(fields) {
      const from = frames.length;
      opened.send({ type: 'response.create', ...fields });
      await next(({ type }) => endTypes.has(type), from);
      return frames.slice(from);
    },
    async close() {
      socket.close();
      await closed;
    },
  };
  return new Promise((resolve, reject) => {
    socket.once('upgrade', ({ headers: given }) => {
      opened.requestId = given['x-request-id']?.toString();
    });
    socket.once('open', () => resolve(opened));
    socket.on('error', reject);
    socket.once('unexpected-response', (_request, answer: IncomingMessage) => {
      let body = '';
      answer.on('data', (chunk: Buffer) => {
        body += chunk.toString();
      });
      answer.on('end', () => reject(new UpgradeRefused(answer, body)));
    });
  });
}
