import { models, tenants } from '../service/names.ts';
import { Random } from '../world/random.ts';
import { holdsAfterMs } from './change-cells.ts';
import { makeBatches } from './make-batches.ts';
import { everything, families, type Family, makeFault } from './make-fault.ts';
import { makeOperators } from './make-operators.ts';
import { longestMs, longTokens, withChains, withLongEnds, withPark } from './vary-callers.ts';
import type { ActPlan, CallEnd, CallerPlan, CellChange, CallPlan, FaultPlan, Scenario } from './scenario.ts';
import { modes } from './scenario.ts';

/** How many ask, over how long, and how many of them meet an upstream that fails. */
interface Crowd {
  callers: number;
  durationMs: number;
  /** The share of first calls that fail. */
  failing: number;
  /** The share of the limited tenant, and of the narrow model: both run few at a time. */
  limited: number;
  narrow: number;
  /** Whether its upstreams may take seconds, so that a call outlasts a fault. */
  isPatient: boolean;
}

/** Makes the story of a seed. */
export function makeScenario(seed: number): Scenario {
  const random = new Random(seed).fork('scenario');
  const apis = random.pick([1, 2, 2]);
  const workers = random.pick([1, 2, 2]);
  if (random.happens(0.06)) {
    return { seed, apis, workers, keepsRecords: false, callers: makeLine(random.fork('line')), faults: [] };
  }
  const crowd = makeCrowd(random.fork('crowd'));
  const made = Array.from({ length: crowd.callers }, (_, at) =>
    makeCaller(random.fork(`caller ${at}`), `c${at}`, crowd),
  );
  const callers = varied(seed, crowd, made);
  const names = [
    ...Array.from({ length: apis }, (_, at) => `api-${at}`),
    ...Array.from({ length: workers }, (_, at) => `worker-${at}`),
  ];
  const family = random.pick<Family>([
    everything,
    families.crashes,
    families.outages,
    families.outages,
    families.losses,
    families.silences,
    families.deployments,
  ]);
  const asked = callers.map(({ atMs }) => atMs);
  const ofCallers = Array.from({ length: random.pick([0, 1, 1, 2, 3, 5]) }, (_, at) =>
    makeFault(random.fork(`fault ${at}`), names, asked, family),
  );
  const { batches, faults: ofBatches } = makeBatches(new Random(seed).fork('batches'), (own, momentMs) =>
    makeFault(own, names, [momentMs], family),
  );
  const faults = ofCallers.length > 0 ? [...ofCallers, ...ofBatches] : ofCallers;
  const hasCells = new Random(seed).fork('cells').happens(0.25);
  const change = new Random(seed).fork('cell change');
  const cellChange = hasCells && change.happens(0.3) ? change.pick<CellChange>(['add', 'drain']) : undefined;
  const hasTwoReleases = apis === 2 && workers === 2 && random.fork('releases').happens(0.25);
  const hasPools = workers === 2 && !hasTwoReleases && new Random(seed).fork('pools').happens(0.2);
  // A response that another release has stored cannot be continued.
  const asking = hasTwoReleases ? callers : chained(seed, crowd, callers);
  // A delivery that is tried again waits by the clock of its process.
  const mayHaveWebhooks = !hasTwoReleases && !faults.some(({ kind }) => kind === 'clock');
  const scenario: Scenario = {
    seed,
    apis,
    workers,
    keepsRecords: random.happens(0.1),
    isReplicated: random.happens(family === families.losses ? 0.5 : 0.1),
    ...(hasTwoReleases && { hasTwoReleases }),
    ...(hasPools && { hasPools }),
    ...(mayHaveWebhooks && new Random(seed).fork('webhooks').happens(0.15) && { hasWebhooks: true }),
    ...(hasCells && { cells: 2 }),
    callers: withLosses(random.fork('losses'), asking, faults),
    faults: hasCells ? inCells(random.fork('cells'), faults) : faults,
    ...makeOperators(new Random(seed).fork('operators'), callers, faults),
    ...(batches && { batches }),
  };
  return cellChange
    ? { ...later(scenario, holdsAfterMs[cellChange] - change.between(0, 3_000)), cellChange }
    : scenario;
}

function varied(seed: number, { isPatient }: Crowd, callers: readonly CallerPlan[]): readonly CallerPlan[] {
  return isPatient
    ? withLongEnds(new Random(seed).fork('long ends'), callers)
    : withPark(new Random(seed).fork('park'), callers);
}

function chained(seed: number, { isPatient }: Crowd, callers: readonly CallerPlan[]): readonly CallerPlan[] {
  return isPatient ? withChains(new Random(seed).fork('chains'), callers) : callers;
}

/** The same story, begun so much later. */
function later(scenario: Scenario, byMs: number): Scenario {
  const move = <Each extends { atMs: number }>(each: Each): Each => ({ ...each, atMs: each.atMs + byMs });
  return {
    ...scenario,
    callers: scenario.callers.map(move),
    faults: scenario.faults.map(move),
    ...(scenario.operators && { operators: scenario.operators.map(move) }),
    ...(scenario.batches && { batches: scenario.batches.map(move) }),
  };
}

