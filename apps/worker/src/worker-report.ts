import { hostname } from 'node:os';
import type { WorkerAnnouncement } from '@sluice/contract/admin';
import { serviceVersion, type Telemetry } from '@sluice/runtime';
import type { UpstreamStatus } from './upstream-status.ts';

/** Most queues, and most models of upstreams, in a report: a console can show no more, and Redis should hold little. */
const mostTold = 256;

/** Most queues in the report of a lost worker: those whose jobs it held. */
const mostHeldTold = 16;

export interface WorkerReportOptions {
  telemetry: Pick<Telemetry, 'on'>;
  /** The queues of this worker, as the settings name them. */
  queues: () => readonly string[];
  /** Slots for each of them. */
  slots: number;
  /** Jobs of a queue that are in hand. */
  inHand: (queue: string) => number;
  /** Attempts that run. */
  running: () => number;
  upstreams: () => UpstreamStatus[];
  isStopping: () => boolean;
  /** The store's clock, in milliseconds. */
  now: () => number;
}

/** Makes the reports of a worker that the console shows. */
export class WorkerReport {
  readonly #options: WorkerReportOptions;
  readonly #host = hostname();
  #startedAt: number | undefined;
  #activeAt: number | null = null;

  constructor(options: WorkerReportOptions) {
    this.#options = options;
    const { telemetry, now } = options;
    const isActive = () => {
      this.#activeAt = now();
    };
    for (const fact of [
      'attempt.started',
      'attempt.postponed',
      'attempt.given_back',
      'response.ended',
    ] as const) {
      telemetry.on(fact, isActive);
    }
  }

  now(): WorkerAnnouncement {
    const { queues, slots, inHand, running, upstreams, isStopping, now } = this.#options;
    this.#startedAt ??= now();
    return {
      role: 'worker',
      host: this.#host,
      pid: process.pid,
      version: serviceVersion,
      started_at: this.#startedAt,
      stopping: isStopping(),
      running: running(),
      slots: queues()
        .slice(0, mostTold)
        .map((queue) => ({ queue, running: inHand(queue), slots })),
      active_at: this.#activeAt,
      upstreams: told(upstreams()),
    };
  }

  /** The report that stands for a day once the worker is silent: its identity, and the jobs that it held. */
  ifLost(): WorkerAnnouncement {
    const held = this.now();
    const busy = held.slots.filter(({ running }) => running > 0);
    return { ...held, slots: busy.slice(0, mostHeldTold), upstreams: [] };
  }
}

function told(upstreams: readonly UpstreamStatus[]): WorkerAnnouncement['upstreams'] {
  let left = mostTold;
  return upstreams
    .slice(0, mostTold)
    .map(({ provider, server, breaker, metricsFault, missingVariable, routes }) => {
      const some = routes.slice(0, left);
      left -= some.length;
      return {
        provider,
        ...(server !== undefined && { server }),
        breaker,
        metrics_fault: metricsFault ?? null,
        ...(missingVariable !== undefined && { missing_variable: missingVariable }),
        models: some.map((route) => ({
          model: route.model,
          parked_ms: route.parkedMs,
          in_flight: route.inFlight,
          limit: Number.isFinite(route.limit) ? Math.floor(route.limit) : null,
          calls_per_second: route.callsPerSecond,
          waiting: route.waiting,
        })),
      };
    });
}
