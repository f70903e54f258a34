/**
 * A process in place of a model server that takes a known time for each request and logs when it came. Slots that are
 * released evenly leave the order of the requests to the service: with releases by chance, a request that is next would
 * often wait for several mean releases, too.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { now } from '../now.ts';
import { lastFrames, tokenFrame } from './no-op-answer.ts';
import {
  type Arrival,
  Pace,
  type PacedModel,
  pacedModelIn,
  tagIn,
  type UpstreamQuestion,
} from './paced-model.ts';

const firstToken = tokenFrame(true);
const nextToken = tokenFrame(false);

let arrivals: Arrival[] = [];
let ended = 0;

const pace = new Pace();

function answer(request: IncomingMessage, response: ServerResponse): void {
  let body = '';
  request.setEncoding('latin1');
  request.on('data', (text: string) => {
    body += text;
  });
  request.on('end', () => {
    const model = pacedModelIn(body);
    const tag = tagIn(body);
    if (!model || tag === undefined) {
      response.writeHead(404).end();
      return;
    }
    const arrival: Arrival = { tag, at: now() };
    arrivals.push(arrival);
    response.once('close', () => {
      arrival.endedAt = now();
      ended += 1;
    });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    respond(response, model, arrival.at);
  });
}

function respond(response: ServerResponse, model: PacedModel, at: number): void {
  const rest = nextToken.repeat(model.tokens - 1) + lastFrames(model.tokens);
  if (model.serviceMs === 0) {
    response.end(firstToken + rest);
    return;
  }
  response.write(firstToken);
  setTimeout(() => response.end(rest), pace.endOf(model, at) - now());
}

process.on('message', ({ ask }: UpstreamQuestion) => {
  switch (ask) {
    case 'forget':
      arrivals = [];
      ended = 0;
      process.send?.({});
      break;
    case 'count':
      process.send?.({ arrived: arrivals.length, ended });
      break;
    case 'log':
      process.send?.(arrivals);
      break;
  }
});

const server = createServer({ keepAliveTimeout: 60_000, noDelay: true }, answer);
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo; // it listens on a port, not on a pipe
  process.send?.({ url: `http://127.0.0.1:${port}` });
});
process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
  process.disconnect();
});
