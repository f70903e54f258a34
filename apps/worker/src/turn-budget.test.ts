import { describe, expect, it } from 'vitest';
import { TurnBudget } from './turn-budget.ts';

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('turns of the event loop', () => {
  it('are bounded, however many attempts want one', async () => {
    const budget = new TurnBudget();
    let taken = 0;
    let isOver = false;
    const attempts = Array.from({ length: 40 }, async () => {
      while (!isOver) {
        await budget.next();
        taken += 1;
      }
    });
    for (let turn = 0; turn < 50; turn += 1) {
      const before = taken;
      await nextTurn();
      expect(taken - before).toBeLessThanOrEqual(1);
    }
    expect(taken).toBeGreaterThan(20);
    isOver = true;
    await Promise.all(attempts);
  });

  it('come in the order in which they were asked for', async () => {
    const budget = new TurnBudget();
    const order: number[] = [];
    const asked = Array.from({ length: 12 }, async (_, at) => {
      await budget.next();
      order.push(at);
    });
    await Promise.all(asked);
    expect(order).toEqual(Array.from({ length: 12 }, (_, at) => at));
  });
});