/** What befalls a store befalls that of one cell. */
function inCells(random: Random, faults: readonly FaultPlan[]): FaultPlan[] {
  return faults.map((fault) =>
    'process' in fault || fault.kind === 'full disk' ? fault : { ...fault, cell: random.pick([0, 1]) },
  );
}

/** Two tenants who wait for one model, where nothing else goes on: one of them asks first, and the other one later. */
function makeLine(random: Random): CallerPlan[] {
  const untilMs = random.pick([0, 200, 600]);
  return Array.from({ length: random.between(12, 40) }, (_, at) => {
    const isFirst = random.happens(0.6);
    return {
      name: `c${at}`,
      atMs: (isFirst ? 0 : untilMs) + random.fraction() * 30,
      mode: random.pick(modes),
      tenant: isFirst ? tenants.free : tenants.other,
      model: models.narrow,
      idempotencyKey: undefined,
      calls: [good(random, false)],
      acts: [],
    };
  });
}

/** When limits hold again in a store that has lost them, and how many then come to see it. */
const seenAfterMs = 6_200;
const lateCallers = 4;

/** Who was sent what the store has forgotten loses its connection, too, and others come when all must be as it was. */
function withLosses(
  random: Random,
  callers: readonly CallerPlan[],
  faults: readonly FaultPlan[],
): CallerPlan[] {
  const losses = faults.filter((fault) => fault.kind === 'forget' || fault.kind === 'empty');
  const [loss] = losses;
  if (!loss) return [...callers];
  const overMs = loss.atMs + loss.forMs;
  const back = callers.map((caller): CallerPlan => {
    const afterMs = overMs - caller.atMs + random.skewed(30);
    const drops = caller.mode === 'background stream' && afterMs > 0 && random.happens(0.5);
    return drops ? { ...caller, acts: [...caller.acts, { kind: 'drop', afterMs }] } : caller;
  });
  const seenMs = Math.max(...losses.map(({ atMs, forMs }) => atMs + forMs)) + seenAfterMs;
  const late = Array.from(
    { length: lateCallers },
    (_, at): CallerPlan => ({
      name: `c${callers.length + at}`,
      atMs: seenMs + random.fraction() * 50,
      mode: random.pick(modes),
      tenant: tenants.free,
      model: models.narrow,
      idempotencyKey: undefined,
      calls: [{ ...good(random, false), firstMs: 100 }],
      acts: [],
    }),
  );
  return [...back, ...late];
}

function makeCrowd(random: Random): Crowd {
  const few = {
    callers: random.between(2, 16),
    durationMs: random.pick([200, 1_000, 4_000]),
    failing: 0.3,
    limited: 0.5,
    narrow: 0.25,
    isPatient: true,
  };
  const many = {
    callers: random.between(60, 200),
    durationMs: random.pick([0, 300, 2_000]),
    failing: 0.05,
    limited: 0.2,
    narrow: 0.1,
    isPatient: false,
  };
  return random.happens(0.5) ? few : many;
}

function makeCaller(
  random: Random,
  name: string,
  { durationMs, failing, limited, narrow, isPatient }: Crowd,
): CallerPlan {
  const acts: ActPlan[] = [];
  if (random.happens(failing)) {
    acts.push({
      kind: random.pick(['leave', 'drop', 'drop', 'cancel']),
      afterMs: random.skewed(random.pick([1, 30, 1_000])),
    });
  }
  const first = random.happens(failing) ? bad(random, isPatient) : good(random, isPatient);
  // Another call of the same kind: what crashes once may crash again, up to the end of all patience.
  const again = Array.from({ length: random.happens(failing) ? random.pick([1, 1, 1, 5]) : 0 }, () => first);
  return {
    name,
    atMs: random.fraction() * durationMs,
    mode: random.pick(modes),
    tenant: random.happens(limited) ? tenants.limited : random.pick([tenants.free, tenants.other]),
    model: random.happens(narrow) ? models.narrow : models.wide,
    idempotencyKey: random.happens(0.4) ? `key-${name}` : undefined,
    calls: [first, ...again, good(random, isPatient)],
    acts,
    ...(random.happens(0.1) && { readMs: random.skewed(random.pick([5, 100])) }),
    ...(random.fork('long').happens(0.06) && { isLong: true }),
  };
}

function bad(random: Random, isPatient: boolean): CallPlan {
  const end = random.pick<CallEnd>(['cut', 'hang', 'refused', 'limited', 'broken', 'fatal', 'crash']);
  const tokens = end === 'refused' || end === 'limited' || random.happens(0.4) ? 0 : random.between(1, 5);
  return { ...good(random, isPatient), tokens, end };
}

/** Now and then an answer is too long for a message, and too long to wait in memory for a slow reader. */
function good(random: Random, isPatient: boolean): CallPlan {
  const isLong = random.happens(0.01);
  const firstMs = Math.min(
    random.skewed(random.pick(isPatient ? [20, 300, 2_000] : [2, 20, 300])),
    longestMs,
  );
  const betweenMs = random.skewed(random.pick([0.5, 5, 60]));
  const tokens = isLong ? longTokens : random.between(1, 6);
  return {
    firstMs,
    betweenMs: Math.min(betweenMs, longestMs / tokens),
    tokens,
    ...(isLong && { tokenLength: random.pick([4_000, 20_000]) }),
    end: 'finish',
  };
}
