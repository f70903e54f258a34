import {
  type Agent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as httpRequest,
} from 'node:http';
import { text } from 'node:stream/consumers';
import { type SseFrame, sseFrames } from '@sluice/testing';

/** One request as it is sent. The path is sent unchanged, where `fetch` would normalise it. */
export interface WireRequest {
  method?: 'GET' | 'POST' | 'DELETE';
  /** The path with its mount and query. */
  path: string;
  key: string;
  body?: unknown;
  headers?: Record<string, string>;
  /** Connections to be used again. Default: a new one. */
  agent?: Agent;
  /** The connection is cut if the answer is not whole by then, in milliseconds. Default: never. */
  withinMs?: number;
}

export interface WireAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/** An answer on a connection of its own, with its body still to be read. */
export interface OpenAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  incoming: IncomingMessage;
  /** Cuts the connection, as a client does that crashes. */
  cut: () => void;
}

/** What a reader has received of a stream. */
export interface ReadPart {
  /** Whole frames, except `[DONE]`. */
  frames: SseFrame[];
  /** Whether the stream ended with `[DONE]`. */
  isWhole: boolean;
}

/** Sends one request. Resolves when the headers of the answer arrive, and rejects if there is none in time. */
export function open(baseUrl: string, wanted: WireRequest): Promise<OpenAnswer> {
  const { method = 'GET', path, key, body, headers = {}, agent = false, withinMs } = wanted;
  const { hostname, port } = new URL(baseUrl);
  const sent = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
  const { promise, resolve, reject } = Promise.withResolvers<OpenAnswer>();
  const outgoing = httpRequest({
    hostname,
    port,
    method,
    path,
    agent,
    headers: {
      authorization: `Bearer ${key}`,
      ...(sent !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
  });
  outgoing.on('error', reject);
  if (withinMs !== undefined) {
    const late = () => outgoing.destroy(new Error(`no whole answer within ${Math.round(withinMs)} ms`));
    const lapse = setTimeout(late, withinMs);
    outgoing.once('close', () => clearTimeout(lapse));
  }
  outgoing.on('response', (incoming) => {
    // This side cut the connection. A reader sees the body break off.
    incoming.on('error', () => undefined);
    resolve({
      status: incoming.statusCode ?? 0,
      headers: incoming.headers,
      incoming,
      cut: () => outgoing.destroy(),
    });
  });
  outgoing.end(sent);
  return promise;
}

/** Sends one request and reads the whole answer. Rejects if it breaks off, or is not there in time. */
export async function send(baseUrl: string, wanted: WireRequest): Promise<WireAnswer> {
  const { status, headers, incoming } = await open(baseUrl, wanted);
  return { status, headers, text: await text(incoming) };
}

/**
 * Reads frames until the stream ends, or until a number of events or bytes has been read, and then cuts the connection.
 * The last byte may be anywhere: an incomplete frame is dropped, as a client drops it. Rejects if the connection breaks.
 */
export async function readFrames(
  answer: OpenAnswer,
  until: { bytes?: number; events?: number; onFrame?: (frame: SseFrame) => void } = {},
): Promise<ReadPart> {
  const { bytes = Number.POSITIVE_INFINITY, events = Number.POSITIVE_INFINITY, onFrame } = until;
  const frames: SseFrame[] = [];
  let isWhole = false;
  try {
    for await (const frame of sseFrames(take(answer.incoming, bytes))) {
      if (frame.data === '[DONE]') {
        isWhole = true;
        continue;
      }
      frames.push(frame);
      onFrame?.(frame);
      if (frames.length >= events) break;
    }
  } finally {
    answer.cut();
  }
  return { frames, isWhole };
}

/** The sequence number of an event, from its frame. */
export function numberOf({ data }: SseFrame): number {
  // A frame without an event has no number and fails every comparison.
  return (JSON.parse(data) as { sequence_number: number }).sequence_number;
}

/** All frames of a replay. Rejects if it breaks off. */
export async function wholeReplay(opening: Promise<OpenAnswer>): Promise<SseFrame[]> {
  const answer = await opening;
  const { frames, isWhole } = await readFrames(answer);
  if (answer.status !== 200 || !isWhole) throw new Error(`a replay broke off, status ${answer.status}`);
  return frames;
}

/** The id of the response, from its first event. */
export function idIn(frame: SseFrame | undefined): string {
  if (frame === undefined) throw new Error('the stream has no first event');
  return (JSON.parse(frame.data) as { response: { id: string } }).response.id; // `response.created` carries it
}

async function* take(incoming: IncomingMessage, bytes: number): AsyncGenerator<Uint8Array> {
  let left = bytes;
  for await (const part of incoming) {
    const chunk = part as Buffer; // no encoding is set, so parts are buffers
    if (chunk.length >= left) {
      yield chunk.subarray(0, left);
      return;
    }
    left -= chunk.length;
    yield chunk;
  }
}
