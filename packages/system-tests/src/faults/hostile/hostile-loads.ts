import { randomUUID } from 'node:crypto';
import { leftStep, type LoadCaller } from './load-caller.ts';

/** `good`: the same load without what makes it hostile; what the quiet tenant feels of it is fair. */
export type Kind = 'hostile' | 'good';

/** A step of a load, repeated at a pace. Resolves with what it came to, such as the status of its answer. */
export interface LoadSteps {
  perSecond: number;
  /** Steps under way at most. */
  atATime: number;
  /** Tenants who send it in turn; one if not said. */
  tenants?: number;
  step: (caller: LoadCaller) => Promise<string>;
  /** What a step may come to. Anything else says that the load was not the one that is meant. */
  comesTo: readonly string[];
}

/** A way for one tenant to hurt another through a mechanism that all share, and its control. */
export interface HostileLoad {
  mechanism: string;
  /** Both loads in words, for the page. */
  words: Record<Kind, string>;
  loads: Record<Kind, LoadSteps>;
}

const megabyte = 1_000_000;

const served = ['200'];

/** Steps that ask for the response to a prompt; see `load-upstream.ts` for what a prompt does. */
function create(perSecond: number, body: Record<string, unknown>, comesTo = served): LoadSteps {
  return { perSecond, atATime: 8, step: (caller) => caller.create({ model: 'fast', ...body }), comesTo };
}

/** The same, and delete it: the log of a streamed answer has its text four times, which would fill the store. */
function createAndDelete(perSecond: number, body: Record<string, unknown>): LoadSteps {
  return {
    perSecond,
    atATime: 8,
    step: (caller) => caller.createAndDelete({ model: 'fast', ...body }),
    comesTo: served,
  };
}

/** Steps that read one stored answer of so many bytes. */
function read(perSecond: number, bytes: number, query = ''): LoadSteps {
  return {
    perSecond,
    atATime: 8,
    step: async (caller) => caller.read(`${await caller.stored(`say ${bytes}`)}${query}`),
    comesTo: served,
  };
}

/** An input of so many megabytes. One text of it may have ten. */
function inputOf(megabytes: number): unknown {
  const part = { type: 'input_text', text: 'x'.repeat(megabyte) };
  return [{ role: 'user', content: Array.from({ length: megabytes }, () => part) }];
}

/** Steps that continue from one response whose input has so many megabytes. */
function goOn(perSecond: number, megabytes: number): LoadSteps {
  const stored = inputOf(megabytes);
  return {
    perSecond,
    atATime: 16,
    step: async (caller) => {
      const [, id = ''] = (await caller.stored(stored)).split('/');
      return caller.create({ model: 'fast', input: 'Go on', previous_response_id: id, background: true });
    },
    comesTo: served,
  };
}

/** Steps that send a message of so many bytes in fragments. */
function message(perSecond: number, bytes: number, ofFragment: number): LoadSteps {
  return {
    perSecond,
    atATime: 8,
    step: (caller) => caller.message(bytes, ofFragment),
    comesTo: ['answered'],
  };
}

/** Steps that read what is small, with another key if one is given. */
function look(perSecond: number, atATime: number, key?: () => string, comesTo = served): LoadSteps {
  return { perSecond, atATime, step: (caller) => caller.read('models', key?.()), comesTo };
}

const background = { background: true };

/** Each is an item of "nobody closes it for others", at a load that the machine can bear. */
export const hostileLoads: readonly HostileLoad[] = [
  {
    mechanism: 'breaker',
    words: { hostile: 'a model that always fails', good: 'one that answers' },
    loads: {
      // Behind an open breaker they wait for longer than their caller does.
      hostile: create(50, { model: 'broken', input: 'Hi' }, ['502', '503', leftStep]),
      good: create(50, { input: 'Hi' }),
    },
  },
  {
    mechanism: 'parking',
    words: { hostile: 'a prompt that is always limited', good: 'one that is answered' },
    loads: {
      hostile: create(20, { input: 'limited', ...background }),
      good: create(20, { input: 'Hi', ...background }),
    },
  },
  {
    mechanism: 'stored answers, streamed',
    words: { hostile: 'streams of 15 MB', good: 'the same bytes in streams of 500 kB' },
    loads: {
      hostile: read(2, 15 * megabyte, '?stream=true'),
      good: read(60, megabyte / 2, '?stream=true'),
    },
  },
  {
    mechanism: 'stored answers, whole',
    words: { hostile: 'reads of 15 MB', good: 'the same bytes in reads of 500 kB' },
    loads: { hostile: read(2, 15 * megabyte), good: read(60, megabyte / 2) },
  },
  {
    mechanism: 'frames of a WebSocket',
    words: { hostile: '20 kB in fragments of a byte', good: 'the same in whole messages' },
    loads: {
      hostile: message(2, 20_000, 1),
      good: message(2, 20_000, 20_000),
    },
  },
  {
    mechanism: 'share of the store',
    words: { hostile: 'inputs of 9 MB that stay', good: 'the same, deleted again' },
    loads: {
      // An api refuses a tenant eight such bodies at a time, and the store refuses it once it has its share.
      hostile: { ...create(4, { input: 'x'.repeat(9 * megabyte) }, ['200', '429']), atATime: 4 },
      good: { ...createAndDelete(4, { input: 'x'.repeat(9 * megabyte) }), atATime: 4 },
    },
  },
  {
    mechanism: 'answers under way',
    words: { hostile: 'answers of 12 MB', good: 'the same bytes in answers of 500 kB' },
    loads: {
      // They stay, and those of all rounds are less than a share of the store.
      hostile: create(1, { input: `say ${12 * megabyte}`, ...background }),
      good: create(24, { input: `say ${megabyte / 2}`, ...background }),
    },
  },
  {
    mechanism: 'answers under way, streamed',
    words: { hostile: 'streams of 15 MB', good: 'the same bytes in streams of 500 kB' },
    loads: {
      hostile: createAndDelete(1, { input: `say ${15 * megabyte}`, stream: true }),
      good: createAndDelete(30, { input: `say ${megabyte / 2}`, stream: true }),
    },
  },
  {
    mechanism: 'inputs that are read',
    words: { hostile: 'short requests behind 20 MB', good: 'the same bytes behind 1 MB' },
    loads: { hostile: goOn(1, 20), good: goOn(20, 1) },
  },
  {
    mechanism: 'places in the queue',
    words: { hostile: '50 a second that take 1 s', good: 'the same from ten tenants' },
    loads: {
      hostile: create(50, { input: 'wait 1000', ...background }),
      good: { ...create(50, { input: 'wait 1000', ...background }), tenants: 10 },
    },
  },
  {
    mechanism: 'turns of an answer',
    words: { hostile: '20,000 events without output', good: 'as many with output' },
    loads: {
      hostile: create(2, { input: 'events 20000', ...background }),
      good: create(2, { input: 'pieces 20000', ...background }),
    },
  },
  {
    mechanism: 'turns of a connection',
    words: { hostile: '500 requests in one write', good: 'as many, one after the other' },
    loads: {
      // A connection has 16 requests at a time, and is closed behind them.
      hostile: {
        perSecond: 2,
        atATime: 8,
        step: (caller) => caller.pipeline(500),
        comesTo: ['16 times 200'],
      },
      good: look(32, 8),
    },
  },
  {
    mechanism: 'throttle of an address',
    words: { hostile: 'wrong keys', good: 'right ones' },
    loads: {
      hostile: look(50, 50, () => `sk-${randomUUID()}`, ['401']),
      good: look(50, 50),
    },
  },
];
