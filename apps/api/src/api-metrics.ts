import type { SocketConnections } from './websocket/socket-connections.ts';
import { type CountedMetric, countFacts, readGauges, type ReadMetric, type Telemetry } from '@sluice/runtime';
import type { Registry } from 'prom-client';

export interface ApiCounts {
  /** Ids of the models in effect, read at each use. What a client asks for besides has no series of its own. */
  models: () => readonly string[];
  openRequests: () => number;
  sockets: () => Pick<SocketConnections, 'size' | 'contextBytes'>;
}

/** A refusal for want of room or time; see `tellRefusal`. */
const refusalCodes = [
  'rate_limit_exceeded',
  'insufficient_quota',
  'too_many_queued_requests',
  'server_is_overloaded',
];

/** Counts what happens in an api. Labels are routes, methods, status codes and models of the operator's file: few. */
export function countApi(telemetry: Telemetry, registry: Registry, counts: ApiCounts): void {
  countFacts(telemetry, registry, requestMetrics);
  countFacts(telemetry, registry, responseMetrics(counts.models));
  readGauges(registry, stateMetrics(counts));
}

const requestMetrics: readonly CountedMetric[] = [
  {
    name: 'sluice_http_requests_total',
    help: 'Requests by the status of their answer; 499 of those whose caller left before it.',
    labels: ['route', 'method', 'status'],
    on: 'request.answered',
    count: ({ route, method, status }, add) => add([route, method, String(status)]),
  },
  {
    name: 'sluice_http_request_duration_seconds',
    help: 'From the request to the end of its answer.',
    labels: ['route'],
    buckets: [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 600],
    on: 'request.answered',
    count: ({ route, elapsedMs }, add) => add([route], elapsedMs / 1000),
  },
  {
    name: 'sluice_time_to_first_token_seconds',
    help: 'From the request to the first output on the stream, waiting included.',
    labels: ['model'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    on: 'response.first_output',
    count: ({ model, sinceRequestMs }, add) => add([model], sinceRequestMs / 1000),
  },
  {
    name: 'sluice_index_failures_total',
    help: 'Times the thread of the index over responses ended by an error. The console waits for the next one.',
    on: 'index.ended',
    count: (_fact, add) => add([]),
  },
  {
    name: 'sluice_usage_ends_total',
    help: 'Ends of responses by what usage made of them: counted, or lost, because too many waited or for values that the database refused.',
    labels: ['outcome'],
    known: [['counted'], ['lost']],
    on: 'usage.told',
    count: ({ outcome, count }, add) => add([outcome], count),
  },
];

function responseMetrics(models: () => readonly string[]): readonly CountedMetric[] {
  return [
    {
      name: 'sluice_responses_accepted_total',
      help: 'Responses accepted, by how their callers get them: whole, stream or background.',
      labels: ['model', 'mode'],
      known: () =>
        models().flatMap((model) => ['whole', 'stream', 'background'].map((mode) => [model, mode])),
      on: 'response.accepted',
      count: ({ model, mode }, add) => add([model, mode]),
    },
    {
      name: 'sluice_responses_refused_total',
      help: 'Requests to create a response that were refused with 429 or 503, by code. The model is empty when it was not known yet.',
      labels: ['model', 'code'],
      known: () => ['', ...models()].flatMap((model) => refusalCodes.map((code) => [model, code])),
      on: 'response.refused',
      count: ({ model, code }, add) => add([models().includes(model) ? model : '', code]),
    },
    {
      name: 'sluice_refused_but_accepted_total',
      help: 'Responses that the store had accepted although their callers were refused, because it did not answer in time. begun: yes for those that a worker ran before they were taken back.',
      labels: ['begun'],
      known: [['yes'], ['no']],
      on: 'response.taken_back',
      count: ({ hasBegun }, add) => add([hasBegun ? 'yes' : 'no']),
    },
  ];
}

function stateMetrics({ openRequests, sockets }: ApiCounts): readonly ReadMetric[] {
  return [
    {
      name: 'sluice_open_requests',
      help: 'Requests under way in this process: bodies that arrive, synchronous waits and streams.',
      read: (set) => set([], openRequests()),
    },
    {
      name: 'sluice_websockets',
      help: 'WebSockets open in this process.',
      read: (set) => set([], sockets().size),
    },
    {
      name: 'sluice_websocket_context_bytes',
      help: 'Bytes kept so that responses which are not stored can be continued over their WebSockets.',
      read: (set) => set([], sockets().contextBytes),
    },
  ];
}
