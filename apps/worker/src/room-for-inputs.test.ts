import { describe, expect, it } from 'vitest';
import { InputBudget, type WaitingInput } from './input-budget.ts';
import { WaitsForRoom } from './waits-for-room.ts';

const mib = 1024 * 1024;

/** How long a claim takes, and a run: a little longer or shorter than the last one, so that few end together. In milliseconds. */
const claimMs = 5;
const runMs = [7_000, 8_000, 9_000, 10_000, 11_000, 12_000, 13_000];

interface Load {
  tenant: string;
  bytes: number;
  /** So many are there at any time: another one comes when one has been run. */
  backlog: number;
}

/**
 * A worker of 24 MiB for inputs and with slots for all, in a time that is counted: it claims what is due, one after the other, and what finds no
 * room comes back after its pause. Returns when each response began to run, in milliseconds.
 */
function run(loads: readonly Load[], { once = [], forMs }: { once?: WaitingInput[]; forMs: number }) {
  let now = 0;
  let count = 0;
  const budget = new InputBudget(24 * mib);
  const waits = new WaitsForRoom({ now: () => now });
  const due: { at: number; input: WaitingInput; replace?: Load }[] = [];
  const running: { until: number; id: string; replace?: Load | undefined }[] = [];
  const begun = new Map<string, number>();
  const come = (load: Load) => {
    const { tenant, bytes } = load;
    count += 1;
    due.push({ at: now, input: { id: `${tenant} ${count}`, tenant, bytes }, replace: load });
  };
  for (const load of loads) for (let at = 0; at < load.backlog; at += 1) come(load);
  // A full worker, before they come.
  for (const input of once) due.push({ at: 60_000, input });
  for (; now < forMs; now += claimMs) {
    for (const { id, replace } of running.filter(({ until }) => until <= now)) {
      running.splice(
        running.findIndex((each) => each.id === id),
        1,
      );
      budget.giveBack(id);
      if (replace) come(replace);
    }
    const next = due.findIndex(({ at }) => at <= now);
    const [claimed] = next < 0 ? [] : due.splice(next, 1);
    if (!claimed) continue;
    const { input, replace } = claimed;
    if (budget.take({ ...input, token: input.id }, waits.inOrder())) {
      waits.delete(input.id);
      begun.set(input.id, now);
      running.push({ id: input.id, until: now + (runMs[begun.size % runMs.length] ?? 0), replace });
    } else {
      const pauseMs = waits.pauseMs(input);
      waits.add(input, pauseMs);
      due.push({ ...claimed, at: now + pauseMs });
    }
  }
  return begun;
}

const minutes = 60_000;
const medium = (tenant: string, backlog: number): Load => ({ tenant, bytes: mib, backlog });
const large = (tenant: string) => ({ id: `large of ${tenant}`, tenant, bytes: 12 * mib });

describe('a large input in a lasting backlog of smaller ones', () => {
  it.each([
    ['of many tenants', Array.from({ length: 40 }, (_, at) => medium(`tenant ${at}`, 10))],
    ['of another tenant and its own', [medium('another', 200), medium('quiet', 5)]],
    ['of its own tenant', [medium('another', 200), medium('quiet', 200)]],
  ])('runs when they are %s', (_what, loads) => {
    const begun = run(loads, { once: [large('quiet')], forMs: 10 * minutes });
    expect(begun.has('large of quiet')).toBe(true);
    // The others go on.
    expect(begun.size).toBeGreaterThan(500);
  });

  it('waits for one of each other tenant, however many larger ones that has', () => {
    const hostile = { tenant: 'hostile', bytes: 60 * mib, backlog: 100 };
    const loads = [hostile, medium('another', 200)];
    const begun = run(loads, { once: [large('quiet')], forMs: 10 * minutes });
    expect(begun.get('large of quiet')).toBeLessThan(4 * minutes);
  });
});

it('keeps no smaller inputs from running, however many large ones there are', () => {
  const loads = ['one', 'two'].map((tenant) => ({ tenant, bytes: 60 * mib, backlog: 100 }));
  const begun = run([...loads, medium('quiet', 5)], { forMs: 10 * minutes });
  const ofQuiet = [...begun.keys()].filter((id) => id.startsWith('quiet'));
  expect(ofQuiet.length).toBeGreaterThan(20);
});
