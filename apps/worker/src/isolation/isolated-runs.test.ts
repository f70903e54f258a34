import { EventEmitter } from 'node:events';
import { createLogger, Telemetry } from '@sluice/runtime';
import { describe, expect, it } from 'vitest';
import { type IsolatedChild, IsolatedRuns } from './isolated-runs.ts';
import type { ToIsolated } from './messages.ts';

/** Processes of a test, which end when they are disconnected, and do what the test says. */
function setUp() {
  const settings = { models: ['old'] };
  const children: { sent: ToIsolated[]; finish: (responseId: string) => void; isConnected: () => boolean }[] =
    [];
  const fork = (): IsolatedChild => {
    const events = new EventEmitter();
    const sent: ToIsolated[] = [];
    let connected = true;
    const child = {
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
      isConnected: () => connected,
    });
    return child as never; // the members that are used
  };
  const runs = new IsolatedRuns({
    settings: settings as never, // only passed on
    telemetry: new Telemetry((error) => {
      throw error;
    }),
    logger: createLogger({ name: 'test', level: 'silent' }),
    onCulprit: () => undefined,
    onLetIn: () => undefined,
    fork,
  });
  const run = (responseId: string) => runs.run({ responseId, tenant: 'team', losses: 1 });
  return { runs, run, settings, children };
}

describe('processes for suspects', () => {
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
