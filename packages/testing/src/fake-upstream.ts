import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { exchangeOver, type UpstreamExchange, type UpstreamRequest } from './upstream-exchange.ts';
import { eventually, type WaitOptions } from './wait-until.ts';

/** Answers one request. If it throws, the connection is cut and `close` rejects with the error. */
export type UpstreamHandler = (exchange: UpstreamExchange) => void | Promise<void>;

export interface FakeUpstream {
  /** `http://127.0.0.1:<port>`, without `/v1`. */
  url: string;
  /** The `baseUrl` of a provider: the URL with `/v1`. */
  baseUrl: string;
  /** Every request so far, in order of arrival, whichever handler took it. */
  requests: UpstreamRequest[];
  /** Connections that are open now. */
  openSockets: number;
  /** Answers `POST /v1/chat/completions` from now on. */
  onChatCompletions(handler: UpstreamHandler): void;
  /** Answers `POST /v1/responses` from now on. */
  onResponses(handler: UpstreamHandler): void;
  /** Answers any other request, such as `GET /v1/models`. By default it gets a 404. */
  onOther(handler: UpstreamHandler): void;
  /** Waits for the request with this index, from 0. */
  request(index: number, options?: WaitOptions): Promise<UpstreamRequest>;
  /** Cuts open connections and stops the server. Rejects with the errors of handlers. May be called twice. */
  close(): Promise<void>;
}

/** Starts a model server on a free port of 127.0.0.1. The test decides each of its steps. */
export async function startFakeUpstream(): Promise<FakeUpstream> {
  const requests: UpstreamRequest[] = [];
  const sockets = new Set<Socket>();
  const failures: unknown[] = [];
  const handlers = new Map<string, UpstreamHandler>();
  let other: UpstreamHandler = ({ json }) => json(404, { error: { message: 'no such route' } });

  const serve = async (incoming: IncomingMessage, response: ServerResponse) => {
    const body = parseBody(await readText(incoming));
    const { method = '', url: path = '', headers } = incoming;
    const exchange = exchangeOver({ method, path, headers, body }, response);
    requests.push(exchange.request);
    const handler = handlers.get(`${method} ${path.split('?', 1)[0]}`) ?? other;
    try {
      await handler(exchange);
    } catch (error) {
      failures.push(error);
      exchange.cut();
    }
  };
  const server = createServer((incoming, response) => {
    serve(incoming, response).catch(() => response.destroy()); // The caller left while it sent its body.
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the upstream has no port');
  const url = `http://127.0.0.1:${address.port}`;
  let closing: Promise<void> | undefined;
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
    if (failures.length > 0) throw new AggregateError(failures, 'handlers of the fake upstream threw');
  };
  return {
    url,
    baseUrl: `${url}/v1`,
    requests,
    get openSockets() {
      return sockets.size;
    },
    onChatCompletions: (handler) => handlers.set('POST /v1/chat/completions', handler),
    onResponses: (handler) => handlers.set('POST /v1/responses', handler),
    onOther(handler) {
      other = handler;
    },
    request: (index, options) => eventually(() => requests[index], options),
    close: () => (closing ??= close()),
  };
}

async function readText(incoming: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part as Buffer); // No encoding is set, so parts are buffers.
  return Buffer.concat(parts).toString('utf8');
}

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
