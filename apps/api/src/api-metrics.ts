import type { ResponseQueue } from '@sluice/queue';
import type { SocketConnections } from './websocket/socket-connections.ts';
import { memoize, type Telemetry } from '@sluice/runtime';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** Counts what happens in an api. Labels are routes, methods, status codes and models of the operator's file: few. */
export function countApi(
  telemetry: Telemetry,
  registry: Registry,
  {
    queue,
    openRequests,
    sockets,
  }: {
    queue: Pick<ResponseQueue, 'names' | 'counts'>;
    openRequests: () => number;
    sockets: () => Pick<SocketConnections, 'size' | 'contextBytes'>;
  },
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
  const refused = new Counter({
    name: 'sluice_refused_but_accepted_total',
    help: 'Responses that the store had accepted although their callers were refused, because it did not answer in time. begun: yes for those that a worker ran before they were taken back.',
    labelNames: ['begun'],
    registers,
  });
  for (const begun of ['yes', 'no']) refused.inc({ begun }, 0);
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
  new Gauge({
    name: 'sluice_queue_jobs',
    help: 'Jobs by state. The same from every api process: take one of them.',
    labelNames: ['queue', 'state'],
    registers,
    async collect() {
      const counted = await Promise.allSettled(queue.names.map((name) => queue.counts(name)));
      // While the store is away there is no figure, which is better than an old one, and the others still come.
      this.reset();
      for (const [at, counts] of counted.entries()) {
        if (counts.status === 'rejected') continue;
        for (const [state, count] of Object.entries(counts.value)) {
          this.set({ queue: decodeURIComponent(queue.names[at] ?? ''), state }, count);
        }
      }
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
  telemetry.on('response.first_output', ({ model, sinceRequestMs }) =>
    firstToken.observe({ model }, sinceRequestMs / 1000),
  );
  telemetry.on('response.taken_back', ({ hasBegun }) => refused.inc({ begun: hasBegun ? 'yes' : 'no' }));
}
