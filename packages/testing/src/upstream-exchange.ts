import { once } from 'node:events';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';

/** How a request ended, from the upstream's side. */
export type UpstreamEnding =
  | 'answered' // the whole answer went out
  | 'cut' // the test cut the connection
  | 'aborted'; // the caller left first

/** One request as it arrived. */
export interface UpstreamRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** The parsed JSON body, or the text if it is not JSON. */
  body: unknown;
  /** Resolves when the exchange is over. Never rejects. */
  ended: Promise<UpstreamEnding>;
}

/** One request and the ways to answer it. The functions may be destructured, because none uses `this`. */
export interface UpstreamExchange {
  request: UpstreamRequest;
  /** Aborted when the exchange is over, whoever ended it. */
  signal: AbortSignal;
  /** Answers with a whole JSON body. */
  json: (status: number, body: unknown, headers?: Record<string, string>) => void;
  /** Answers with a whole body of any type. */
  text: (status: number, contentType: string, body: string, headers?: Record<string, string>) => void;
  /** Begins an event stream. The headers are sent at once. */
  stream: (headers?: Record<string, string>) => UpstreamStream;
  /** Sends no answer. Resolves when the caller has left. */
  hang: () => Promise<void>;
  /** Resets the connection, whatever has been sent. */
  cut: () => void;
}

/** An event stream controlled by a test. Sending does nothing once the caller has left. */
export interface UpstreamStream {
  /** Sends one chunk as `data:`. Resolves when the kernel has taken it, so a slow caller delays it. */
  send(chunk: unknown): Promise<void>;
  /** Sends one named event with the object as its data. */
  event(name: string, data: unknown): Promise<void>;
  /** Sends text as it is: comments, broken JSON, half a chunk. */
  raw(text: string): Promise<void>;
  /** Ends the stream with `data: [DONE]`, as chat completions do. */
  done(): void;
  /** Ends the body properly without saying that the answer is complete. */
  end(): void;
  /** Resets the connection in the middle of the stream. */
  cut(): void;
}

type ArrivedRequest = Omit<UpstreamRequest, 'ended'>;

/** Makes an exchange of a response to which nothing has been written yet. */
export function exchangeOver(arrived: ArrivedRequest, response: ServerResponse): UpstreamExchange {
  const over = new AbortController();
  let isCut = false;
  const ended = new Promise<UpstreamEnding>((resolve) => {
    response.once('close', () => {
      over.abort();
      if (isCut) resolve('cut');
      else resolve(response.writableFinished ? 'answered' : 'aborted');
    });
  });
  const cut = () => {
    isCut = true;
    // A response without a socket has no connection to reset.
    if (response.socket === null) response.destroy();
    else response.socket.resetAndDestroy();
  };
  const text: UpstreamExchange['text'] = (status, contentType, body, headers = {}) => {
    response.writeHead(status, { 'content-type': contentType, ...headers });
    response.end(body);
  };
  return {
    request: { ...arrived, ended },
    signal: over.signal,
    text,
    json: (status, body, headers) => text(status, 'application/json', JSON.stringify(body), headers),
    stream(headers = {}) {
      response.writeHead(200, {
        'content-type': 'text/event-stream',
        'cache-control': 'no-cache',
        ...headers,
      });
      response.flushHeaders();
      return streamOver(response, over.signal, cut);
    },
    async hang() {
      await ended;
    },
    cut,
  };
}

function streamOver(response: ServerResponse, signal: AbortSignal, cut: () => void): UpstreamStream {
  const raw = async (text: string) => {
    if (signal.aborted || response.writableEnded) return;
    if (response.write(text)) return;
    try {
      await once(response, 'drain', { signal });
    } catch {
      // The caller left, and `ended` says so.
    }
  };
  return {
    raw,
    send: (chunk) => raw(`data: ${JSON.stringify(chunk)}\n\n`),
    event: (name, data) => raw(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`),
    done() {
      if (!signal.aborted) response.end('data: [DONE]\n\n');
    },
    end() {
      response.end();
    },
    cut,
  };
}
