import { cancelled, completed, nothingProduced } from '@sluice/contract';
import { describe, expect, it } from 'vitest';
import { type AcceptedOptions, storeForEachTest } from './store-under-test.ts';

const store = storeForEachTest();

const end = completed(nothingProduced, 1);

/** Accepts a response of a tenant of which so many may run, and does what an api does next. */
async function arrive(concurrent: number | undefined, options: AcceptedOptions = {}): Promise<string> {
  const { responseId, result } = await store.accepting({
    streams: false,
    limits: concurrent === undefined ? {} : { concurrent },
    ...options,
  });
  if (result.kind !== 'accepted') throw new Error(`not accepted: ${result.kind}`);
  if (result.priority === undefined) await store.caller.standInLine(responseId);
  return responseId;
}

async function arrivals(count: number, concurrent: number, options?: AcceptedOptions): Promise<string[]> {
  const ids: string[] = [];
  for (let at = 0; at < count; at += 1) ids.push(await arrive(concurrent, options));
  return ids;
}

async function start(id: string): Promise<string> {
  return (await store.take(id, `of ${id}`)).kind;
}

async function finish(id: string): Promise<void> {
  const { kind } = await store.write(id, `of ${id}`, 3, [], end);
  expect(kind).toBe('ok');
}

/** The ids that were let in since the last look. */
function letIn(): string[] {
  return store.letIn.splice(0).map(({ responseId }) => responseId);
}

const running = () => store.server.client.scard(store.keys.running('team-a'));

