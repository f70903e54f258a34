/**
 * What the service promises when something dies: a cell for each fault, moment and mode. The tests and
 * [docs/faults.md](../../../../docs/faults.md) are both made from this table, and the compiler asks for every cell.
 */

export const faults = [
  'api killed',
  'worker killed',
  'Redis killed and restarted',
  'Redis frozen for longer than a lock',
  'path to Redis cut',
  'path to Redis silent',
  'path to Redis lost without a word',
  'Redis failed over to its replica',
  'one in a hundred replies of Redis lost',
  'upstream cut',
  'api stopped with SIGTERM',
  'worker stopped with SIGTERM',
  'subscriber connections cut',
] as const;
export type Fault = (typeof faults)[number];

/** How far a response is when the fault begins. */
export const moments = ['queued', 'running without output', 'in the middle', 'at the end'] as const;
export type Moment = (typeof moments)[number];

/** How its caller wants it. */
export const modes = ['synchronous', 'stream', 'background', 'background stream'] as const;
export type Mode = (typeof modes)[number];

export type End = 'completed' | 'incomplete' | 'failed' | 'cancelled';

export interface Promised {
  /** What the caller may rely on, in one sentence. */
  promise: string;
  /** The statuses that keep the promise. */
  ends: readonly End[];
  /** The fewest and the most calls of the upstream that keep it. */
  calls: readonly [number, number];
  /** Longest time from the fault, or from the end of an outage, to the end of the response, in milliseconds. */
  withinMs: number;
  /** Whether its upstream stays silent until the response has ended by itself. */
  isHeldToItsEnd?: boolean;
}

export interface Impossible {
  /** Why there is nothing to test. */
  cannotHappen: string;
}

export type Cell = Promised | Impossible;

/** Another worker takes over: a lock, two scans, and the start of a process; README promises 20 s with its defaults. */
const takeoverMs = 20_000;
/** The lease of a dead api lapses, and the worker that makes the call looks. */
const abandonedCallMs = 10_000;
/** The same, and the rescue looks twice. */
const abandonedMs = 20_000;
/** A job whose worker may live is put off for a second at a time until leases are trusted again. */
const recoveryMs = 10_000;
/** The responses that were queued before it have their turns first, one at a time. */
const turnMs = 10_000;
/** Nothing has to be found out first. */
const atOnceMs = 5_000;

const completes = (
  promise: string,
  withinMs: number,
  calls: readonly [number, number] = [1, 1],
): Promised => ({ promise, ends: ['completed'], calls, withinMs });

const fails = (promise: string, withinMs: number): Promised => ({
  ...{ promise, ends: ['failed'], calls: [1, 1], withinMs },
});

/** The same cell for each mode, or for those whose output is visible as it is generated and for the others. */
const every = (cell: Cell): Record<Mode, Cell> => ({
  synchronous: cell,
  stream: cell,
  background: cell,
  'background stream': cell,
});
const byVisibility = (hidden: Cell, visible: Cell): Record<Mode, Cell> => ({
  synchronous: hidden,
  stream: visible,
  background: hidden,
  'background stream': visible,
});

const outage = (what: string): Record<Moment, Record<Mode, Cell>> => ({
  queued: every(completes(`Keeps its place over ${what} and completes in one call.`, recoveryMs)),
  'running without output': every(
    completes(`Goes on through ${what} and completes in the call that was open.`, recoveryMs),
  ),
  'in the middle': byVisibility(
    completes(`Goes on through ${what} and completes in the call that was open.`, recoveryMs),
    completes(`Goes on through ${what}; the caller misses no event and sees none twice.`, recoveryMs),
  ),
  'at the end': every(
    completes(`Its end is written once after ${what}, and is the whole answer.`, recoveryMs),
  ),
});

const abandoned = (calls: readonly [number, number], how: string, withinMs: number): Promised => ({
  promise: `Is cancelled when the lease of its api has lapsed, because its caller is gone; ${how}.`,
  ends: ['cancelled'],
  calls,
  withinMs,
  isHeldToItsEnd: true,
});

const overDeadApi = (
  moment: string,
  withinMs = atOnceMs,
): Pick<Record<Mode, Cell>, 'stream' | 'background' | 'background stream'> => ({
  stream: completes(`Resumed at another api ${moment}, it goes on without a gap or a repeat.`, withinMs),
  background: completes(`Completes without its api, ${moment}.`, withinMs),
  'background stream': completes(
    `Resumed at another api ${moment}, it goes on without a gap or a repeat.`,
    withinMs,
  ),
});

const noCallYet = 'no upstream has been called for a response that is queued';

