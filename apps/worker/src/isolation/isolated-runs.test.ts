import { EventEmitter } from 'node:events';
import { createLogger, Telemetry } from '@sluice/runtime';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type IsolatedChild, IsolatedRuns } from './isolated-runs.ts';
import type { ToIsolated } from './messages.ts';

/** Processes of a test, which end when they are disconnected, and do what the test says. */
function setUp() {
  const settings = { models: ['old'] };
  const children: {
    sent: ToIsolated[];
    finish: (responseId: string) => void;
    tellReleases: (arePending: boolean) => void;
    isConnected: () => boolean;
    failToStart: () => void;
  }[] = [];
  const culprits: string[] = [];
  const fork = (): IsolatedChild => {
    const events = new EventEmitter();
    const sent: ToIsolated[] = [];
    let connected = true;
    let pid: number | undefined = 1;
    const child = {
      get pid() {
        return pid;
      },
      get connected() {
        return connected;
      },
      send: (message: ToIsolated) => sent.push(message),
      disconnect: () => {
        connected = false;
        events.emit('exit', 0, null);
      },
      kill: () => true,
      on: (name: string, listener: (...args: unknown[]) => void) => events.on(name, listener),
      once: (name: string, listener: (...args: unknown[]) => void) => events.once(name, listener),
    };
    children.push({
      sent,
      finish: (responseId) =>
        events.emit('message', { type: 'outcome', responseId, outcome: { kind: 'settled' } }),
      tellReleases: (arePending) => events.emit('message', { type: 'releases', arePending }),
      isConnected: () => connected,
      // As Node does when there are too many processes or open files: there is no exit.
      failToStart: () => {
        [pid, connected] = [undefined, false];
        events.emit('error', new Error('spawn EAGAIN'));
      },
    });
    return child as never; // the members that are used
  };
  const runs = new IsolatedRuns({
    settings: settings as never, // only passed on
    telemetry: new Telemetry((error) => {
      throw error;
    }),
    logger: createLogger({ name: 'test', level: 'silent' }),
    onCulprit: (responseId) => culprits.push(responseId),
    onLetIn: () => undefined,
    fork,
  });
  const run = (responseId: string) => runs.run({ responseId, tenant: 'team', losses: 1 });
  return { runs, run, settings, children, culprits };
}

afterEach(() => vi.useRealTimers());

/** Processes of which one has run a response, and has claims to release. */
async function setUpWithReleases() {
  const parts = setUp();
  const outcome = parts.run('r1');
  parts.children[0]?.tellReleases(true);
  parts.children[0]?.finish('r1');
  await outcome;
  return parts;
}

describe('processes for suspects', () => {
  it('that cannot be started leave their suspects to come again, and no place is lost', async () => {
    const { runs, run, children, culprits } = setUp();
    for (let at = 0; at < 10; at += 1) {
      const outcome = run(`r${at}`);
      children[at]?.failToStart();
      expect(await outcome).toEqual({ kind: 'later', afterMs: expect.any(Number) });
    }
    expect(culprits).toEqual([]);
    await runs.stop();
  });

  it('get no further suspects once the settings have changed, and end with their last run', async () => {
    const { runs, run, settings, children } = setUp();
    const first = run('r1');
    settings.models = ['new'];
    runs.retire();
    const second = run('r2');
    expect(children.map(({ sent }) => sent)).toMatchObject([
      [
        { type: 'settings', settings: { models: ['old'] } },
        { type: 'run', responseId: 'r1' },
      ],
      [
        { type: 'settings', settings: { models: ['new'] } },
        { type: 'run', responseId: 'r2' },
      ],
    ]);
    expect(children[0]?.isConnected()).toBe(true);
    for (const [at, id] of ['r1', 'r2'].entries()) children[at]?.finish(id);
    expect(await Promise.all([first, second])).toEqual([{ kind: 'settled' }, { kind: 'settled' }]);
    await runs.stop();
    expect(children.map(({ isConnected }) => isConnected())).toEqual([false, false]);
  });

  it('stay while they have claims to release, and end soon after', async () => {
    vi.useFakeTimers();
    const { runs, children } = await setUpWithReleases();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(children[0]?.isConnected()).toBe(true);
    children[0]?.tellReleases(false);
    expect(children[0]?.isConnected()).toBe(true);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(children[0]?.isConnected()).toBe(false);
    await runs.stop();
  });

  it('stay for their claims also once the settings have changed', async () => {
    vi.useFakeTimers();
    const { runs, children } = await setUpWithReleases();
    runs.retire();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(children[0]?.isConnected()).toBe(true);
    children[0]?.tellReleases(false);
    await vi.advanceTimersByTimeAsync(0);
    expect(children[0]?.isConnected()).toBe(false);
    await runs.stop();
  });

  it('without a run end at once', async () => {
    const { runs, run, children } = setUp();
    const run1 = run('r1');
    children[0]?.finish('r1');
    await run1;
    runs.retire();
    expect(children[0]?.isConnected()).toBe(false);
    await runs.stop();
  });
});
