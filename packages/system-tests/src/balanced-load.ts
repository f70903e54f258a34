import { callerOf } from './caller.ts';
import type { Service } from './service.ts';

const clients = 6;

/** How often every api is probed, in milliseconds: ten times within what a leaving one gives its load balancer. */
const probeEveryMs = 100;

/** How long a probe waits for its answer, in milliseconds. */
const probeWithinMs = 500;

/** Clients of a service behind a load balancer, which send one request after the other. */
export interface BalancedLoad {
  /** Whether new requests go to this api. */
  reaches: (url: string) => boolean;
  /** Sends no more, and resolves with the kinds of answers that there were, each once, when the last one has come. */
  end: () => Promise<string[]>;
}

/** Starts to ask for whole responses and streams in turns, of about half a second each, of the apis that are ready. */
export function startBalancedLoad(service: Service): BalancedLoad {
  const balancer = balance(service);
  const answers = new Set<string>();
  let isOver = false;
  const load = Array.from({ length: clients }, async (_, client) => {
    for (let at = 0; !isOver; at++) {
      const url = balancer.next();
      const caller = callerOf(url, service.key);
      const sentAt = performance.now();
      const after = () => `after ${Math.round(performance.now() - sentAt)} ms at ${url}`;
      const input = `Client ${client}, request ${at}. [[sluice: tokens=20 tokens_per_second=40]]`;
      try {
        if ((client + at) % 2 === 0) answers.add(`stream ${(await caller.stream({ input })).final.status}`);
        else {
          const { status, body } = await caller.create({ input });
          const isWhole = status === 200 && body.status === 'completed';
          answers.add(isWhole ? 'whole 200' : `whole ${status} ${after()}: ${JSON.stringify(body)}`);
        }
      } catch (error) {
        answers.add(`lost ${after()}: ${String(error)} ${String((error as Error).cause)}`);
      }
    }
  });
  return {
    reaches: balancer.has,
    async end() {
      isOver = true;
      await Promise.all(load);
      balancer.stop();
      return [...answers].toSorted();
    },
  };
}

/**
 * Keeps a list of the apis that are ready, as a load balancer does: one that refuses a probe leaves at once, and one that is slow to
 * answer on a busy machine stays what it was.
 */
function balance(service: Service) {
  let ready = service.apis.map(({ url }) => url);
  let turn = 0;
  const probe = async () => {
    const probed = service.apis.map(async ({ url, isRunning }) => {
      if (!isRunning()) return [];
      const signal = AbortSignal.timeout(probeWithinMs);
      const status = await fetch(`${url}/readyz`, { signal })
        .then(async (response) => {
          await response.text();
          return response.status;
        })
        .catch(() => (signal.aborted ? 'slow' : undefined));
      return status === 200 || (status === 'slow' && ready.includes(url)) ? [url] : [];
    });
    ready = (await Promise.all(probed)).flat();
  };
  // One after the other: a probe that is slow would put back what was ready when it began.
  let probing: Promise<void> | undefined;
  const timer = setInterval(() => {
    probing ??= probe().finally(() => {
      probing = undefined;
    });
  }, probeEveryMs);
  const next = () => {
    const url = ready[turn++ % ready.length];
    if (url === undefined) throw new Error('no api is ready');
    return url;
  };
  return { next, has: (url: string) => ready.includes(url), stop: () => clearInterval(timer) };
}
