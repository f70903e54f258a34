import type { BenchSettings, Extent } from '../flags/bench-settings.ts';
import { Deck, type Weighted } from './deck.ts';
import { driveLoad, type LoadCounts, type Shot } from './drive-load.ts';
import type { Endpoint } from '../exchange/endpoint.ts';
import type { Outcome } from '../exchange/outcome.ts';
import { seededRandom } from './random.ts';
import { type Mode, type NextBody, ownMode, writeBody } from './request-bodies.ts';
import type { Order } from '../exchange/send-once.ts';
import { sendRequest } from '../exchange/send-request.ts';
import { RunTally } from '../report/tally.ts';
import type { Tenant } from '../flags/tenants.ts';

export interface RunOptions {
  settings: BenchSettings;
  endpoint: Endpoint;
  tenants: readonly Weighted<Tenant>[];
  bodies: NextBody;
  /** Stops sending; requests in flight are waited for. */
  stop: AbortSignal;
  /** Ends requests in flight, too. */
  leave: AbortSignal;
  /** Is told of each part of the run when it begins. */
  onBegin?: (part: RunningPart) => void;
}

/** The warm-up or the measured part of a run, while it runs. */
export interface RunningPart {
  name: 'warm-up' | 'load';
  extent: Extent;
  counts: LoadCounts;
  tally: RunTally;
}

/** The result of a run. */
export interface RunResult {
  tally: RunTally;
  /** From the start to the last end, in milliseconds. */
  elapsedMs: number;
  /** The reason of its end. */
  endedBy: 'extent' | 'interrupt';
  /** Share of the time in which the tool itself was busy, from 0 to 1. */
  busyShare: number;
}

/** Runs the warm-up, if there is one, and then the load. Resolves when every request has ended. */
export async function runLoad(options: RunOptions): Promise<RunResult> {
  const { settings, stop } = options;
  const { warmup } = settings;
  if (warmup && !stop.aborted) await runPart('warm-up', warmup, options);
  const eventLoop = performance.eventLoopUtilization();
  const startedAt = performance.now();
  const tally = await runPart('load', settings.extent, options);
  return {
    tally,
    elapsedMs: performance.now() - startedAt,
    endedBy: stop.aborted ? 'interrupt' : 'extent',
    busyShare: performance.eventLoopUtilization(eventLoop).utilization,
  };
}

async function runPart(name: RunningPart['name'], extent: Extent, options: RunOptions): Promise<RunTally> {
  const { settings, stop, leave, onBegin } = options;
  const tally = new RunTally();
  const counts: LoadCounts = { begun: 0, outstanding: 0, isSent: false };
  const nextOrder = orders(name, options);
  const endings = new Set<AbortController>();
  const endAll = () => {
    for (const ending of endings) ending.abort();
  };
  leave.addEventListener('abort', endAll);
  onBegin?.({ name, extent, counts, tally });
  try {
    await driveLoad({
      load: settings.load,
      extent,
      random: seededRandom(settings.seed, `${name} arrivals`),
      next: () => shotOf(nextOrder(), { options, tally, endings }),
      stop,
      counts,
    });
  } finally {
    leave.removeEventListener('abort', endAll);
  }
  return tally;
}

function shotOf(
  order: Order,
  { options, tally, endings }: { options: RunOptions; tally: RunTally; endings: Set<AbortController> },
): Shot {
  const { endpoint, settings } = options;
  const { timeoutMs, retries, pollIntervalMs } = settings;
  const groups = tally.groupsOf({ mode: order.mode, tenant: order.tenant.name });
  return {
    async send(dueAt) {
      if (settings.load.kind === 'open') tally.lateness.add(performance.now() - dueAt);
      const ending = new AbortController();
      endings.add(ending);
      try {
        const outcome: Outcome = await sendRequest(order, {
          endpoint,
          timeoutMs,
          retries,
          pollIntervalMs,
          witness: groups,
          ending,
        });
        groups.end(outcome, dueAt);
      } finally {
        endings.delete(ending);
      }
    },
    skip: () => groups.notSent(),
  };
}

/** The requests of a run one after the other. The seed decides them, whatever the endpoint does. */
function orders(part: string, { settings, tenants, bodies }: RunOptions): () => Order {
  const tenantDeck = new Deck(tenants, seededRandom(settings.seed, `${part} tenants`));
  const modeDeck: Deck<Mode> | undefined =
    settings.mix && new Deck(settings.mix, seededRandom(settings.seed, `${part} modes`));
  return () => {
    const body = bodies();
    const mode = modeDeck?.draw() ?? ownMode(body);
    return { mode, tenant: tenantDeck.draw(), body: writeBody(body, mode, settings.body) };
  };
}
