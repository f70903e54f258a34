import { loadSettings, type Settings } from '@sluice/config';
import { describe, expect, it } from 'vitest';
import { LiveModels } from './live-models.ts';

/** Settings with these models, each `id` or `id queue` or `id queue concurrency`, on providers `p` and `q`. */
function settingsWith(...models: string[]): Settings {
  const lines = models.map((each) => {
    const [id, queue = id, concurrency] = each.split(' ');
    const more = concurrency === undefined ? '' : `, concurrency: ${concurrency}`;
    return `  - { id: ${id}, queue: ${queue}${more}, routes: [{ provider: ${id === 'b' ? 'q' : 'p'} }] }`;
  });
  const text = `providers: [{ id: p, type: simulator }, { id: q, type: simulator }]\nmodels:\n${lines.join('\n')}\n`;
  return loadSettings({ env: {}, argv: [], cwd: '/', readFile: () => text });
}

function setUp(...models: string[]) {
  let at = 0;
  const waiting = new Map<string, number>();
  let isAway = false;
  let changes = 0;
  const live = new LiveModels({
    settings: settingsWith(...models),
    isEmpty: (name) =>
      isAway ? Promise.reject(new Error('away')) : Promise.resolve((waiting.get(name) ?? 0) === 0),
    now: () => at,
    keepMs: 1_000,
  });
  live.onChange(() => {
    changes += 1;
  });
  const ids = (of: readonly { id: string }[]) => of.map(({ id }) => id);
  const lookAfter = (ms: number) => {
    at += ms;
    return live.look();
  };
  return {
    live,
    waiting,
    lookAfter,
    changes: () => changes,
    setAway: (away: boolean) => {
      isAway = away;
    },
    inEffect: () => ids(live.models),
    served: () => ids(live.served),
  };
}

describe('a removed model', () => {
  it('is served no longer once its time is up and its queue is empty', async () => {
    const { live, waiting, lookAfter, inEffect, served, changes } = setUp('a', 'b');
    waiting.set('b', 1);
    live.replace(settingsWith('a'));
    expect(inEffect()).toEqual(['a']);
    expect(served()).toEqual(['a', 'b']);
    expect(live.serves('b')).toBe(true);
    await lookAfter(1_000);
    expect(served()).toEqual(['a', 'b']);
    waiting.delete('b');
    await lookAfter(1);
    expect(served()).toEqual(['a']);
    expect(live.queueNames).toEqual(['a']);
    expect(live.serves('b')).toBe(false);
    expect(changes()).toBe(2);
  });

  it('is served for its time although its queue is empty: another api may accept for it', async () => {
    const { live, lookAfter, served } = setUp('a', 'b');
    live.replace(settingsWith('a'));
    await lookAfter(999);
    expect(served()).toEqual(['a', 'b']);
  });

  it('is served while its queue cannot be read', async () => {
    const { live, lookAfter, setAway, served } = setUp('a', 'b');
    live.replace(settingsWith('a'));
    setAway(true);
    await lookAfter(60_000);
    expect(served()).toEqual(['a', 'b']);
    setAway(false);
    await lookAfter(1);
    expect(served()).toEqual(['a']);
  });

  it('is forgotten in a queue that others keep busy, once all that it accepted must have ended', async () => {
    const { live, waiting, lookAfter, served } = setUp('a shared', 'b shared');
    waiting.set('shared', 5);
    live.replace(settingsWith('a shared'));
    const { timeouts } = settingsWith('a');
    await lookAfter(timeouts.backgroundQueueMs + timeouts.totalMs);
    expect(served()).toEqual(['a', 'b']);
    await lookAfter(1_001);
    expect(served()).toEqual(['a']);
  });

  it('keeps its providers, of which one that is in effect wins', () => {
    const { live } = setUp('a', 'b');
    const next = settingsWith('a');
    live.replace({ ...next, providers: next.providers.filter(({ id }) => id === 'p') });
    expect(live.providers.map(({ id }) => id)).toEqual(['p']);
    expect(live.servedProviders.map(({ id }) => id)).toEqual(['p', 'q']);
  });

  it('has the concurrency of its queue, where another model has that now', () => {
    const { live } = setUp('a shared 2', 'b shared');
    expect(live.models.map(({ concurrency }) => concurrency)).toEqual([2, 2]);
    live.replace(settingsWith('a shared 7'));
    expect(live.served.map(({ concurrency }) => concurrency)).toEqual([7, 7]);
  });

  it('that comes back is the new one', async () => {
    const { live, lookAfter, served } = setUp('a', 'b');
    live.replace(settingsWith('a'));
    live.replace(settingsWith('a', 'b b 3'));
    expect(live.served.map(({ concurrency }) => concurrency)).toEqual([undefined, 3]);
    await lookAfter(60_000);
    expect(served()).toEqual(['a', 'b']);
  });
});

describe('a model with another queue', () => {
  it('has its old queue served, too, until that is empty and its time is up', async () => {
    const { live, waiting, lookAfter } = setUp('a old');
    waiting.set('old', 1);
    live.replace(settingsWith('a new'));
    expect(live.queueNames).toEqual(['new', 'old']);
    await lookAfter(2_000);
    expect(live.queueNames).toEqual(['new', 'old']);
    waiting.delete('old');
    await lookAfter(1);
    expect(live.queueNames).toEqual(['new']);
  });

  it('leaves the limit of its old queue as it was last', async () => {
    const { live, lookAfter } = setUp('a old 2');
    live.replace(settingsWith('a old 3'));
    live.replace(settingsWith('a new 5'));
    expect([...live.queueLimits]).toEqual([
      ['new', 5],
      ['old', 3],
    ]);
    await lookAfter(1_000);
    expect([...live.queueLimits]).toEqual([['new', 5]]);
  });

  it('leaves it to a model, too, that was removed from there before', () => {
    const { live } = setUp('a old 2', 'b old 2');
    live.replace(settingsWith('a old 3'));
    live.replace(settingsWith('a new'));
    expect(live.queueLimits.get('old')).toBe(3);
    expect(live.served.find(({ id }) => id === 'b')?.concurrency).toBe(3);
  });
});

describe('a view of the settings', () => {
  it('has the models of the moment in which it is read, and everything else as it was', () => {
    const { live } = setUp('a', 'b');
    const started = settingsWith('a', 'b');
    const [inEffect, served] = [live.inSettings(started), live.servedInSettings(started)];
    live.replace(settingsWith('c', 'a'));
    expect(inEffect.models.map(({ id }) => id)).toEqual(['c', 'a']);
    expect(served.models.map(({ id }) => id)).toEqual(['c', 'a', 'b']);
    expect(inEffect.keyPrefix).toBe(started.keyPrefix);
    expect(JSON.parse(JSON.stringify(served)).models).toHaveLength(3);
  });
});
