import { parseRedisCells } from '@sluice/runtime';
import { StoredCells } from '@sluice/wiring';
import { cellNames } from '../service/names.ts';
import { addressOf, addresses } from '../service/service-settings.ts';
import type { SimulatedService } from '../service/simulated-service.ts';
import { SimulatedProcess } from '../world/simulated-process.ts';
import type { History } from './history.ts';
import type { CellChange } from './scenario.ts';

/** How long after it began a change holds in a service to which nothing happens, in milliseconds. */
export const holdsAfterMs = { add: 23_000, drain: 10_000 } as const satisfies Record<CellChange, number>;

/** Has the operator of a service add its second cell while it runs, or drain it. */
export async function changeCells(service: SimulatedService, change: CellChange): Promise<void> {
  const { networks, keys, world } = service;
  const [first] = networks;
  if (!first) throw new Error('There is no store');
  const ask = (...args: (string | number)[]) => Promise.resolve(first.ask(...args.map(String)));
  // The stored cells use no more of it. No fault befalls the operator.
  const connection = {
    hget: (key: string, field: string) => ask('HGET', key, field),
    hscan: (key: string, ...more: (string | number)[]) => ask('HSCAN', key, ...more),
    eval: (script: string, ...more: (string | number)[]) => ask('EVAL', script, ...more),
    time: () => ask('TIME'),
  } as unknown as ConstructorParameters<typeof StoredCells>[0]['connection'];
  const stored = new StoredCells({ connection, keyPrefix: keys.inCell(0).prefix });
  const second = { name: cellNames[1], url: addressOf(1), isDraining: false };
  const configured = parseRedisCells(addresses(change === 'add' ? 1 : 2));
  const operator = new SimulatedProcess(world, 'operator');
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  // In a step of its own process, whose chance is that of the seed.
  operator.after(0, () => {
    const changed =
      change === 'add' ? stored.add(second, configured) : stored.setOpen(second.name, false, configured);
    changed.then(resolve, reject);
  });
  await promise;
  world.note(operator.name, `${change}s the cell ${second.name}`);
  await world.sleep(0);
}

/** How long processes may differ about the number of cells, once the first cell has lost it, in milliseconds. */
const numberKnownAfterMs = 12_000;

/** Whether the first cell had just lost how many cells there are, while that changed: keys go by it. */
export function isNumberLost(
  { losses, scenario }: Pick<History, 'losses' | 'scenario'>,
  askedMs: number,
): boolean {
  const isLost = losses.some(({ cell, toMs }) => cell === 0 && askedMs <= toMs + numberKnownAfterMs);
  return scenario.cellChange !== undefined && isLost;
}
