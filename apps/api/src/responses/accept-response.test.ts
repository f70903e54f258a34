import { loadSettings } from '@sluice/config';
import type { CreateResponse } from '@sluice/contract';
import { type AcceptResult, type CallerStores, prepareRequest } from '@sluice/response-store';
import { createLogger, Telemetry } from '@sluice/runtime';
import { createKey } from '@sluice/tenants';
import { describe, expect, it, vi } from 'vitest';
import { type NewResponse, ResponseAcceptor } from './accept-response.ts';
import { BackgroundWork } from './background-work.ts';
import { type Caller, CallerPresence } from './caller.ts';
import type { ResponsesDependencies } from './dependencies.ts';
import { EarlyEnds } from './early-ends.ts';
import { ModelDirectory } from './model-directory.ts';
import { PendingRequest } from './pending-request.ts';
import { QueuePositions } from './queue-positions.ts';
import { RequestChecks } from './request-checks.ts';
import { ReferenceResolver } from './resolve-references.ts';
import { StoredItems } from './stored-items.ts';
import { UnansweredSteps } from './unanswered-steps.ts';

const notSent = new Error("Stream isn't writeable and enableOfflineQueue options is false");
const file = `
providers: [{ id: none, type: simulator }]
models: [{ id: m, routes: [{ provider: none }] }]
keys: [{ name: first, key: ${createKey()} }]
`;

const neverAsked = () => Promise.reject(new Error('asked for what nobody refers to'));

/** An acceptor over a store whose accept does what the test says, and that never answers a request to take it back. */
function acceptorOver(accept: () => Promise<AcceptResult>, mostSteps?: number) {
  const settings = loadSettings({
    env: { REDIS_URL: 'redis://nowhere' },
    argv: [],
    cwd: '/',
    role: 'api',
    readFile: () => file,
  });
  const logger = createLogger({ name: 'test', level: 'silent' });
  const store = {
    accept: vi.fn(accept),
    abandon: vi.fn(() => new Promise(() => undefined)),
    isDurable: vi.fn(() => Promise.resolve(true)),
    noteJob: vi.fn(() => Promise.resolve(0)),
    standInLine: vi.fn(() => Promise.resolve(true)),
  };
  const removed: string[] = [];
  const dependencies: ResponsesDependencies = {
    settings,
    live: settings,
    // What an accept and its taking back need of it.
    store: store as unknown as CallerStores,
    // It refers to no earlier item.
    json: {
      countTokens: neverAsked,
      pickItems: neverAsked,
      pickPage: neverAsked,
      pickUserMessages: neverAsked,
    },
    queue: {
      ahead: () => Promise.resolve(undefined),
      departures: () => Promise.resolve(0),
      order: () => ({ jobs: 'jobs', jobPrefix: 'job:', perPriority: 1 }),
      enqueue: () => Promise.resolve(),
      defer: () => Promise.resolve(),
      remove: (_queue, responseId) => {
        removed.push(responseId);
        return Promise.resolve();
      },
    },
    sealerOf: () => {
      throw new Error('nothing is sealed here');
    },
    memoryOf: () => ({ usedPercent: 0, used: undefined }),
    telemetry: new Telemetry(() => undefined),
    now: () => 5_000,
    logger,
  };
  const background = new BackgroundWork(logger);
  const steps = new UnansweredSteps({ background, logger }, mostSteps);
  const ends = new EarlyEnds(dependencies, { background, steps });
  const positions = new QueuePositions({
    ahead: dependencies.queue.ahead,
    departures: dependencies.queue.departures,
    now: () => 0,
  });
  const checks = new RequestChecks(dependencies, {
    models: new ModelDirectory(() => settings.models),
    references: new ReferenceResolver(dependencies, new StoredItems(dependencies)),
  });
  const acceptor = new ResponseAcceptor(dependencies, { checks, ends, steps, background, positions });
  const [key] = settings.keys;
  if (!key) throw new Error('no key');
  const request: CreateResponse = {
    model: 'm',
    input: [{ type: 'message', role: 'user', content: 'Hi' }],
    background: true,
  };
  const caller: Caller = {
    key,
    requestId: 'req_1',
    presence: new CallerPresence(),
    elapsedMs: () => 0,
    hold: () => Promise.resolve(() => undefined),
  };
  const accepting: NewResponse = {
    pending: new PendingRequest(prepareRequest(request, { withDigest: false })),
    idempotencyKey: undefined,
    reserve: () => undefined,
  };
  const checkAndAccept = async () => {
    const checked = await acceptor.check(caller, accepting);
    return acceptor.accept('r', caller, { ...accepting, checked });
  };
  return { store, steps, removed, accept: checkAndAccept };
}

