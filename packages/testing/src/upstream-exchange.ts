import { once } from 'node:events';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';

/** How a request ended, as the upstream sees it. */
export type UpstreamEnding =
  | 'answered' // the whole answer went out
  | 'cut' // the upstream's script cut the connection
  | 'aborted'; // the caller left first

/** One request as it arrived. */
export interface UpstreamRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** The parsed JSON body, or the text when it is none. */
  body: unknown;
  /** Resolves when the exchange is over; never rejects. */
  ended: Promise<UpstreamEnding>;
}

/** One request and the ways to answer it. The functions may be taken apart: none needs `this`. */
export interface UpstreamExchange {
  request: UpstreamRequest;
  /** Aborts when the exchange is over, whoever ended it. */
  signal: AbortSignal;
  /** Answers with a whole JSON body. */
  json: (status: number, body: unknown, headers?: Record<string, string>) => void;
  /** Answers with a whole body of any type. */
  text: (status: number, contentType: string, body: string, headers?: Record<string, string>) => void;
  /** Begins an event stream; its headers leave at once. */
  stream: (headers?: Record<string, string>) => UpstreamStream;
  /** Answers nothing; resolves when the caller has left. */
  hang: () => Promise<void>;
  /** Cuts the connection with a reset, whatever has been sent. */
  cut: () => void;
}

/** An event stream under the control of a test. After the caller has left, sending does nothing. */
export interface UpstreamStream {
  /** Sends one chunk as `data:`; resolves when the kernel has taken it, so a slow caller holds it up. */
  send(chunk: unknown): Promise<void>;
  /** Sends one named event with the object as its data. */
  event(name: string, data: unknown): Promise<void>;
  /** Sends bytes as they are: comments, broken JSON, half a chunk. */
  raw(text: string): Promise<void>;
  /** Ends as chat completions do, with `data: [DONE]`. */
  done(): void;
  /** Ends the body properly without saying that the answer is complete. */
  end(): void;
  /** Cuts the connection with a reset in mid-stream. */
  cut(): void;
}

type ArrivedRequest = Omit<UpstreamRequest, 'ended'>;

/** Puts the ways to answer around a response that nobody has touched yet. */
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
    // Without a connection there is nobody to reset.
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
      // The caller left, which `ended` tells.
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
