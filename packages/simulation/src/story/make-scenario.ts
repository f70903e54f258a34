import { models, tenants } from '../service/names.ts';
import { Random } from '../world/random.ts';
import type { ActPlan, CallEnd, CallerPlan, CallPlan, FaultPlan, Scenario, StoreFault } from './scenario.ts';
import { modes } from './scenario.ts';

/** Makes the story of a seed. */
export function makeScenario(seed: number): Scenario {
  const random = new Random(seed).fork('scenario');
  const apis = random.pick([1, 2, 2]);
  const workers = random.pick([1, 2, 2]);
  const durationMs = random.pick([200, 1_000, 4_000]);
  const callers = Array.from({ length: random.between(2, 16) }, (_, at) =>
    makeCaller(random.fork(`caller ${at}`), `c${at}`, durationMs),
  );
  const names = [
    ...Array.from({ length: apis }, (_, at) => `api-${at}`),
    ...Array.from({ length: workers }, (_, at) => `worker-${at}`),
  ];
  const faults = Array.from({ length: random.pick([0, 1, 1, 2, 3, 5]) }, (_, at) =>
    makeFault(random.fork(`fault ${at}`), names, callers),
  );
  return { seed, apis, workers, keepsRecords: random.happens(0.1), callers, faults };
}

function makeCaller(random: Random, name: string, durationMs: number): CallerPlan {
  const acts: ActPlan[] = [];
  if (random.happens(0.35)) {
    acts.push({
      kind: random.pick(['leave', 'drop', 'drop', 'cancel']),
      afterMs: random.skewed(random.pick([1, 30, 1_000])),
    });
  }
  return {
    name,
    atMs: random.fraction() * durationMs,
    mode: random.pick(modes),
    tenant: random.happens(0.5) ? tenants.free : tenants.limited,
    model: random.happens(0.75) ? models.wide : models.narrow,
    idempotencyKey: random.happens(0.4) ? `key-${name}` : undefined,
    calls: [makeCall(random), ...(random.happens(0.3) ? [makeCall(random)] : []), good(random)],
    acts,
  };
}

function makeCall(random: Random): CallPlan {
  if (random.happens(0.7)) return good(random);
  const end = random.pick<CallEnd>(['cut', 'hang', 'refused', 'limited', 'broken', 'fatal']);
  const tokens = end === 'refused' || end === 'limited' || random.happens(0.4) ? 0 : random.between(1, 5);
  return { ...good(random), tokens, end };
}

function good(random: Random): CallPlan {
  return {
    firstMs: random.skewed(random.pick([2, 20, 300])),
    betweenMs: random.skewed(random.pick([0.5, 5, 60])),
    tokens: random.between(1, 6),
    end: 'finish',
  };
}

/** A fault begins when somebody asks for something, or a while after that: nothing happens at other times. */
function makeFault(random: Random, names: readonly string[], callers: readonly CallerPlan[]): FaultPlan {
  const { atMs: askedMs = 0 } = callers[random.between(0, callers.length - 1)] ?? {};
  const atMs = askedMs + random.skewed(random.pick([0.5, 10, 300]));
  const process = names[random.between(0, names.length - 1)] ?? 'worker-0';
  const messages = Math.floor(random.skewed(random.pick([2, 20])));
  // The first one has the short commands.
  const connection = random.happens(0.5) ? 0 : random.between(1, 7);
  const storeFault = (kind: StoreFault['kind']): StoreFault => ({
    kind,
    atMs,
    forMs: random.skewed(random.pick([300, 1_500, 4_000])),
  });
  switch (random.between(0, 11)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return { kind: 'kill', atMs, process, messages, downMs: random.skewed(random.pick([100, 3_000])) };
    case 4:
      return { kind: 'pause', atMs, process, forMs: random.skewed(random.pick([50, 1_500, 6_000])) };
    case 5:
      return storeFault('freeze');
    case 10:
      return storeFault('full');
    case 11:
      return storeFault('replica');
    case 6:
      return { kind: 'clock', atMs, process, byMs: random.pick([-3_600_000, -2_000, 2_000, 3_600_000]) };
    case 7:
      return { kind: 'cut', atMs, process, connection, messages };
    case 8:
      return { kind: 'silence', atMs, process, connection, messages };
    default:
      return { kind: 'lose replies', atMs, process, connection, messages };
  }
}
