import { expect, it } from 'vitest';
import { CellActs, type CellActsOptions } from './cell-acts.ts';

it.each([
  ['redis://user:s3cret@redis-2:6379?cell=E', 'redis-2:6379'],
  ['default:s3cret@redis-2:6379', 'an address'],
  ['s3cret', 'an address'],
])('the audit log shows no password of %s', async (address, shown) => {
  const targets: string[] = [];
  const options: Pick<CellActsOptions, 'audit' | 'cellChanges'> = {
    audit: {
      perform: (act, run) => {
        targets.push(act.target);
        return run();
      },
    },
    cellChanges: {
      add: () => Promise.resolve('E'),
      drain: () => Promise.resolve(),
      open: () => Promise.resolve(),
      remove: () => Promise.resolve(),
    },
  };
  const acts = new CellActs(options as CellActsOptions); // what an addition needs of them
  await acts.add(address, { address: '127.0.0.1' });
  expect(targets[0]).toContain(shown);
  expect(targets[0]).not.toContain('s3cret');
});
