import { expect, it } from 'vitest';
import { World } from './world.ts';

it('keeps what is planned for one moment in the order in which it was planned, at whatever time that was', async () => {
  const world = new World({ seed: 1 });
  const moment = 5 / 7;
  const happened: number[] = [];
  for (let at = 0; at < 200; at += 1) {
    world.plainlyAfter((at * moment) / 261, () => world.plainlyAt(moment, () => happened.push(at)));
  }
  await world.run(() => happened.length === 200);
  expect(happened).toEqual(Array.from({ length: 200 }, (_, at) => at));
});
