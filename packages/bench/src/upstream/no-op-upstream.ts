/**
 * A process in place of a model server. Its `/v1/chat/completions` streams as many tokens as the model's name says and
 * does nothing else, so that the figures show the cost of everything around it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { lastFrames, modelIn, type NoOpModel, tokenFrame } from './no-op-answer.ts';

const firstToken = tokenFrame(true);
const nextToken = tokenFrame(false);

/** How many requests have been answered, or are being answered. Anybody who sends a message is told. */
let answers = 0;
process.on('message', () => process.send?.({ answers }));

function answer(request: IncomingMessage, response: ServerResponse): void {
  let body = '';
  request.setEncoding('latin1');
  request.on('data', (text: string) => {
    body += text;
  });
  request.on('end', () => {
    const model = modelIn(body);
    if (!model) {
      response.writeHead(404).end();
      return;
    }
    answers += 1;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const { firstMs = 0 } = model;
    if (firstMs > 0) setTimeout(() => streamTokens(response, model), firstMs);
    else if (model.tokens === 1) response.end(firstToken + lastFrames(1));
    else streamTokens(response, model);
  });
}

/** Writes each token by itself, in a turn of its own, as a model server does. */
function streamTokens(response: ServerResponse, { tokens, intervalMs }: NoOpModel): void {
  let written = 0;
  const startedAt = performance.now();
  const writeNext = () => {
    if (response.destroyed) return;
    if (written === tokens) {
      response.end(lastFrames(tokens));
      return;
    }
    response.write(written === 0 ? firstToken : nextToken);
    written += 1;
    // Times are measured from the start, so that delays of timers do not add up.
    if (intervalMs > 0) setTimeout(writeNext, startedAt + written * intervalMs - performance.now());
    else setImmediate(writeNext);
  };
  writeNext();
}

const server = createServer({ keepAliveTimeout: 60_000, noDelay: true }, answer);
// Thousands of streams may begin within a second.
server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () => {
  const { port } = server.address() as AddressInfo; // it listens on a port, not on a pipe
  process.send?.({ url: `http://127.0.0.1:${port}` });
});
process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
  process.disconnect();
});
