import { Agent, type IncomingMessage, request as httpRequest } from 'node:http';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '@sluice/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { plainHeaders } from '../../event-stream.ts';

/** The header in which the console sends the key of a tenant. */
export const apiKeyHeader = 'sluice-api-key';

export interface PlaygroundOptions {
  /** Where the API of this process answers. */
  apiUrl: () => string;
  /** Most bytes of a body, at this moment. */
  bodyBytes: () => number;
  /** Most requests of this process at a time; 64 by default. */
  most?: number;
}

const defaultMost = 64;

/** Headers of a request that are passed on to the API. The credentials of this listener are not among them. */
const passedOn = [
  'accept',
  'content-type',
  'content-length',
  'idempotency-key',
  'last-event-id',
  'openresponses-version',
  'x-request-id',
] as const;

/** Headers of an answer that are kept from the browser, because they belong to one connection, or would speak for this listener. */
const keptBack = new Set(
  (
    'connection keep-alive proxy-authenticate te trailer transfer-encoding upgrade ' +
    'date set-cookie www-authenticate clear-site-data refresh'
  ).split(' '),
);

/** The paths of the API that a browser may ask for, once `..` and the like are resolved. */
const allowed = /^\/v1\/(responses|models)(\/.*)?$/;

/**
 * Passes requests on to the API's own listener, so that the console can try it: a browser sends nothing to another origin.
 *
 * It does what any client with the key can do, and nothing else: the host is fixed, the path is one of a few, and the key is
 * the request's own. So it needs no action token, and it is not in the audit log.
 */
export class Playground {
  readonly #options: Required<PlaygroundOptions>;
  readonly #agent = new Agent({ keepAlive: false });
  #open = 0;

  constructor(options: PlaygroundOptions) {
    this.#options = { most: defaultMost, ...options };
  }

  /** Passes one request on, and its answer back as it comes. `path` is what stands behind the mount of the playground. */
  async pass(request: FastifyRequest, reply: FastifyReply, path: string): Promise<FastifyReply> {
    const target = this.#targetOf(path);
    const { most, bodyBytes } = this.#options;
    if (this.#open >= most)
      throw new ServiceError('server_is_overloaded', 'Too much is being tried at once.');
    const limit = bodyBytes();
    if (Number(request.headers['content-length'] ?? 0) > limit) throw new ServiceError('request_too_large');
    this.#open += 1;
    const left = new AbortController();
    const onClose = () => left.abort(new Error('The browser closed the connection'));
    reply.raw.once('close', onClose);
    if (reply.raw.destroyed) onClose();
    try {
      const answer = await this.#send(request, target, { signal: left.signal, limit });
      reply.hijack();
      reply.raw.writeHead(answer.statusCode ?? 502, { ...answerHeaders(answer), ...plainHeaders(reply) });
      reply.raw.flushHeaders();
      // Either end may go at any moment. The other end is cut off then.
      await pipeline(answer, reply.raw).catch(() => undefined);
      return reply;
    } finally {
      reply.raw.off('close', onClose);
      left.abort(new Error('The answer was passed on'));
      this.#open -= 1;
    }
  }

  #targetOf(path: string): URL {
    const base = this.#options.apiUrl();
    if (base === '') throw unreachable();
    const target = URL.canParse(path, base) ? new URL(path, base) : undefined;
    const host = new URL(base);
    // A path such as `//elsewhere` names another host.
    if (!target || target.origin !== host.origin || !allowed.test(target.pathname)) {
      throw new ServiceError('not_found', 'The playground passes on /v1/responses and /v1/models alone.');
    }
    if (target.hostname === '0.0.0.0') target.hostname = '127.0.0.1';
    if (target.hostname === '[::]') target.hostname = '[::1]';
    return target;
  }

  /** Resolves with the head of the answer. The body of the request may be on its way still. */
  #send(
    request: FastifyRequest,
    target: URL,
    { signal, limit }: { signal: AbortSignal; limit: number },
  ): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const outgoing = httpRequest(target, {
        method: request.method,
        headers: requestHeaders(request),
        agent: this.#agent,
        signal,
      });
      outgoing.once('response', resolve);
      // Also when the answer has begun: the pipe of the answer fails then.
      outgoing.on('error', (error) => reject(unreachable(error)));
      if (request.method === 'GET') {
        outgoing.end();
        return;
      }
      // An error of the body ends the request, whose own error is told above. The API may answer before it has the whole body.
      const onOver = () => reject(new ServiceError('request_too_large'));
      pipeline(request.raw, bounded(limit, onOver), outgoing).catch(() => undefined);
    });
  }
}

function requestHeaders({ headers }: FastifyRequest): Record<string, string> {
  const sent: Record<string, string> = {};
  for (const name of passedOn) {
    const value = headers[name];
    if (typeof value === 'string') sent[name] = value;
  }
  const key = headers[apiKeyHeader];
  if (typeof key === 'string' && key !== '') sent['authorization'] = `Bearer ${key}`;
  return sent;
}

function answerHeaders({ headers }: IncomingMessage): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || keptBack.has(name) ? [] : [[name, value]],
    ),
  );
}

/** Passes bytes on until there are too many. */
function bounded(limit: number, onOver: () => void): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes <= limit) {
        done(null, chunk);
        return;
      }
      onOver();
      done(new Error('The body is too large'));
    },
  });
}

function unreachable(cause?: unknown): ServiceError {
  return new ServiceError('server_is_overloaded', 'The API does not answer at the moment.', { cause });
}