describe('a tenant that may run two at a time', () => {
  it('has further ones wait outside of the queue, and each end lets the next one in, in order', async () => {
    const ids = await arrivals(6, 2);
    const [first = '', second = '', third = '', fourth = '', fifth = ''] = ids;
    expect(letIn()).toEqual([]);
    expect(await start(first)).toBe('run');
    // One more place is free, and the second is on its way to it.
    expect(letIn()).toEqual([]);
    expect(await start(second)).toBe('run');
    expect(letIn()).toEqual([]);
    await finish(second);
    expect(letIn()).toEqual([third]);
    expect(await start(third)).toBe('run');
    await finish(first);
    expect(letIn()).toEqual([fourth]);
    expect(await start(fourth)).toBe('run');
    await finish(third);
    expect(letIn()).toEqual([fifth]);
  });

  it('has never more than two run, whoever asks', async () => {
    const ids = await arrivals(5, 2);
    const kinds = await Promise.all(ids.map(start));
    expect(kinds.filter((kind) => kind === 'run')).toHaveLength(2);
    expect(kinds.filter((kind) => kind === 'crowded')).toHaveLength(3);
    expect(await running()).toBe(2);
    for (const [at, kind] of kinds.entries())
      if (kind === 'run') expect(await start(ids[at] ?? '')).toBe('run');
    expect(await running()).toBe(2);
  });

  it('waits for all of them in its own order, also after one came too early', async () => {
    const [first = '', second = '', third = '', fourth = ''] = await arrivals(4, 1);
    expect(await start(first)).toBe('run');
    letIn();
    // Delivered although it waits: by hand, or by a rescue.
    expect(await start(third)).toBe('crowded');
    expect(await store.attempts.standInLine(third)).toBe(true);
    expect(letIn()).toEqual([]);
    for (const [ended, next] of [
      [first, second],
      [second, third],
      [third, fourth],
    ] as const) {
      await finish(ended);
      expect(letIn()).toEqual([next]);
      expect(await start(next)).toBe('run');
    }
    // The one who put its job where no worker takes it is to remove that.
    expect(await store.attempts.standInLine(first)).toBe(false);
  });

  it('gives a place back for one that ends before it ran, is erased, or is postponed', async () => {
    const [first = '', second = '', third = '', fourth = '', fifth = ''] = await arrivals(5, 1);
    await store.caller.endIfQueued(first, cancelled(nothingProduced));
    expect(letIn()).toEqual([second]);
    // On its way, and cancelled there.
    await store.caller.endIfQueued(second, cancelled(nothingProduced));
    expect(letIn()).toEqual([third]);
    expect(await start(third)).toBe('run');
    await store.caller.erase(third, 'team-a');
    expect(letIn()).toEqual([fourth]);
    expect(await start(fourth)).toBe('run');
    const released = await store.attempts.release(
      { id: fourth, token: `of ${fourth}` },
      { isCounted: false, staysReachable: true },
    );
    expect(released).toBe(true);
    expect(letIn()).toEqual([fifth]);
    expect(await start(fifth)).toBe('run');
    expect(await start(fourth)).toBe('crowded');
    await store.attempts.standInLine(fourth);
    await finish(fifth);
    expect(letIn()).toEqual([fourth]);
    expect(await start(fourth)).toBe('run');
  });

  it('keeps no place for a record that was deleted behind our back', async () => {
    const [first = '', second = ''] = await arrivals(2, 2);
    // From now on only one may.
    await arrive(1);
    expect(await start(first)).toBe('run');
    expect(await start(second)).toBe('crowded');
    await store.server.client.del(store.keys.record(first));
    expect(await start(second)).toBe('run');
    expect(await running()).toBe(1);
  });

  it('has its line moved on by the rescue after records in it, or with a place, were deleted behind our back', async () => {
    const { client } = store.server;
    const rescued = async () => {
      const found = await store.attempts.survey('0', { offset: 0, count: 10 });
      const leftOut = found.filter(({ kind }) => kind === 'left_out');
      expect(leftOut.length).toBeLessThanOrEqual(1);
      for (const { responseId } of leftOut) await store.attempts.standInLine(responseId);
      return letIn();
    };
    const [first = '', second = '', third = '', fourth = ''] = await arrivals(4, 1);
    for (const id of [first, second, third, fourth]) await store.caller.noteJob(id);
    expect(await start(first)).toBe('run');
    expect(await rescued()).toEqual([]);
    // It ends for nobody: its place was never given back.
    await client.del(store.keys.record(first));
    expect(await rescued()).toEqual([second]);
    // On its way to a place, and the next in line.
    await client.del(store.keys.record(second), store.keys.record(third));
    await rescued();
    expect(await rescued()).toEqual([fourth]);
    expect(await start(fourth)).toBe('run');
  });

  it('has one that was let in let in again, as long as nobody has moved its job', async () => {
    const [first = '', second = ''] = await arrivals(2, 1);
    expect(await start(first)).toBe('run');
    await finish(first);
    expect(letIn()).toEqual([second]);
    await store.caller.noteJob(second);
    const [finding] = await store.attempts.survey('0', { offset: 0, count: 10 });
    expect(finding).toMatchObject({ responseId: second, kind: 'left_out' });
    await store.attempts.standInLine(second);
    expect(letIn()).toEqual([second]);
    expect(await start(second)).toBe('run');
    await store.attempts.standInLine(second);
    expect(letIn()).toEqual([]);
  });

  it('has one that nobody has put in line found by the rescue, and those in line left alone', async () => {
    const [first = ''] = await arrivals(1, 1);
    expect(await start(first)).toBe('run');
    const inLine = await arrive(1);
    const { responseId: forgotten } = await store.accepting({ limits: { concurrent: 1 } });
    const found = await store.attempts.survey('0', { offset: 0, count: 10 });
    const kinds = new Map(found.map(({ responseId, kind }) => [responseId, kind]));
    expect(kinds.get(forgotten)).toBe('unqueued');
    await store.caller.noteJob(forgotten);
    await store.caller.noteJob(inLine);
    const again = await store.attempts.survey('0', { offset: 0, count: 10 });
    const noted = new Map(again.map(({ responseId, kind }) => [responseId, kind]));
    expect(noted.get(forgotten)).toBe('left_out');
    expect(noted.get(inLine)).toBe('queued');
  });

  it('has one that was postponed, and found no place, let in although its worker died with it', async () => {
    const { client } = store.server;
    const [first = '', second = ''] = await arrivals(2, 1);
    const kindOf = async (id: string) => {
      const found = await store.attempts.survey('0', { offset: 0, count: 10 });
      return found.find(({ responseId }) => responseId === id)?.kind;
    };
    expect(await start(first)).toBe('run');
    await store.attempts.release(
      { id: first, token: `of ${first}` },
      { isCounted: true, staysReachable: true },
    );
    expect(letIn()).toEqual([second]);
    expect(await start(second)).toBe('run');
    // It waits for its upstream.
    expect(await kindOf(first)).toBe('in_progress');
    expect(await start(first)).toBe('crowded');
    // Nobody puts it in line. There is no place yet.
    expect(await kindOf(first)).toBe('in_progress');
    await client.del(store.keys.record(second));
    expect(await kindOf(first)).toBe('left_out');
    await store.attempts.standInLine(first);
    expect(letIn()).toEqual([first]);
    // Its job was not moved.
    expect(await kindOf(first)).toBe('left_out');
    expect(await start(first)).toBe('run');
    expect(await kindOf(first)).not.toBe('left_out');
  });

  it('runs none that was not let in, which would go before everybody and cost nothing', async () => {
    const [first = '', second = ''] = await arrivals(2, 1);
    expect(await start(first)).toBe('run');
    const { responseId: forgotten } = await store.accepting({ streams: false, limits: { concurrent: 1 } });
    await finish(first);
    expect(letIn()).toEqual([second]);
    await store.caller.endIfQueued(second, cancelled(nothingProduced));
    expect(await store.caller.queuePriority(forgotten)).toBeUndefined();
    // A place is free. Its job came to a worker by hand, or after a day.
    expect(await start(forgotten)).toBe('crowded');
    await store.attempts.standInLine(forgotten);
    expect(letIn()).toEqual([forgotten]);
    expect(await store.field(forgotten, 'tag')).not.toBeNull();
    expect(await start(forgotten)).toBe('run');
  });

  it('gets the places of a higher limit with the next response', async () => {
    const ids = await arrivals(5, 1);
    expect(await start(ids[0] ?? '')).toBe('run');
    letIn();
    await arrive(3);
    expect(letIn()).toEqual(ids.slice(1, 3));
  });

  it('has all that wait let in with the first response after the limit was taken away, in order', async () => {
    const ids = await arrivals(4, 1);
    expect(await start(ids[0] ?? '')).toBe('run');
    letIn();
    const next = await arrive(undefined);
    expect(letIn()).toEqual([...ids.slice(1), next]);
    for (const id of [next, ...ids]) expect(await start(id)).toBe('run');
    // Later ones take no place.
    expect(await store.field(await arrive(undefined), 'turn')).toBeNull();
  });

  it('has those let in that a process made wait which had not heard of it yet', async () => {
    const [first = ''] = await arrivals(1, 1);
    const [later, earlier] = [store.process('later'), store.process('earlier')];
    await arrive(undefined, { by: earlier });
    expect(await start(first)).toBe('run');
    const waiting = await arrive(1, { by: later });
    letIn();
    const next = await arrive(undefined, { by: later });
    expect(letIn()).toEqual([waiting, next]);
  });

  it('shares its places over its models, and one that takes nothing keeps no place from another', async () => {
    const [stuck = '', stuckToo = ''] = await arrivals(2, 1, { queue: 'paused' });
    const [going = '', next = ''] = await arrivals(2, 1);
    // The first of the other model does not wait behind what the paused one has.
    expect(letIn()).toContain(going);
    expect(await start(going)).toBe('run');
    expect(await start(stuck)).toBe('crowded');
    await store.attempts.standInLine(stuck);
    letIn();
    await finish(going);
    expect(letIn()).toEqual(expect.arrayContaining([next]));
    expect(await start(next)).toBe('run');
    await finish(next);
    expect(await start(stuck)).toBe('run');
    await finish(stuck);
    expect(await start(stuckToo)).toBe('run');
  });

  it('costs a tenant without a limit nothing', async () => {
    const id = await store.accepted({ streams: false });
    expect(await store.field(id, 'turn')).toBeNull();
    await store.take(id, 'a');
    expect(await running()).toBe(0);
  });
});

describe('another tenant', () => {
  it('does not wait for one at its limit', async () => {
    await arrivals(3, 1);
    const { result } = await store.accepting({ tenant: 'team-b', limits: { concurrent: 1 } });
    expect(result).toMatchObject({ kind: 'accepted', priority: expect.any(Number) });
  });
});