export const matrix: Record<Fault, Record<Moment, Record<Mode, Cell>>> = {
  'api killed': {
    queued: {
      synchronous: abandoned([0, 0], 'no upstream is called', abandonedMs),
      ...overDeadApi('while it is queued', turnMs),
    },
    'running without output': {
      synchronous: abandoned([1, 1], 'the call of the upstream is closed', abandonedCallMs),
      ...overDeadApi('before its first token'),
    },
    'in the middle': {
      synchronous: abandoned([1, 1], 'the call of the upstream is closed', abandonedCallMs),
      ...overDeadApi('in the middle'),
    },
    'at the end': {
      synchronous: {
        promise: 'Has one end: it completed before anybody missed its caller, or it is cancelled.',
        ends: ['completed', 'cancelled'],
        calls: [1, 1],
        withinMs: abandonedMs,
      },
      ...overDeadApi('at its end'),
    },
  },
  'worker killed': {
    queued: every(completes('Waits for another worker and completes in one call.', takeoverMs)),
    'running without output': every(
      completes(
        'Another worker runs it again from the start, and the caller sees one answer.',
        takeoverMs,
        [2, 2],
      ),
    ),
    'in the middle': byVisibility(
      completes('Another worker runs it again, and nothing of the first answer is left.', takeoverMs, [2, 2]),
      fails('Fails behind the part that was seen; no second answer is begun.', takeoverMs),
    ),
    'at the end': byVisibility(
      completes(
        'Completes: with the first answer if its end was written, else with another one.',
        takeoverMs,
        [1, 2],
      ),
      {
        promise: 'Completes if its end was written, and fails behind the part that was seen if not.',
        ends: ['completed', 'failed'],
        calls: [1, 1],
        withinMs: takeoverMs,
      },
    ),
  },
  'Redis killed and restarted': outage('the restart'),
  'Redis frozen for longer than a lock': outage('the freeze'),
  'path to Redis cut': outage('the cut'),
  'path to Redis silent': outage('the silence'),
  'path to Redis lost without a word': outage('the loss'),
  'Redis failed over to its replica': outage('the failover'),
  'one in a hundred replies of Redis lost': outage('lost replies'),
  'upstream cut': {
    queued: every({ cannotHappen: noCallYet }),
    'running without output': every(
      completes('Calls the upstream again, and the caller sees one answer.', atOnceMs, [2, 2]),
    ),
    'in the middle': byVisibility(
      completes('Calls the upstream again, and nothing of the first answer is left.', atOnceMs, [2, 2]),
      fails('Fails behind the part that was seen; no second answer is begun.', atOnceMs),
    ),
    'at the end': byVisibility(
      completes('An answer without a finish is none: calls the upstream again.', atOnceMs, [2, 2]),
      fails('An answer without a finish is never completed: fails behind what was seen.', atOnceMs),
    ),
  },
  'api stopped with SIGTERM': {
    queued: every(completes('Is served to its end by the api that stops.', atOnceMs)),
    'running without output': every(completes('Is served to its end by the api that stops.', atOnceMs)),
    'in the middle': every(completes('Is served to its end by the api that stops.', atOnceMs)),
    'at the end': every(completes('Is served to its end by the api that stops.', atOnceMs)),
  },
  'worker stopped with SIGTERM': {
    queued: every(completes('Waits for another worker and completes in one call.', turnMs)),
    'running without output': every(completes('Is finished by the worker that stops.', atOnceMs)),
    'in the middle': every(completes('Is finished by the worker that stops.', atOnceMs)),
    'at the end': every(completes('Is finished by the worker that stops.', atOnceMs)),
  },
  'subscriber connections cut': {
    queued: every(completes('Reads from the log what no message told.', atOnceMs)),
    'running without output': every(completes('Reads from the log what no message told.', atOnceMs)),
    'in the middle': every(completes('Reads from the log what no message told.', atOnceMs)),
    'at the end': every(completes('Learns its end from the record, if no message told it.', atOnceMs)),
  },
};

/** What holds for requests that arrive during a fault. */
export interface ArrivalPromise {
  promise: string;
  /** Longest time to a refusal, in milliseconds. */
  refusedWithinMs: number;
}

/** Promises for requests that arrive while a fault lasts; a fault that is over at once has none. */
export const arrivals: Partial<Record<Fault, ArrivalPromise>> = {
  'Redis killed and restarted': refusedOrServed(),
  'Redis frozen for longer than a lock': refusedOrServed(),
  'path to Redis cut': refusedOrServed(),
  'path to Redis silent': refusedOrServed(),
  'path to Redis lost without a word': refusedOrServed(),
  'Redis failed over to its replica': refusedOrServed(),
  'one in a hundred replies of Redis lost': refusedOrServed(),
};

function refusedOrServed(): ArrivalPromise {
  return {
    promise: 'A request is refused with 503 within 1.5 s and never called, or is accepted and served.',
    refusedWithinMs: 1_500,
  };
}

/** The faults of a primary, and of the path to it. */
export const faultsOfStore = faults.filter((fault) => arrivals[fault] !== undefined);

/** One place in the table. */
export interface Place {
  fault: Fault;
  moment: Moment;
  mode: Mode;
}

export function cellAt({ fault, moment, mode }: Place): Cell {
  return matrix[fault][moment][mode];
}

export function isPromised(cell: Cell): cell is Promised {
  return 'promise' in cell;
}

/** Every place of the table, in its order. */
export const places: readonly Place[] = faults.flatMap((fault) =>
  moments.flatMap((moment) => modes.map((mode) => ({ fault, moment, mode }))),
);

export function nameOf({ fault, moment, mode }: Place): string {
  return `${fault} / ${moment} / ${mode}`;
}
