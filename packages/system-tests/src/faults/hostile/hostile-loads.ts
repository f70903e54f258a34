import { randomUUID } from 'node:crypto';
import type { LoadCaller } from './load-caller.ts';

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
}

/** A way for one tenant to hurt another through a mechanism that all share, and its control. */
export interface HostileLoad {
  mechanism: string;
  /** Both loads in words, for the page. */
  words: Record<Kind, string>;
  loads: Record<Kind, LoadSteps>;
}

const megabyte = 1_000_000;

/** Steps that ask for the response to a prompt; see `load-upstream.ts` for what a prompt does. */
function create(perSecond: number, body: Record<string, unknown>): LoadSteps {
  return { perSecond, atATime: 8, step: (caller) => caller.create({ model: 'fast', ...body }) };
}

/** The same, and delete it: the log of a streamed answer has its text four times, which would fill the store. */
function createAndDelete(perSecond: number, body: Record<string, unknown>): LoadSteps {
  return { perSecond, atATime: 8, step: (caller) => caller.createAndDelete({ model: 'fast', ...body }) };
}

/** Steps that read one stored answer of so many bytes. */
function read(perSecond: number, bytes: number, query = ''): LoadSteps {
  return {
    perSecond,
    atATime: 8,
    step: async (caller) => caller.read(`${await caller.stored(`say ${bytes}`)}${query}`),
  };
}

/** Steps that continue from one response whose input has so many bytes. */
function goOn(perSecond: number, bytes: number): LoadSteps {
  return {
    perSecond,
    atATime: 16,
    step: async (caller) => {
      const [, id = ''] = (await caller.stored('x'.repeat(bytes))).split('/');
      return caller.create({ model: 'fast', input: 'Go on', previous_response_id: id, background: true });
    },
  };
}

const background = { background: true };

/** Each is an item of "nobody closes it for others", at a load that the machine can bear. */
export const hostileLoads: readonly HostileLoad[] = [
  {
    mechanism: 'breaker',
    words: { hostile: 'a model that always fails', good: 'one that answers' },
    loads: {
      hostile: create(50, { model: 'broken', input: 'Hi' }),
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
      hostile: { perSecond: 2, atATime: 8, step: (caller) => caller.message(20_000, 1) },
      good: { perSecond: 2, atATime: 8, step: (caller) => caller.message(20_000, 20_000) },
    },
  },
  {
    mechanism: 'share of the store',
    words: { hostile: 'inputs of 9 MB that stay', good: 'the same, deleted again' },
    loads: {
      hostile: create(4, { input: 'x'.repeat(9 * megabyte) }),
      good: createAndDelete(4, { input: 'x'.repeat(9 * megabyte) }),
    },
  },
  {
    mechanism: 'answers under way',
    words: { hostile: 'answers of 15 MB', good: 'the same bytes in answers of 500 kB' },
    loads: {
      hostile: create(1, { input: `say ${15 * megabyte}`, ...background }),
      good: create(30, { input: `say ${megabyte / 2}`, ...background }),
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
    loads: { hostile: goOn(1, 20 * megabyte - 1), good: goOn(20, megabyte) },
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
      hostile: { perSecond: 2, atATime: 8, step: (caller) => caller.pipeline(500) },
      good: { perSecond: 32, atATime: 8, step: (caller) => caller.read('models') },
    },
  },
  {
    mechanism: 'throttle of an address',
    words: { hostile: 'wrong keys', good: 'right ones' },
    loads: {
      hostile: { perSecond: 50, atATime: 50, step: (caller) => caller.read('models', `sk-${randomUUID()}`) },
      good: { perSecond: 50, atATime: 50, step: (caller) => caller.read('models') },
    },
  },
];
