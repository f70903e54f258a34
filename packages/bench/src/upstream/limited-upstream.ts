/**
 * A process in place of a model server that takes so many calls in a second and refuses all others with a 429, as a token
 * bucket. A model's name says what kind of: `limited-<calls a second>-<calls that the bucket holds>`, and `-<seconds>` after
 * that if a refusal says after how many seconds to come back. Each answer is one token.
 *
 * Any message to it is answered with what it took and refused so far, and with the time from the first call that it took
 * to the last.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { lastFrames, tokenFrame } from './no-op-answer.ts';

const answer = tokenFrame(true) + lastFrames(1);

const buckets = new Map<string, { tokens: number; at: number }>();
const counts = { taken: 0, refused: 0, tookMs: 0 };
let firstAt: number | undefined;

function isTaken(model: string, { rate, held }: { rate: number; held: number }): boolean {
  const now = performance.now();
  const { tokens, at } = buckets.get(model) ?? { tokens: held, at: now };
  const filled = Math.min(held, tokens + ((now - at) * rate) / 1000);
  buckets.set(model, { tokens: filled >= 1 ? filled - 1 : filled, at: now });
  return filled >= 1;
}

function countTaken(): void {
  const now = performance.now();
  firstAt ??= now;
  counts.taken += 1;
  counts.tookMs = now - firstAt;
}

function respond(body: string, response: ServerResponse): void {
  const [, model = '', rate = '', held = '', retryAfter] =
    /"model":"(limited-(\d{1,5})-(\d{1,5})(?:-(\d{1,5}))?)"/.exec(body) ?? [];
  if (model === '') {
    response.writeHead(404).end();
  } else if (isTaken(model, { rate: Number(rate), held: Number(held) })) {
    countTaken();
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(answer);
  } else {
    counts.refused += 1;
    response.writeHead(429, retryAfter === undefined ? {} : { 'retry-after': retryAfter }).end();
  }
}

const server = createServer(
  { keepAliveTimeout: 60_000, noDelay: true },
  (request: IncomingMessage, response) => {
    let body = '';
    request.setEncoding('latin1');
    request.on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => respond(body, response));
  },
);
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo; // it listens on a port, not on a pipe
  process.send?.({ url: `http://127.0.0.1:${port}` });
});
process.on('message', () => process.send?.(counts));
process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
  process.disconnect();
});
