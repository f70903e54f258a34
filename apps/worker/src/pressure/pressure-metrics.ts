import { countFacts, readGauges, type Telemetry } from '@sluice/runtime';
import type { Registry } from 'prom-client';
import type { RouteStatus, UpstreamStatus } from '../upstream-status.ts';

const labels = ['provider', 'upstream_model', 'server'];

/** The gauges of a route. An undefined figure has no sample. */
const gauges: readonly { name: string; help: string; of: (route: RouteStatus) => number | undefined }[] = [
  {
    name: 'sluice_upstream_calls_in_flight',
    help: 'Calls of a model of an upstream that are in flight from this process.',
    of: ({ inFlight }) => inFlight,
  },
  {
    name: 'sluice_upstream_calls_limit',
    help: 'Calls that may be in flight; lower than the slots after the upstream had too much to do.',
    of: ({ limit }) => limit,
  },
  {
    name: 'sluice_upstream_calls_per_second_limit',
    help: 'Calls that begin in a second at most, after the upstream refused some; +Inf when nothing bounds them.',
    of: ({ callsPerSecond }) => callsPerSecond ?? Number.POSITIVE_INFINITY,
  },
  {
    name: 'sluice_upstream_line_length',
    help: 'Responses of this process that wait for their turn to call.',
    of: ({ waiting }) => waiting,
  },
  {
    name: 'sluice_upstream_queue_length',
    help: "Requests in the upstream's own queue, by its metrics; absent when they cannot be read.",
    of: ({ saturation }) => saturation?.waiting ?? undefined,
  },
  {
    name: 'sluice_upstream_saturated',
    help: "Whether calls are held back because the upstream's own queue is too long: 1 or 0.",
    of: ({ saturation }) => saturation && Number(saturation.isHolding),
  },
];

/** Counts how upstreams answer to the calls of this process, and shows how it limits those. */
export function countPressure(
  telemetry: Telemetry,
  registry: Registry,
  upstreams: () => UpstreamStatus[],
): void {
  const routes = () =>
    upstreams().flatMap(({ provider, server, routes: ofProvider }) =>
      ofProvider.map((route) => ({ labels: [provider, route.model, server], route })),
    );
  countFacts(telemetry, registry, [
    {
      name: 'sluice_upstream_refusals_total',
      help: 'Calls that an upstream refused because there were too many. No caller is told.',
      labels,
      known: routes().map((each) => each.labels),
      on: 'upstream.refused',
      count: ({ provider, server, upstreamModel }, add) => add([provider, upstreamModel, server]),
    },
  ]);
  readGauges(
    registry,
    gauges.map(({ name, help, of }) => ({
      name,
      help,
      labels,
      read: (set) => {
        for (const each of routes()) set(each.labels, of(each.route));
      },
    })),
  );
}
