import type { SocketConnections } from './websocket/socket-connections.ts';
import { memoize, type Telemetry } from '@sluice/runtime';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export interface ApiCounts {
  /** Ids of the models of the settings. What a client asks for besides has no series of its own. */
  models: readonly string[];
  openRequests: () => number;
  sockets: () => Pick<SocketConnections, 'size' | 'contextBytes'>;
}

/** A refusal for want of room or time; see `tellRefusal`. */
const refusalCodes = ['rate_limit_exceeded', 'too_many_queued_requests', 'server_is_overloaded'];

/** Counts what happens in an api. Labels are routes, methods, status codes and models of the operator's file: few. */
export function countApi(
  telemetry: Telemetry,
  registry: Registry,
  { models, openRequests, sockets }: ApiCounts,
): void {
  const registers = [registry];
  const requests = new Counter({
    name: 'sluice_http_requests_total',
    help: 'Requests answered.',
    labelNames: ['route', 'method', 'status'],
    registers,
  });
  const duration = new Histogram({
    name: 'sluice_http_request_duration_seconds',
    help: 'From the request to the end of its answer.',
    labelNames: ['route'],
    buckets: [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 600],
    registers,
  });
  const firstToken = new Histogram({
    name: 'sluice_time_to_first_token_seconds',
    help: 'From the request to the first output on the stream, waiting included.',
    labelNames: ['model'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    registers,
  });
  const accepted = new Counter({
    name: 'sluice_responses_accepted_total',
    help: 'Responses accepted, by how their callers get them: whole, stream or background.',
    labelNames: ['model', 'mode'],
    registers,
  });
  const refused = new Counter({
    name: 'sluice_responses_refused_total',
    help: 'Requests to create a response that were refused with 429 or 503, by code. The model is empty when it was not known yet.',
    labelNames: ['model', 'code'],
    registers,
  });
  const knownModels = new Set(models);
  for (const model of ['', ...models]) {
    for (const mode of model === '' ? [] : ['whole', 'stream', 'background'])
      accepted.inc({ model, mode }, 0);
    for (const code of refusalCodes) refused.inc({ model, code }, 0);
  }
  const indexEnds = new Counter({
    name: 'sluice_index_failures_total',
    help: 'Times the thread of the index over responses ended by an error. The console waits for the next one.',
    registers,
  });
  const takenBack = new Counter({
    name: 'sluice_refused_but_accepted_total',
    help: 'Responses that the store had accepted although their callers were refused, because it did not answer in time. begun: yes for those that a worker ran before they were taken back.',
    labelNames: ['begun'],
    registers,
  });
  for (const begun of ['yes', 'no']) takenBack.inc({ begun }, 0);
  new Gauge({
    name: 'sluice_open_requests',
    help: 'Requests under way in this process: bodies that arrive, synchronous waits and streams.',
    registers,
    collect() {
      this.set(openRequests());
    },
  });
  new Gauge({
    name: 'sluice_websockets',
    help: 'WebSockets open in this process.',
    registers,
    collect() {
      this.set(sockets().size);
    },
  });
  new Gauge({
    name: 'sluice_websocket_context_bytes',
    help: 'Bytes kept so that responses which are not stored can be continued over their WebSockets.',
    registers,
    collect() {
      this.set(sockets().contextBytes);
    },
  });
  // Finding a series by its labels hashes them: once for each, not for each request.
  const answered = memoize((route: string, method: string, status: number) => {
    const [count, time] = [requests.labels(route, method, String(status)), duration.labels(route)];
    return (elapsedMs: number) => {
      count.inc();
      time.observe(elapsedMs / 1000);
    };
  });
  telemetry.on('request.answered', ({ route, method, status, elapsedMs }) =>
    answered(route, method, status)(elapsedMs),
  );
  const acceptedAs = memoize((model: string, mode: string) => accepted.labels(model, mode));
  telemetry.on('response.accepted', ({ model, mode }) => acceptedAs(model, mode).inc());
  telemetry.on('response.refused', ({ model, code }) =>
    refused.inc({ model: knownModels.has(model) ? model : '', code }),
  );
  telemetry.on('index.ended', () => indexEnds.inc());
  telemetry.on('response.first_output', ({ model, sinceRequestMs }) =>
    firstToken.observe({ model }, sinceRequestMs / 1000),
  );
  telemetry.on('response.taken_back', ({ hasBegun }) => takenBack.inc({ begun: hasBegun ? 'yes' : 'no' }));
}
