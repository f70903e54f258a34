import { createLogger } from '@sluice/runtime';
import { eventually } from '@sluice/testing';
import { describe, expect, it } from 'vitest';
import { BackgroundWork } from './background-work.ts';
import { UnansweredSteps } from './unanswered-steps.ts';

const logger = createLogger({ name: 'test', level: 'silent' });
const away = new Error('Command timed out');

/** Steps over a store that does what the test says; by default each is settled at once. */
function unansweredSteps({ most }: { most?: number } = {}) {
  const tried: string[] = [];
  const store: { answer: (name: string) => Promise<boolean> } = { answer: () => Promise.resolve(true) };
  const background = new BackgroundWork(logger);
  const steps = new UnansweredSteps({ background, logger }, most);
  const run = (count: number) => {
    for (let at = 0; at < count; at += 1) {
      steps.run(`s${at}`, () => {
        tried.push(`s${at}`);
        return store.answer(`s${at}`);
      });
    }
  };
  return { steps, tried, store, background, run };
}

describe('steps that must reach the store', () => {
  it('are done at once', () => {
    const { tried, run } = unansweredSteps();
    run(2);
    expect(tried).toEqual(['s0', 's1']);
  });

  it('cost one of them a round while the store is away, and are all done after that', async () => {
    const { steps, tried, store, run } = unansweredSteps();
    store.answer = () => Promise.reject(away);
    run(1_000);
    await eventually(() => tried.length > 1_003);
    expect(new Set(tried.slice(1_000))).toEqual(new Set(['s0']));
    expect(steps.size).toBe(1_000);
    store.answer = () => Promise.resolve(true);
    await eventually(() => steps.size === 0);
    expect(new Set(tried.slice(1_000)).size).toBe(1_000);
  });

  it('are done again while the answer settles nothing', async () => {
    const { steps, tried, store, run } = unansweredSteps();
    let isDecided = false;
    store.answer = () => Promise.resolve(isDecided);
    run(1);
    await eventually(() => tried.length > 2);
    isDecided = true;
    await eventually(() => steps.size === 0);
  });

  it('leave no room for more when there are too many, until the store answers', async () => {
    const { steps, store, run } = unansweredSteps({ most: 3 });
    store.answer = () => Promise.reject(away);
    run(2);
    expect(steps.isFull).toBe(false);
    run(3);
    expect(steps.isFull).toBe(true);
    store.answer = () => Promise.resolve(true);
    await eventually(() => !steps.isFull);
  });

  it('are not held up by one that fails for a reason of its own', async () => {
    const { steps, store, run } = unansweredSteps();
    store.answer = (name) =>
      name === 's0' ? Promise.reject(new TypeError('defect')) : Promise.resolve(true);
    run(3);
    await eventually(() => steps.size === 0);
  });

  it('are given up when the process stops, after a last try', async () => {
    const { steps, tried, store, background, run } = unansweredSteps();
    store.answer = () => Promise.reject(away);
    run(1);
    await eventually(() => tried.length > 2);
    const before = tried.length;
    await background.stop();
    expect(tried.length - before).toBeLessThanOrEqual(2);
    expect(steps.size).toBe(1);
  });
});