describe('a response that the store does not accept', () => {
  it('is refused at once and leaves nothing to take back when it was never sent', async () => {
    const { store, steps, accept } = acceptorOver(() => Promise.reject(notSent));
    await expect(accept()).resolves.toEqual({ kind: 'refused', error: notSent });
    expect(store.accept).toHaveBeenCalledTimes(1);
    expect(store.abandon).not.toHaveBeenCalled();
    expect(steps.size).toBe(0);
  });

  it('is taken back with the deadline of its accept when it may have been sent', async () => {
    const { store, steps, accept } = acceptorOver(() => Promise.reject(new Error('OOM command not allowed')));
    await expect(accept()).resolves.toMatchObject({
      kind: 'refused',
      error: new Error('OOM command not allowed'),
    });
    expect(store.abandon).toHaveBeenCalledExactlyOnceWith('r', 6_000);
    expect(steps.size).toBe(1);
  });

  it('is not sent at all while too many are to be taken back', async () => {
    const { store, steps, accept } = acceptorOver(() => Promise.reject(notSent), 1);
    steps.run('another', () => new Promise(() => undefined));
    await expect(accept()).resolves.toMatchObject({
      kind: 'refused',
      error: { code: 'server_is_overloaded' },
    });
    expect(store.accept).not.toHaveBeenCalled();
  });
});

const use = { requests: undefined, tokens: undefined };
const accepted: AcceptResult = { kind: 'accepted', acceptedAt: 1, use, priority: 1 };

describe('a response whose accept comes to the store too late', () => {
  it('is sent once more, with a new deadline', async () => {
    const { store, steps, accept } = acceptorOver(() => Promise.resolve(accepted));
    store.accept.mockResolvedValueOnce({ kind: 'too_late' });
    await expect(accept()).resolves.toMatchObject({ kind: 'accepted' });
    expect(store.accept).toHaveBeenCalledTimes(2);
    expect(steps.size).toBe(0);
  });

  it('is refused when that is too late again, with nothing to take back', async () => {
    const { store, accept } = acceptorOver(() => Promise.resolve({ kind: 'too_late' }));
    await expect(accept()).resolves.toMatchObject({
      kind: 'refused',
      error: { code: 'server_is_overloaded' },
    });
    expect(store.accept).toHaveBeenCalledTimes(2);
    expect(store.abandon).not.toHaveBeenCalled();
  });
});

describe('a response that is accepted', () => {
  it('is noted to have its job when nothing can refuse its caller any more', async () => {
    const { store, accept } = acceptorOver(() => Promise.resolve(accepted));
    await expect(accept()).resolves.toMatchObject({ kind: 'accepted' });
    expect(store.noteJob).toHaveBeenCalledTimes(1);
  });

  it.each([true, false])(
    'keeps the job that waits outside of its queue while it is open: %s',
    async (isOpen) => {
      const crowded: AcceptResult = { kind: 'accepted', acceptedAt: 1, use, priority: undefined };
      const { store, removed, accept } = acceptorOver(() => Promise.resolve(crowded));
      store.standInLine.mockResolvedValue(isOpen);
      await expect(accept()).resolves.toMatchObject({ kind: 'accepted' });
      expect(store.standInLine).toHaveBeenCalledTimes(1);
      expect(removed).toEqual(isOpen ? [] : ['r']);
    },
  );

  it.each([0, 1])('is taken back when step %i does not become durable, and not noted', async (step) => {
    const { store, steps, accept } = acceptorOver(() => Promise.resolve(accepted));
    for (let before = 0; before < step; before += 1) store.isDurable.mockResolvedValueOnce(true);
    store.isDurable.mockResolvedValueOnce(false);
    await expect(accept()).rejects.toMatchObject({ code: 'server_is_overloaded' });
    expect(store.noteJob).not.toHaveBeenCalled();
    expect(steps.size).toBe(1);
  });
});
